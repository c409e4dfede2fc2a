"""How long from the end of an upload to published entities, and where the time goes.

    python -m benchmarks.upload_to_result TEXT [--runs 3]

Starts the services of `make up` in a temporary folder, uploads TEXT as a loose file, waits for its
entities, and prints the parts of the way beside the budget for one text of 1 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
from dagster import DagsterEventType, DagsterRunStatus, EventLogRecord, RunRecord

from ner_pipeline.local.stack import INBOX, LocalStack
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import put_file

BUDGET_S = {"tick": 5, "queue": 1, "launch": 5, "load": 2, "infer": 10, "publish": 1}
"""Seconds for 1 MB of text, with the reading in `publish`: inside the 29 s of an API gateway."""

ENDED = {DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED}


@dataclass(frozen=True)
class Steps:
    """When each step of a run began and ended, in seconds since the epoch."""

    began: dict[str, float]
    ended: dict[str, float]

    @classmethod
    def of(cls, records: list[EventLogRecord]) -> Steps:
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


def main() -> None:
    arguments = _arguments()
    with (
        tempfile.TemporaryDirectory(prefix="ner-latency-") as folder,
        LocalStack(Path(folder), ui=False) as stack,
    ):
        stack.start()
        os.environ["DAGSTER_HOME"] = str(stack.home / "dagster")
        with dg.DagsterInstance.get() as instance:
            results = [_measure(stack, instance, arguments.text, number) for number in range(arguments.runs)]
    for result in results:
        print(json.dumps({name: round(value, 2) for name, value in result.items()}))
    median = {name: sorted(result[name] for result in results)[len(results) // 2] for name in results[0]}
    print(f"\n{'part':10}{'median s':>10}{'budget s':>10}")
    for name, value in median.items():
        print(f"{name:10}{value:10.2f}{BUDGET_S.get(name, ''):>10}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path, help="a UTF-8 text file")
    parser.add_argument("--runs", type=int, default=3)
    return parser.parse_args()


def _measure(stack: LocalStack, instance: dg.DagsterInstance, text: Path, number: int) -> dict[str, float]:
    """Upload once, as content that was never seen before, and take the run apart."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "fresh.txt"
        fresh.write_bytes(text.read_bytes() + f"\nMeasured for the {number}th time.\n".encode())
        put_file(stack.s3.client(), S3Location.parse(INBOX) / f"latency-{number}.txt", fresh)
    uploaded = time.time()
    run = _wait_for_run(stack, instance, uploaded)
    return dict(_parts(instance, run, uploaded))


def _wait_for_run(stack: LocalStack, instance: dg.DagsterInstance, since: float) -> RunRecord:
    while True:
        stack.check()
        for record in instance.get_run_records(limit=5):
            if record.create_timestamp.timestamp() >= since and record.dagster_run.status in ENDED:
                if record.dagster_run.status is not DagsterRunStatus.SUCCESS:
                    raise SystemExit(
                        f"the run {record.dagster_run.run_id} ended as {record.dagster_run.status.value}"
                    )
                return record
        time.sleep(0.2)


def _parts(instance: dg.DagsterInstance, run: RunRecord, uploaded: float) -> Iterator[tuple[str, float]]:
    records = list(instance.get_records_for_run(run.dagster_run.run_id).records)
    moments = {
        record.event_log_entry.dagster_event.event_type: record.event_log_entry.timestamp
        for record in records
        if record.event_log_entry.dagster_event is not None
    }
    steps = Steps.of(records)
    created = run.create_timestamp.timestamp()
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


if __name__ == "__main__":
    main()
