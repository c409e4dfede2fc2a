"""The schedules: one repairs, one brings old results to the current model.

Both are bounded for each tick. Which partitions are candidates is decided in `orchestration.repairs`; here
Dagster's records are read, and the inbox. The one recovery path of the project is the repair schedule: run
retries are off, so that nothing else restarts a partition behind its back.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import dagster as dg
from dagster import DagsterRunStatus, RunRecord, RunsFilter

from ner_pipeline.errors import StorageError
from ner_pipeline.orchestration.jobs import process_document_set, run_request
from ner_pipeline.orchestration.partitions import INTERRUPTED_TAG, MODEL_VERSION_TAG, document_sets
from ner_pipeline.orchestration.published import published_versions
from ner_pipeline.orchestration.repairs import (
    Candidates,
    PartitionRecord,
    backfill_candidates,
    needs_repair,
    repair_candidates,
)
from ner_pipeline.orchestration.resources import Extraction, Storage
from ner_pipeline.settings import Settings
from ner_pipeline.storage.document_sets import list_set, partition_key
from ner_pipeline.storage.inbox import FolderState, InboxState, load_state, newest_tick

__all__ = ["backfill_schedule", "build_repair_schedule"]

JUST_REQUESTED_S = 120
"""So long after a tick of the sensor its runs may not have been submitted yet."""

_PARTITION_TAG = "dagster/partition"
_ENDED = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
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
    ) -> list[dg.RunRequest] | dg.SkipReason:
        state = _inbox_state(storage)
        records = _with_attempts(context.instance, _records(context.instance, state), _requested(state))
        candidates = repair_candidates(records, max_attempts=settings.max_attempts)
        requests = _requests(context, storage, candidates, {"ner/reason": "repair"})
        return list(islice(requests, settings.repairs_per_tick)) or _nothing_to_do("repair", candidates)

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
) -> list[dg.RunRequest] | dg.SkipReason:
    """Ask for runs of sets whose published result is another model's."""
    version = extraction.version_without_loading
    if version is None:
        return dg.SkipReason("a custom extractor tells its version only when it is loaded: backfill by hand")
    attempts = _backfill_attempts(context.instance, version)
    records = [
        replace(record, attempts=attempts[record.key])
        for record in _records(context.instance, _inbox_state(storage))
    ]
    candidates = backfill_candidates(records, version, max_attempts=settings.max_attempts)
    requests = _requests(
        context, storage, candidates, {"ner/reason": "new model", MODEL_VERSION_TAG: version}
    )
    return list(islice(requests, settings.backfills_per_tick)) or _nothing_to_do("backfill", candidates)


def _nothing_to_do(what: str, candidates: Candidates) -> dg.SkipReason:
    given_up = f"; given up: {', '.join(candidates.given_up[:20])}" if candidates.given_up else ""
    waiting = f"; {len(candidates.in_order)} cannot be run at present" if candidates.in_order else ""
    return dg.SkipReason(f"nothing to {what}{waiting}{given_up}")


def _requests(
    context: dg.ScheduleEvaluationContext, storage: Storage, candidates: Candidates, tags: dict[str, str]
) -> Iterator[dg.RunRequest]:
    """Ask for a run of each candidate that can be run, as it lies in the inbox.

    One of which nothing is left is passed over, and one of another version than the sensor has asked for:
    it is growing, and the sensor waits until it has settled. So is one that nobody knows.
    """
    for record in candidates.in_order:
        try:
            document_set = list_set(storage.client, storage.places.inbox, storage.description(record.key))
        except StorageError as error:
            if error.transient:
                raise
            context.log.warning(f"{record.key} is passed over: {error}")
            continue
        version = document_set.version
        if document_set.is_gone or record.wanted_set_version not in (None, version):
            continue
        yield run_request(
            record.key,
            run_key=f"{record.key}:{version}:{tags['ner/reason']}:{record.attempts}",
            total_bytes=document_set.total_bytes,
            set_version=version,
            tags=tags,
        )


def _inbox_state(storage: Storage) -> InboxState:
    """Read what the sensor knew after its newest tick."""
    results = storage.places.results
    tick = newest_tick(storage.client, results)
    return (load_state(storage.client, results, tick) if tick else None) or InboxState()


def _requested(state: InboxState) -> dict[str, FolderState]:
    """Give what the sensor remembers of each folder set that it has asked for, by partition key."""
    return {
        partition_key(name): folder
        for name, folder in state.folders.items()
        if folder.requested_version is not None
    }


def _records(instance: dg.DagsterInstance, state: InboxState) -> list[PartitionRecord]:
    """Put together what a few queries tell of all partitions, however many there are."""
    published, requested = published_versions(instance), _requested(state)
    in_flight = {run.tags.get(_PARTITION_TAG) for run in instance.get_runs(RunsFilter(statuses=_IN_FLIGHT))}
    if time.time() - state.at < JUST_REQUESTED_S:
        in_flight |= {request.key for request in state.requests}
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
    """Count the attempts of the partitions that need a repair: it takes a query for each."""
    for record in records:
        if needs_repair(record):
            since = requested[record.key].requested_at if record.key in requested else 0.0
            runs = _ended_runs(instance, record.key, since)
            cancelled = bool(runs) and runs[0].dagster_run.status is DagsterRunStatus.CANCELED
            attempts = sum(INTERRUPTED_TAG not in run.dagster_run.tags for run in runs)
            yield replace(record, attempts=attempts, cancelled=cancelled)


def _ended_runs(instance: dg.DagsterInstance, key: str, since: float) -> list[RunRecord]:
    """Give the runs of a partition that have ended, the newest first."""
    runs = instance.get_run_records(RunsFilter(tags={_PARTITION_TAG: key}, statuses=_ENDED))
    return [run for run in runs if run.create_timestamp.timestamp() >= since]


def _backfill_attempts(instance: dg.DagsterInstance, model_version: str) -> Counter[str]:
    """Count, by partition, the runs that should have brought a set to this model version and have ended."""
    runs = instance.get_runs(RunsFilter(tags={MODEL_VERSION_TAG: model_version}, statuses=_ENDED))
    return Counter(run.tags[_PARTITION_TAG] for run in runs if INTERRUPTED_TAG not in run.tags)
