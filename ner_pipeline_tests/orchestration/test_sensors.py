"""The sensors around `plan_tick`: what Dagster is told, and what outlives a daemon."""

from concurrent.futures import ThreadPoolExecutor

import dagster as dg
import pytest

from ner_pipeline.errors import StorageError, StorageUnavailable
from ner_pipeline.orchestration import sensors
from ner_pipeline.storage.progress import SetState, set_status


def test_a_quiet_tick_asks_for_nothing_and_writes_nothing(world):
    world.upload("news/a.txt", "Bob")
    assert len(world.tick()) == 1
    states = world.keys_below("state/inbox-")
    assert world.tick() == []
    assert world.keys_below("state/inbox-") == states


def test_a_quiet_tick_reads_no_state(world, monkeypatch):
    world.upload("news/a.txt", "Bob")
    world.tick()

    def reads(client, results, tick):
        raise AssertionError(f"the state of tick {tick} is read")

    monkeypatch.setattr(sensors, "load_state", reads)
    assert world.tick() == []


@pytest.mark.proof
def test_a_thousand_loose_files_and_more_are_one_run(world):
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: world.upload(f"{number}.txt", "Bob"), range(1005)))
    assert len(world.tick()) == 1


def test_each_run_carries_its_version_and_its_time_limit(world):
    world.upload("news/a.txt", "Bob" * 100_000)
    [request] = world.tick()
    assert request.tags["ner/set_version"] == request.run_key.split(":")[1]
    assert int(request.tags["dagster/max_runtime"]) > 1800


def test_a_daemon_that_died_after_writing_its_state_asks_for_the_same_runs_again(world):
    world.upload("a.txt", "Bob")
    before = world.cursor
    first = world.tick()
    world.cursor = before
    world.upload("b.txt", "Ann")
    again = world.tick()
    assert [request.run_key for request in again] == [request.run_key for request in first]
    [rest] = world.tick()
    assert rest.run_key not in [request.run_key for request in first]


def test_a_lost_cursor_repeats_one_tick_at_most_and_a_fresh_instance_learns_all_partitions(world):
    world.process("news/a.txt", "Bob")
    world.process("b.txt", "Ann")
    with dg.DagsterInstance.ephemeral() as fresh:
        world.instance, world.cursor = fresh, None
        world.upload("c.txt", "Carl")
        [newest_before] = world.tick()
        [request] = world.tick()
        keys = fresh.get_dynamic_partitions("document_sets")
    assert set(keys) == {"news", newest_before.partition_key, request.partition_key}


def test_a_listing_that_fails_changes_nothing(world, monkeypatch):
    world.upload("news/a.txt", "Bob")

    def fails(client, place):
        raise StorageUnavailable("planted")

    with monkeypatch.context() as broken:
        broken.setattr(sensors, "list_objects", fails)
        with pytest.raises(StorageUnavailable):
            world.tick()
    assert len(world.tick()) == 1


def test_a_state_that_the_cursor_names_and_that_is_gone_is_said_and_not_guessed(world):
    world.cursor = '{"tick": 7}'
    with pytest.raises(StorageError, match="Reset the cursor"):
        world.tick()


def test_the_arrival_of_a_set_is_reported_on_the_external_asset(world):
    world.upload("news/a.txt", "Bob")
    repository = world.defs.get_repository_def()
    with dg.build_sensor_context(
        instance=world.instance, resources=repository.get_top_level_resources(), repository_def=repository
    ) as context:
        result = repository.get_sensor_def("inbox_sensor")(context)
    [event] = result.asset_events
    assert (event.asset_key, event.partition) == (dg.AssetKey("incoming_documents"), "news")


def test_the_reason_of_a_failed_run_is_on_s3(world):
    world.upload("news/a.txt", "Bob")
    [request] = world.tick()
    world.pool.faults = [RuntimeError("planted: out of luck")]
    result = world.run("news", raise_on_error=False, tags=request.tags)
    repository = world.defs.get_repository_def()
    [failure] = [event for event in result.all_events if event.is_run_failure]
    context = dg.build_run_status_sensor_context(
        sensor_name="failure_sensor",
        dagster_instance=world.instance,
        dagster_run=result.dagster_run,
        dagster_event=failure,
        resources=repository.get_top_level_resources(),
    ).for_run_failure()
    with context:
        repository.get_sensor_def("failure_sensor")(context)
    status = set_status(world.client, world.places.inbox, world.places.results, "news")
    assert status.state is SetState.FAILED
    assert "planted: out of luck" in status.reason
