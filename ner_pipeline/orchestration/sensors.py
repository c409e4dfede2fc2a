"""The sensors: one looks into the inbox, one tells S3 why a run failed.

What a tick does is decided by `storage.inbox.plan_tick`, a pure function; here its inputs are read and
its answer is put into Dagster's words.
"""

import json
import time
from typing import Any

import dagster as dg

from ner_pipeline.errors import StorageError
from ner_pipeline.orchestration.jobs import process_document_set, run_request
from ner_pipeline.orchestration.partitions import SET_VERSION_TAG, document_sets
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.settings import Settings
from ner_pipeline.storage.document_sets import describe_set, group_inbox, list_set
from ner_pipeline.storage.inbox import (
    InboxState,
    SetRequest,
    TickLimits,
    described_keys,
    listing_digest,
    load_state,
    newest_tick,
    plan_tick,
    save_state,
)
from ner_pipeline.storage.objects import list_objects
from ner_pipeline.storage.progress import Progress, SetState, note_progress, read_progress

__all__ = ["build_inbox_sensor", "failure_sensor"]


def build_inbox_sensor(tick_seconds: int) -> dg.SensorDefinition:
    """Make the inbox sensor, which looks every `tick_seconds`."""

    @dg.sensor(
        name="inbox_sensor",
        job=process_document_set,
        minimum_interval_seconds=tick_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Starts a run for each set that is ready in the inbox, and for each new version of one.",
    )
    def inbox_sensor(
        context: dg.SensorEvaluationContext, storage: Storage, settings: dg.ResourceParam[Settings]
    ) -> dg.SensorResult | dg.SkipReason:
        return _tick(context, storage, settings)

    return inbox_sensor


def _tick(
    context: dg.SensorEvaluationContext, storage: Storage, settings: Settings
) -> dg.SensorResult | dg.SkipReason:
    results = storage.places.results
    tick = _last_tick(context, storage)
    # A state beyond the last tick is that of a tick which never returned: its runs are asked for again.
    state = load_state(storage.client, results, tick + 1)
    if state is None:
        former = _former_state(storage, tick)
        inbox, now = storage.places.inbox, time.time()
        objects = list_objects(storage.client, inbox)
        digest = listing_digest(objects)
        if former.listing == digest and (former.wake_at is None or now < former.wake_at):
            return dg.SkipReason(f"nothing new among {len(objects)} objects in {inbox}")
        limits = TickLimits(settle_seconds=settings.settle_seconds, sets_per_tick=settings.sets_per_tick)
        state = plan_tick(group_inbox(objects, inbox), former, now=now, limits=limits, listing=digest).state
        for request in state.requests:
            describe_set(storage.client, results, request.description)
        save_state(storage.client, results, state)
    return _result(context, storage, state)


def _last_tick(context: dg.SensorEvaluationContext, storage: Storage) -> int:
    """Give the number of the last tick that is known to have returned.

    Without a cursor nobody knows whether the newest one did, so it counts as one that did not.
    """
    if context.cursor:
        return int(json.loads(context.cursor)["tick"])
    return max(0, newest_tick(storage.client, storage.places.results) - 1)


def _former_state(storage: Storage, tick: int) -> InboxState:
    if tick == 0:
        return InboxState()
    state = load_state(storage.client, storage.places.results, tick)
    if state is None:
        raise StorageError(
            f"{storage.layout.inbox_state(tick)} is not there, but the cursor names it. Reset the cursor of "
            "inbox_sensor: it then goes on from the newest state, or from the beginning where there is none"
        )
    return state


def _result(context: dg.SensorEvaluationContext, storage: Storage, state: InboxState) -> dg.SensorResult:
    """Say it in Dagster's words."""
    keys = [request.key for request in state.requests]
    if not context.cursor:
        keys += described_keys(storage.client, storage.places.results)
    known = set(context.instance.get_dynamic_partitions(str(document_sets.name)))
    new_keys = [key for key in dict.fromkeys(keys) if key not in known]
    waiting = sum(folder.requested_version != folder.seen_version for folder in state.folders.values())
    context.log.info(
        f"tick {state.tick}: {len(state.requests)} runs asked for, {waiting} folders not yet settled"
    )
    return dg.SensorResult(
        run_requests=[_run_request(request) for request in state.requests],
        dynamic_partitions_requests=[document_sets.build_add_request(new_keys)] if new_keys else [],
        asset_events=[_arrival(request) for request in state.requests],
        cursor=json.dumps({"tick": state.tick}),
    )


def _run_request(request: SetRequest) -> dg.RunRequest:
    return run_request(
        request.key,
        run_key=request.run_key,
        total_bytes=request.total_bytes,
        set_version=request.version,
        reason="new upload",
    )


def _arrival(request: SetRequest) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(
        asset_key="incoming_documents",
        partition=request.key,
        metadata={
            "set": request.description.name,
            "set version": request.version,
            "objects": request.objects,
            "bytes": request.total_bytes,
        },
        tags={SET_VERSION_TAG: request.version},
    )


@dg.run_failure_sensor(
    name="failure_sensor",
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Notes on S3 why a run failed, so that `ner-pipeline status` can tell.",
)
def failure_sensor(context: dg.RunFailureSensorContext, storage: Storage) -> None:
    """Note the reason of a failed run of a document set."""
    key = context.dagster_run.tags.get("dagster/partition")
    if key is None:
        return
    noted = read_progress(storage.client, storage.places.results, key)
    if noted is not None and noted.state is SetState.RUNNING and noted.run_id != context.dagster_run.run_id:
        # A later run is under way already, and its news are fresher.
        return
    document_set = list_set(storage.client, storage.places.inbox, storage.description(key))
    progress = Progress(
        state=SetState.FAILED,
        set_version=context.dagster_run.tags.get(SET_VERSION_TAG, document_set.version),
        run_id=context.dagster_run.run_id,
        reason=_reason(context),
    )
    note_progress(storage.client, storage.places.results, key, progress)


def _reason(context: dg.RunFailureSensorContext) -> str:
    """Give the innermost cause of the first failed step, or what the run itself says."""
    for event in context.get_step_failure_events():
        error: Any = event.step_failure_data.error
        failure = event.step_failure_data.user_failure_data
        if failure is not None and failure.description:
            return f"{event.step_key}: {failure.description}"
        while error is not None and error.cause is not None:
            error = error.cause
        if error is not None:
            return f"{event.step_key}: {error.message.strip()}"
    return context.failure_event.message or "the run failed"
