"""Clears runs that a dead code server left behind.

The code server fails a killed run itself. When the code server or the machine dies, its runs stay
STARTED for ever, and each keeps its partition's one place in the run queue. Whoever starts the services
anew on the same instance calls this first, while no code server is up.
"""

from __future__ import annotations

import sys

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from ner_pipeline.orchestration.partitions import INTERRUPTED_TAG

__all__ = ["fail_dead_runs", "main"]

_DEAD = [
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


def fail_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Fail every run that claims to be at work; give their ids. Queued runs wait for the queue, and stay."""
    runs = instance.get_runs(RunsFilter(statuses=_DEAD))
    for run in runs:
        instance.add_run_tags(run.run_id, {INTERRUPTED_TAG: "true"})
        instance.report_run_failed(run, "Its code server has ended; the repair schedule runs this set again.")
    return [run.run_id for run in runs]


def main() -> int:
    """Clear the instance of DAGSTER_HOME."""
    with dg.DagsterInstance.get() as instance:
        failed = fail_dead_runs(instance)
    if failed:
        print(f"{len(failed)} runs of a former code server were marked failed: {', '.join(failed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
