"""The schedules: one repairs, one brings old results to the current model.

Both are bounded for each tick. Which partitions they choose is decided in `orchestration.repairs`; here
Dagster's records are read. The one recovery path of the project is the repair schedule: run retries are
off, so that nothing else restarts a partition behind its back.
"""

from collections import defaultdict
from collections.abc import Iterator

import dagster as dg
from dagster import DagsterRunStatus, RunRecord, RunsFilter

from ner_pipeline.orchestration.jobs import process_document_set, run_request
from ner_pipeline.orchestration.partitions import document_sets
from ner_pipeline.orchestration.published import published_versions
from ner_pipeline.orchestration.repairs import PartitionRecord, choose_backfills, choose_repairs, needs_repair
from ner_pipeline.orchestration.resources import Extraction, Storage
from ner_pipeline.settings import Settings
from ner_pipeline.storage.document_sets import list_set, partition_key
from ner_pipeline.storage.inbox import FolderState, load_state, newest_tick

__all__ = ["backfill_schedule", "build_repair_schedule"]

_PARTITION_TAG = "dagster/partition"
_FAILED = [DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
_IN_FLIGHT = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


def build_repair_schedule(cron: str) -> dg.ScheduleDefinition:
    """Make the repair schedule."""

    @dg.schedule(
        name="repair_schedule",
        cron_schedule=cron,
        job=process_document_set,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Runs sets again that failed, never ran, or have the result of a former version.",
    )
    def repair_schedule(
        context: dg.ScheduleEvaluationContext, storage: Storage, settings: dg.ResourceParam[Settings]
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        requested = _requested_folders(storage)
        records = _records(context.instance, requested)
        repairs = choose_repairs(
            _with_attempts(context.instance, records, requested),
            limit=settings.repairs_per_tick,
            max_attempts=settings.max_attempts,
        )
        if repairs.given_up:
            context.log.warning(
                f"given up after {settings.max_attempts} attempts: {', '.join(repairs.given_up[:20])}"
            )
        if not repairs.chosen:
            yield dg.SkipReason(f"nothing to repair; {len(repairs.given_up)} sets are given up")
        for record in repairs.chosen:
            yield from _requests(storage, record, f"repair-{record.attempts}", "repair")

    return repair_schedule


@dg.schedule(
    name="backfill_schedule",
    cron_schedule="*/10 * * * *",
    job=process_document_set,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Runs sets again whose result another model version has made, a few at a time.",
)
def backfill_schedule(
    context: dg.ScheduleEvaluationContext,
    storage: Storage,
    extraction: Extraction,
    settings: dg.ResourceParam[Settings],
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Ask for runs of sets whose published result is another model's."""
    version = extraction.model_version
    records = _records(context.instance, {})
    candidates = choose_backfills(records, version, limit=settings.backfills_per_tick)
    if not candidates:
        yield dg.SkipReason(f"every published result is of the model version {version}")
    for record in candidates:
        yield from _requests(storage, record, f"model-{version}", "new model")


def _requests(
    storage: Storage, record: PartitionRecord, attempt: str, reason: str
) -> Iterator[dg.RunRequest]:
    """Ask for a run of a set as it lies in the inbox.

    Nothing is asked for when nothing is left of it, or when it is of another version than the sensor has
    asked for: it is growing, and the sensor waits until it has settled.
    """
    document_set = list_set(storage.client, storage.places.inbox, storage.description(record.key))
    version = document_set.version
    if document_set.is_gone or record.wanted_set_version not in (None, version):
        return
    yield run_request(
        record.key,
        run_key=f"{record.key}:{version}:{attempt}",
        total_bytes=document_set.total_bytes,
        set_version=version,
        reason=reason,
    )


def _requested_folders(storage: Storage) -> dict[str, FolderState]:
    """Give what the sensor remembers of each folder set that it has asked for, by partition key."""
    results = storage.places.results
    tick = newest_tick(storage.client, results)
    state = load_state(storage.client, results, tick) if tick else None
    folders = {} if state is None else state.folders
    return {
        partition_key(name): folder
        for name, folder in folders.items()
        if folder.requested_version is not None
    }


def _records(instance: dg.DagsterInstance, requested: dict[str, FolderState]) -> list[PartitionRecord]:
    """Put together what a few queries tell of all partitions, however many there are."""
    published = published_versions(instance)
    in_flight = {run.tags.get(_PARTITION_TAG) for run in instance.get_runs(RunsFilter(statuses=_IN_FLIGHT))}
    return [
        PartitionRecord(
            key=key,
            published_set_version=published[key].set_version if key in published else None,
            published_model_version=published[key].model_version if key in published else None,
            wanted_set_version=requested[key].requested_version if key in requested else None,
            in_flight=key in in_flight,
        )
        for key in instance.get_dynamic_partitions(str(document_sets.name))
    ]


def _with_attempts(
    instance: dg.DagsterInstance, records: list[PartitionRecord], requested: dict[str, FolderState]
) -> Iterator[PartitionRecord]:
    """Count the attempts of the partitions that need a repair; only of those, since it takes a query."""
    broken = {record.key for record in records if needs_repair(record) and not record.in_flight}
    if not broken:
        return
    runs = _failed_runs(instance, broken)
    for record in records:
        if record.key in broken:
            since = requested[record.key].requested_at if record.key in requested else 0.0
            attempts = sum(run.create_timestamp.timestamp() >= since for run in runs[record.key])
            yield PartitionRecord(
                key=record.key,
                published_set_version=record.published_set_version,
                published_model_version=record.published_model_version,
                wanted_set_version=record.wanted_set_version,
                attempts=attempts,
            )


def _failed_runs(instance: dg.DagsterInstance, keys: set[str]) -> dict[str, list[RunRecord]]:
    runs: dict[str, list[RunRecord]] = defaultdict(list)
    for key in keys:
        runs[key] = list(instance.get_run_records(RunsFilter(tags={_PARTITION_TAG: key}, statuses=_FAILED)))
    return runs
