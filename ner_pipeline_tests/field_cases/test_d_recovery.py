"""D07, D10: what a second attempt does, and what readers of all sets get while some of them are missing."""

import dagster as dg
import duckdb
import pytest

from ner_pipeline.storage.tables import ENTITIES, OUTCOMES


@pytest.fixture
def instance(tmp_path):
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        yield instance


@pytest.fixture(autouse=True)
def _runs_were_submitted_long_ago(monkeypatch):
    monkeypatch.setattr("ner_pipeline.orchestration.schedules.JUST_REQUESTED_S", 0)


def test_d07_a_second_attempt_doubles_nothing_and_only_one_way_leads_to_it(world):
    world.settings = world.settings.model_copy(update={"shard_chars": 30})
    for number, text in enumerate(
        ("Bob sleeps here, Ann elsewhere", "Carl sleeps here, Dora does not", "BREAK Emil")
    ):
        world.upload(f"news/{number}.txt", text, marked=False)
    [request] = world.tick()
    assert not world.run("news", tags=request.tags, raise_on_error=False).success
    asked = set(world.pool.asked)
    assert world.tick() == []
    [repair] = world.schedule("repair_schedule")
    assert (repair.partition_key, repair.run_key != request.run_key) == ("news", True)
    world.pool.mended = True
    assert world.run("news", tags=repair.tags).success
    assert world.entities("news") == ["Bob", "Ann", "Carl", "Dora", "BREAK", "Emil"]
    assert sorted(world.pool.asked) == sorted({*world.pool.asked})
    assert asked <= set(world.pool.asked)
    assert world.tick() == []
    assert "nothing to repair" in world.schedule("repair_schedule")


def test_d07_a_file_that_can_never_be_read_is_rejected_once_and_never_started_again(world):
    world.upload("news/a.jsonl", '{"text": "Bo', marked=False)
    world.upload("news/b.parquet", "no parquet", marked=False)
    [request] = world.tick()
    result = world.run("news", tags=request.tags)
    assert [event for event in result.all_events if event.is_step_up_for_retry] == []
    assert set(world.outcomes("news").values()) == {"rejected"}
    assert world.tick() == []
    assert "nothing to repair" in world.schedule("repair_schedule")


def read(world, table, folder):
    """Read the table of all sets through one glob, as documented."""
    for name in world.keys_below(f"{table}/"):
        place = folder / table / name
        place.parent.mkdir(parents=True, exist_ok=True)
        world.client.download_file(
            world.places.results.bucket, f"{world.places.results.key}{table}/{name}", str(place)
        )
    glob = f"{folder}/{table}/*/*.parquet"
    query = f"from read_parquet('{glob}', hive_partitioning=true) order by document_set"
    return duckdb.sql(query).to_arrow_table()


def test_d10_readers_of_all_sets_get_those_that_are_done_and_the_others_are_named(world, tmp_path):
    for name, text in {"a": "Bob", "b": "BREAK", "c": "Carl", "empty": ""}.items():
        world.upload(f"{name}/{name}.txt", text, marked=False)
    world.upload("nothing/_SUCCESS", "", marked=False)
    for request in world.tick():
        if request.partition_key == "c":
            world.delete("c/c.txt")
        world.run(request.partition_key, tags=request.tags, raise_on_error=False)
    entities, outcomes = (read(world, table, tmp_path / "tables") for table in ("entities", "outcomes"))
    assert entities["document_set"].to_pylist() == ["a"]
    assert outcomes["document_set"].to_pylist() == ["a", "empty"]
    assert outcomes["outcome"].to_pylist() == ["ok", "empty"]
    assert entities.schema.names[:-1] == ENTITIES.names
    assert outcomes.schema.names[:-1] == OUTCOMES.names
    assert [request.partition_key for request in world.schedule("repair_schedule")] == ["b"]
    assert set(world.instance.get_dynamic_partitions("document_sets")) == {"a", "b", "c", "empty", "nothing"}


def test_d10_without_any_set_everything_has_nothing_to_do(world):
    assert world.tick() == []
    assert "nothing to repair" in world.schedule("repair_schedule")
    assert "nothing to backfill" in world.schedule("backfill_schedule")
    assert world.all_rows("entities") == []
