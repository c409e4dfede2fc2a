"""Which partitions run again: the decision, and the schedules around it."""

import dagster as dg
import pytest
from dagster._core.remote_origin import GrpcServerCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin

from ner_pipeline.errors import ObjectChanged
from ner_pipeline.orchestration.dead_runs import fail_dead_runs
from ner_pipeline.orchestration.repairs import (
    PartitionRecord,
    backfill_candidates,
    needs_repair,
    repair_candidates,
)

ORIGIN = RemoteJobOrigin(
    RemoteRepositoryOrigin(GrpcServerCodeLocationOrigin(host="localhost", port=1), "repository"),
    "process_document_set",
)
"""A queued run must say which code location it belongs to; nobody is asked there."""


@pytest.fixture
def instance(tmp_path):
    """Schedules need an instance that another process could open."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        yield instance


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (PartitionRecord("never ran"), True),
        (PartitionRecord("failed", wanted_set_version="v1"), True),
        (PartitionRecord("stale", published_set_version="v1", wanted_set_version="v2"), True),
        (PartitionRecord("current", published_set_version="v2", wanted_set_version="v2"), False),
        (PartitionRecord("a batch", published_set_version="v1"), False),
    ],
)
def test_a_partition_needs_repair_when_its_wanted_version_is_not_published(record, expected):
    assert needs_repair(record) is expected


@pytest.mark.parametrize("state", ["in_flight", "cancelled"])
def test_a_partition_that_runs_or_was_cancelled_is_left_alone(state):
    assert not needs_repair(PartitionRecord("a", **{state: True}))


def test_the_least_tried_go_first():
    records = [PartitionRecord("c"), PartitionRecord("a", attempts=2), PartitionRecord("b", attempts=1)]
    candidates = repair_candidates(records, max_attempts=3)
    assert [record.key for record in candidates.in_order] == ["c", "b", "a"]


def test_a_partition_that_had_all_its_attempts_is_given_up_and_named():
    candidates = repair_candidates([PartitionRecord("a", attempts=3)], max_attempts=3)
    assert (candidates.in_order, candidates.given_up) == ([], ["a"])


def test_only_results_of_another_model_are_brought_up_to_date():
    records = [
        PartitionRecord("old", published_model_version="m1"),
        PartitionRecord("new", published_model_version="m2"),
        PartitionRecord("never"),
        PartitionRecord("busy", published_model_version="m1", in_flight=True),
        PartitionRecord("hopeless", published_model_version="m1", attempts=3),
    ]
    candidates = backfill_candidates(records, "m2", max_attempts=3)
    assert [record.key for record in candidates.in_order] == ["old"]
    assert candidates.given_up == ["hopeless"]


@pytest.fixture(autouse=True)
def _runs_were_submitted_long_ago(monkeypatch):
    monkeypatch.setattr("ner_pipeline.orchestration.schedules.JUST_REQUESTED_S", 0)


def test_a_failed_set_is_repaired_and_then_left_alone(world):
    world.upload("news/a.txt", "Bob")
    [request] = world.tick()
    world.pool.faults = [RuntimeError("planted")]
    assert not world.run("news", raise_on_error=False).success
    [repair] = world.schedule("repair_schedule")
    assert repair.partition_key == "news"
    assert repair.run_key != request.run_key
    assert world.run("news").success
    assert "nothing to repair" in world.schedule("repair_schedule")


def test_a_set_whose_run_never_started_is_repaired(world):
    world.upload("news/a.txt", "Bob")
    world.tick()
    assert [request.partition_key for request in world.schedule("repair_schedule")] == ["news"]


def test_a_set_that_never_succeeds_is_given_up_after_its_attempts_and_new_content_gets_new_ones(world):
    world.upload("news/a.txt", "Bob")
    world.tick()
    run_keys = []
    for _ in range(world.settings.max_attempts):
        [request] = world.schedule("repair_schedule")
        run_keys.append(request.run_key)
        world.pool.faults = [RuntimeError("planted")]
        world.run("news", raise_on_error=False)
    assert len(set(run_keys)) == len(run_keys)
    assert "given up: news" in world.schedule("repair_schedule")
    world.upload("news/a.txt", "Ann")
    world.tick()
    assert [request.partition_key for request in world.schedule("repair_schedule")] == ["news"]


def test_a_stale_set_is_repaired(world):
    world.process("news/a.txt", "Bob")
    world.upload("news/a.txt", "Ann")
    world.tick()
    assert [request.partition_key for request in world.schedule("repair_schedule")] == ["news"]


def test_a_set_that_is_growing_or_gone_is_left_to_the_sensor(world):
    world.upload("news/a.txt", "Bob")
    world.upload("gone/a.txt", "Bob")
    world.tick()
    world.upload("news/b.txt", "Ann", marked=False)
    for name in ("a.txt", "_SUCCESS"):
        world.client.delete_object(
            Bucket=world.places.inbox.bucket, Key=f"{world.places.inbox.key}gone/{name}"
        )
    assert "2 cannot be run at present" in world.schedule("repair_schedule")


def test_one_partition_that_nobody_knows_costs_itself_only(world):
    world.upload("news/a.txt", "Bob")
    world.tick()
    world.instance.add_dynamic_partitions("document_sets", ["aaa-typo", "a,b"])
    assert [request.partition_key for request in world.schedule("repair_schedule")] == ["news"]


def test_sets_that_cannot_be_run_keep_no_other_one_waiting(world):
    world.upload("a-gone/a.txt", "Bob")
    world.upload("broken/a.txt", "Bob")
    world.tick()
    for name in ("a.txt", "_SUCCESS"):
        world.client.delete_object(
            Bucket=world.places.inbox.bucket, Key=f"{world.places.inbox.key}a-gone/{name}"
        )
    world.settings = world.settings.model_copy(update={"repairs_per_tick": 1})
    assert [request.partition_key for request in world.schedule("repair_schedule")] == ["broken"]


def test_a_run_that_has_just_been_asked_for_is_not_doubled(world, monkeypatch):
    monkeypatch.setattr("ner_pipeline.orchestration.schedules.JUST_REQUESTED_S", 120)
    world.upload("a.txt", "Bob")
    world.tick()
    assert "nothing to repair" in world.schedule("repair_schedule")


def test_runs_that_end_without_a_result_count_as_attempts(world, monkeypatch):
    def changes_always(client, place, *, etag=None):
        raise ObjectChanged("planted")

    world.upload("news/a.txt", "Bob")
    world.tick()
    monkeypatch.setattr("ner_pipeline.orchestration.assets.documents.open_object", changes_always)
    for _ in range(world.settings.max_attempts):
        [request] = world.schedule("repair_schedule")
        assert world.run("news", tags=request.tags).success
    assert "given up: news" in world.schedule("repair_schedule")


def test_a_run_that_was_interrupted_is_no_attempt(world):
    world.upload("news/a.txt", "Bob")
    world.tick()
    job = world.defs.resolve_job_def("process_document_set")
    for _ in range(world.settings.max_attempts):
        world.instance.create_run_for_job(
            job, tags={"dagster/partition": "news"}, status=dg.DagsterRunStatus.STARTED
        )
        fail_dead_runs(world.instance)
    assert [request.partition_key for request in world.schedule("repair_schedule")] == ["news"]


def test_a_set_that_always_fails_under_a_new_model_is_given_up_and_keeps_no_other_one_waiting(world):
    for name in ("a", "b"):
        world.process(f"{name}/a.txt", "Bob")
    world.model_version = "model2"
    world.settings = world.settings.model_copy(update={"backfills_per_tick": 1})
    tried = []
    for _ in range(1 + world.settings.max_attempts):
        [request] = world.schedule("backfill_schedule")
        tried.append(request.partition_key)
        world.pool.faults = [RuntimeError("planted")] if request.partition_key == "a" else []
        world.run(request.partition_key, tags=request.tags, raise_on_error=False)
    assert sorted(tried) == ["a"] * world.settings.max_attempts + ["b"]
    assert tried.index("b") == 1
    assert "given up: a" in world.schedule("backfill_schedule")


def test_a_queued_run_is_not_doubled_by_a_repair(world):
    world.upload("news/a.txt", "Bob")
    world.tick()
    job = world.defs.resolve_job_def("process_document_set")
    world.instance.create_run_for_job(
        job, tags={"dagster/partition": "news"}, status=dg.DagsterRunStatus.QUEUED, remote_job_origin=ORIGIN
    )
    assert "nothing to repair" in world.schedule("repair_schedule")


def test_a_new_model_brings_every_set_of_the_old_one_up_to_date_a_few_at_a_time(world):
    for name in "abc":
        world.process(f"{name}/a.txt", "Bob")
    assert "nothing to backfill" in world.schedule("backfill_schedule")
    world.model_version = "model2"
    world.settings = world.settings.model_copy(update={"backfills_per_tick": 2})
    first = world.schedule("backfill_schedule")
    assert [request.partition_key for request in first] == ["a", "b"]
    for request in first:
        world.run(request.partition_key)
    assert [request.partition_key for request in world.schedule("backfill_schedule")] == ["c"]


def test_runs_of_a_dead_code_server_are_failed_and_queued_ones_stay(world):
    job = world.defs.resolve_job_def("process_document_set")
    statuses = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.QUEUED]
    runs = [
        world.instance.create_run_for_job(job, status=status, remote_job_origin=ORIGIN).run_id
        for status in statuses
    ]
    assert set(fail_dead_runs(world.instance)) == set(runs[:2])
    assert world.instance.get_run_by_id(runs[2]).status is dg.DagsterRunStatus.QUEUED
    assert world.instance.get_run_by_id(runs[0]).status is dg.DagsterRunStatus.FAILURE
