"""D01, D05: texts that kill, break or overfill the workers, in whole runs with real worker processes."""

import multiprocessing

import dagster as dg
import pytest

PLANTED = "ner_pipeline_tests.field_cases.planted_extractor"


@pytest.fixture
def instance(tmp_path):
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        yield instance


@pytest.fixture
def world(world):
    world.real_workers = True
    world.settings = world.settings.model_copy(
        update={"extractor": f"{PLANTED}:load", "workers": 1, "device": "cpu"}
    )
    return world


def run(world, texts):
    """Run a set with one file for each text; give the outcomes and the entities by file name."""
    for name, text in texts.items():
        world.upload(f"news/{name}", text, marked=False)
    [request] = world.tick()
    result = world.run(request.partition_key)
    assert result.success
    assert multiprocessing.active_children() == []
    entities = {}
    for row in world.rows("entities", "news"):
        entities.setdefault(row["source_key"].rpartition("/")[2], []).append(row["entity"])
    outcomes = {row["source_key"].rpartition("/")[2]: row for row in world.rows("outcomes", "news")}
    return result, outcomes, entities


@pytest.mark.parametrize(("bad", "reason"), [("KILL", "worker_died"), ("BOOM", "extractor_error")])
def test_d01_d05_the_text_that_is_to_blame_is_named_and_all_others_are_done_once(world, bad, reason):
    texts = {"a": "Ann", "b": "Bob", "bad": bad, "c": "Carl", "d": "Dora"}
    result, outcomes, entities = run(world, {f"{name}.txt": text for name, text in texts.items()})
    assert outcomes["bad.txt"]["outcome"] == "failed"
    assert outcomes["bad.txt"]["reason"] == reason
    assert outcomes["bad.txt"]["detail"]
    assert entities == {"a.txt": ["Ann"], "b.txt": ["Bob"], "c.txt": ["Carl"], "d.txt": ["Dora"]}
    assert world.manifest("news").documents["ok"] == 4
    warned = {found.check_name for found in result.get_asset_check_evaluations() if not found.passed}
    assert warned == {"failure_rate"}


def test_d05_texts_that_fill_the_memory_together_are_computed_one_by_one(world, tmp_path):
    mark = tmp_path / "full"
    texts = {f"{number}.txt": f"CROWD:{mark} Bob {number}" for number in range(8)}
    _, outcomes, entities = run(world, texts)
    assert mark.exists()
    assert {row["outcome"] for row in outcomes.values()} == {"ok"}
    assert entities == {name: ["Bob"] for name in texts}


def test_d05_a_text_that_does_not_fit_into_the_memory_is_computed_in_parts(world):
    world.settings = world.settings.model_copy(update={"extractor": f"{PLANTED}:load_with_small_memory"})
    long = f"Bob {'and so on ' * 36_000} Ann"
    _, outcomes, entities = run(world, {"a.txt": "Carl", "long.txt": long, "z.txt": "Dora"})
    assert {row["outcome"] for row in outcomes.values()} == {"ok"}
    assert entities == {"a.txt": ["Carl"], "long.txt": ["Bob", "Ann"], "z.txt": ["Dora"]}
