"""The services of `make up` in a temporary folder, and what Dagster tells of the runs in them."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
from dagster import DagsterEventType, DagsterRunStatus, EventLogRecord, RunRecord

from benchmarks.texts import MODEL
from ner_pipeline.local.stack import LocalStack

ENDED = {DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED}


@dataclass(frozen=True)
class Services:
    stack: LocalStack
    instance: dg.DagsterInstance

    def wait_for_runs(self, count: int, since: float) -> list[RunRecord]:
        """Wait until so many runs that were asked for since then have ended well."""
        while True:
            self.stack.check()
            records = self.instance.get_run_records(limit=count)
            ended = [record for record in records if _is_of(record, since)]
            for record in ended:
                if record.dagster_run.status is not DagsterRunStatus.SUCCESS:
                    raise SystemExit(self._why(record.dagster_run))
            if len(ended) == count:
                return ended
            time.sleep(0.2)

    def _why(self, run: dg.DagsterRun) -> str:
        """Say how a run failed, before the folder with all logs is gone."""
        failures = self.instance.get_records_for_run(
            run.run_id, of_type=DagsterEventType.STEP_FAILURE
        ).records
        events = [record.event_log_entry.dagster_event for record in failures]
        errors = [event.step_failure_data.error for event in events if event is not None]
        told = [error.to_string() for error in errors if error is not None]
        return "\n".join([f"a run ended as {run.status.value}", *told])

    def parts(self, run: RunRecord, uploaded: float) -> dict[str, float]:
        """Take apart the seconds from the end of an upload to its entities."""
        events = self.instance.get_records_for_run(run.dagster_run.run_id).records
        return dict(_parts(events, run.create_timestamp.timestamp(), uploaded))


@contextmanager
def services() -> Iterator[Services]:
    """Start all services on a folder of their own."""
    with (
        tempfile.TemporaryDirectory(prefix="ner-bench-") as folder,
        LocalStack(Path(folder), ui=False) as stack,
    ):
        os.environ["NER_MODEL"] = MODEL
        stack.start()
        os.environ["DAGSTER_HOME"] = str(stack.home / "dagster")
        with dg.DagsterInstance.get() as instance:
            yield Services(stack, instance)


def _is_of(record: RunRecord, since: float) -> bool:
    return record.create_timestamp.timestamp() >= since and record.dagster_run.status in ENDED


@dataclass(frozen=True)
class Steps:
    """When each step of a run began and ended, in seconds since the epoch."""

    began: dict[str, float]
    ended: dict[str, float]

    @classmethod
    def of(cls, records: Sequence[EventLogRecord]) -> Steps:
        began: dict[str, float] = {}
        ended: dict[str, float] = {}
        for record in records:
            entry = record.event_log_entry
            kind = entry.dagster_event.event_type if entry.dagster_event else None
            if kind == DagsterEventType.STEP_START:
                began[str(entry.step_key)] = entry.timestamp
            elif kind == DagsterEventType.STEP_SUCCESS:
                ended[str(entry.step_key)] = entry.timestamp
        return cls(began, ended)

    def seconds(self, *prefixes: str) -> float:
        """The time from the first of some steps to the end of the last."""
        names = [name for name in self.ended if name.startswith(prefixes)]
        return max(self.ended[name] for name in names) - min(self.began[name] for name in names)


def _parts(records: Sequence[EventLogRecord], created: float, uploaded: float) -> Iterator[tuple[str, float]]:
    moments = {
        record.event_log_entry.dagster_event.event_type: record.event_log_entry.timestamp
        for record in records
        if record.event_log_entry.dagster_event is not None
    }
    steps = Steps.of(records)
    dequeued, started = moments[DagsterEventType.RUN_STARTING], moments[DagsterEventType.RUN_START]
    yield "tick", created - uploaded
    yield "queue", dequeued - created
    yield "launch", started - dequeued
    yield "load", steps.began["documents"] - started
    yield "read", steps.seconds("documents", "raw_entities.plan_shards")
    yield "infer", steps.seconds("raw_entities.extract_shard")
    yield "merge", steps.began["entities"] - steps.ended["raw_entities.gather"]
    yield "publish", steps.seconds("entities")
    yield "total", steps.ended["entities"] - uploaded
