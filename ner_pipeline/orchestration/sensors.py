"""The sensors: one looks into the inbox, two tell S3 why a run came to nothing.

Whether a tick looks is decided by `storage.events.why_look`, and what it does then by
`storage.inbox.plan_tick`, both pure functions; here their inputs are read and their answers are put into
Dagster's words.
"""

import secrets
import time
from typing import Any

import dagster as dg

from ner_pipeline.errors import StorageError
from ner_pipeline.orchestration.jobs import process_document_set, run_request
from ner_pipeline.orchestration.partitions import INTERRUPTED_TAG, SET_VERSION_TAG, document_sets
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.settings import Settings
from ner_pipeline.storage.document_sets import describe_set, group_inbox, list_set
from ner_pipeline.storage.event_queue import EventQueue, ReceivedMessage, keep_dead_letters
from ner_pipeline.storage.events import why_look
from ner_pipeline.storage.inbox import (
    Cursor,
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
from ner_pipeline.storage.objects import head, list_objects
from ner_pipeline.storage.progress import Progress, SetState, note_progress, read_progress

__all__ = ["build_inbox_sensor", "cancel_sensor", "failure_sensor"]


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
    cursor = _cursor(context, storage)
    queue = EventQueue(settings.event_queue) if settings.event_queue else None
    messages, fault = _receive(context, queue)
    arrived = any(message.said.speaks_of(storage.places.inbox) for message in messages)
    reason = why_look(
        cursor, arrived=arrived, fault=fault, now=time.time(), look_seconds=settings.look_seconds
    ) or _unfinished(storage, cursor)
    result = _look(context, storage, settings, cursor, reason) if reason else dg.SkipReason("no event")
    # Only now that the state is saved: messages of a tick that dies on its way come again.
    if queue is not None and messages:
        _settle(context, storage, queue, messages)
    return result


def _cursor(context: dg.SensorEvaluationContext, storage: Storage) -> Cursor:
    if context.cursor:
        return Cursor.model_validate_json(context.cursor)
    # Without a cursor nobody knows whether the newest tick returned, so it counts as one that did not.
    return Cursor(tick=max(0, newest_tick(storage.client, storage.places.results) - 1))


def _receive(
    context: dg.SensorEvaluationContext, queue: EventQueue | None
) -> tuple[list[ReceivedMessage], str]:
    """Give what the event queue holds, or why there is nothing to be had from it."""
    if queue is None:
        return [], "there is no event queue"
    try:
        return queue.receive(), ""
    except StorageError as error:
        context.log.warning(f"{error}. Until then every tick lists the inbox")
        return [], str(error)


def _unfinished(storage: Storage, cursor: Cursor) -> str:
    newer = head(storage.client, storage.layout.inbox_state(cursor.tick + 1))
    return "" if newer is None else "the last tick has not returned"


def _look(
    context: dg.SensorEvaluationContext, storage: Storage, settings: Settings, cursor: Cursor, reason: str
) -> dg.SensorResult:
    results, inbox, now = storage.places.results, storage.places.inbox, time.time()
    objects = list_objects(storage.client, inbox)
    digest = listing_digest(objects)
    if cursor.listing == digest and (cursor.wake_at is None or now < cursor.wake_at):
        return dg.SensorResult(
            skip_reason=f"nothing new among {len(objects)} objects in {inbox} ({reason})",
            cursor=cursor.model_copy(update={"looked_at": now}).model_dump_json(),
        )
    # A state beyond the last tick is that of a tick which never returned: its runs are asked for again.
    state = load_state(storage.client, results, cursor.tick + 1)
    if state is None:
        former = _former_state(storage, cursor.tick)
        limits = TickLimits(settle_seconds=settings.settle_seconds, sets_per_tick=settings.sets_per_tick)
        state = plan_tick(group_inbox(objects, inbox), former, now=now, limits=limits, listing=digest).state
        save_state(storage.client, results, state, exclusive=storage.honours_conditions)
    for request in state.requests:
        describe_set(storage.client, results, request.description)
    return _result(context, storage, state, Cursor.after(state, listing=digest))


def _settle(
    context: dg.SensorEvaluationContext,
    storage: Storage,
    queue: EventQueue,
    messages: list[ReceivedMessage],
) -> None:
    """Be done with messages. One that cannot be deleted comes again, which is harmless."""
    for place in keep_dead_letters(storage.client, storage.places.results, messages):
        context.log.warning(f"the event queue held a message of an unknown form; it is kept as {place}")
    try:
        queue.delete(messages)
    except StorageError as error:
        context.log.warning(str(error))


def _former_state(storage: Storage, tick: int) -> InboxState:
    if tick == 0:
        return InboxState(epoch=secrets.token_hex(4))
    state = load_state(storage.client, storage.places.results, tick)
    if state is None:
        raise StorageError(
            f"{storage.layout.inbox_state(tick)} is not there, but the cursor names it. Reset the cursor of "
            "inbox_sensor: it then goes on from the newest state, or from the beginning where there is none"
        )
    return state


def _result(
    context: dg.SensorEvaluationContext, storage: Storage, state: InboxState, cursor: Cursor
) -> dg.SensorResult:
    """Say it in Dagster's words."""
    keys = [request.key for request in state.requests]
    if not context.cursor:
        keys += described_keys(storage.client, storage.places.results)
    known = set(context.instance.get_dynamic_partitions(str(document_sets.name)))
    new_keys = [key for key in dict.fromkeys(keys) if key not in known]
    waiting = sum(
        folder.seen_version not in ("", folder.requested_version) for folder in state.folders.values()
    )
    context.log.info(
        f"tick {state.tick}: {len(state.requests)} runs asked for, {waiting} folders not yet settled"
    )
    return dg.SensorResult(
        run_requests=[_run_request(request) for request in state.requests],
        dynamic_partitions_requests=[document_sets.build_add_request(new_keys)] if new_keys else [],
        asset_events=[_arrival(request) for request in state.requests],
        cursor=cursor.model_dump_json(),
    )


def _run_request(request: SetRequest) -> dg.RunRequest:
    return run_request(
        request.key,
        run_key=request.run_key,
        total_bytes=request.total_bytes,
        set_version=request.version,
        tags={"ner/reason": "new upload"},
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
    reason, interrupted = _reason(context)
    if interrupted:
        context.instance.add_run_tags(context.dagster_run.run_id, {INTERRUPTED_TAG: "true"})
    _note_failure(context.instance, context.dagster_run, storage, reason)


@dg.run_status_sensor(
    name="cancel_sensor",
    run_status=dg.DagsterRunStatus.CANCELED,
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Notes on S3 that a run was cancelled, so that `ner-pipeline status` can tell.",
)
def cancel_sensor(context: dg.RunStatusSensorContext, storage: Storage) -> None:
    """Note that a run of a document set was cancelled; the repair schedule leaves such a set alone."""
    _note_failure(context.instance, context.dagster_run, storage, "the run was cancelled")


def _note_failure(instance: dg.DagsterInstance, run: dg.DagsterRun, storage: Storage, reason: str) -> None:
    key = run.tags.get("dagster/partition")
    if key is None:
        return
    noted = read_progress(storage.client, storage.places.results, key)
    if noted is not None and noted.state is SetState.RUNNING and noted.run_id != run.run_id:
        later = instance.get_run_by_id(noted.run_id)
        if later is not None and not later.is_finished:
            # Another run is under way, and its news are fresher.
            return
    version = run.tags.get(SET_VERSION_TAG)
    if version is None:
        version = list_set(storage.client, storage.places.inbox, storage.description(key)).version
    progress = Progress(state=SetState.FAILED, set_version=version, run_id=run.run_id, reason=reason)
    note_progress(storage.client, storage.places.results, key, progress)


def _reason(context: dg.RunFailureSensorContext) -> tuple[str, bool]:
    """Give the innermost cause of the failure, and whether it was an interruption from outside."""
    for event in context.get_step_failure_events():
        data = event.step_failure_data
        if data.user_failure_data is not None and data.user_failure_data.description:
            return f"{event.step_key}: {data.user_failure_data.description}", False
        cause = _innermost(data.error)
        if cause is not None and "DagsterExecutionInterruptedError" in str(cause.cls_name):
            return "the services were ended while it ran", True
        if cause is not None:
            return f"{event.step_key}: {cause.message.strip()}", False
    return _engine_error(context) or context.failure_event.message or "the run failed", False


def _engine_error(context: dg.RunFailureSensorContext) -> str:
    """Give the last error that Dagster itself met, such as a code location that does not load."""
    records = context.instance.get_records_for_run(
        context.dagster_run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT
    ).records
    events = [record.event_log_entry.dagster_event for record in records]
    errors = [_innermost(event.engine_event_data.error) for event in events if event is not None]
    return next((error.message.strip() for error in reversed(errors) if error is not None), "")


def _innermost(error: Any) -> Any:
    while error is not None and error.cause is not None:
        error = error.cause
    return error
