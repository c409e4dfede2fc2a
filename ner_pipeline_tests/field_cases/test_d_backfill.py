"""D09: many partitions at once, as the UI asks for them and as Dagster's daemon runs them.

What the UI says goes through its GraphQL, and what the daemon does through its own loop. Only the runs are
executed at once, here, instead of in processes of their own.
"""

import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import dagster as dg
import pytest
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.test_utils import InProcessTestWorkspaceLoadTarget
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._daemon.backfill import execute_backfill_iteration
from dagster_graphql.test.utils import execute_dagster_graphql

from ner_pipeline_tests.field_cases import code_location
from ner_pipeline_tests.world import BREAKS, UP_TO_PUBLICATION

# A run that is executed inside the daemon's own loop leaves a coroutine of Dagster's behind.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning")

AT_ONCE = {
    "run_launcher": {
        "module": "dagster._core.launcher.sync_in_memory_run_launcher",
        "class": "SyncInMemoryRunLauncher",
    },
    "run_coordinator": {"module": "dagster._core.run_coordinator", "class": "DefaultRunCoordinator"},
    # Else each step of each run starts two processes that copy its output.
    "compute_logs": {
        "module": "dagster._core.storage.noop_compute_log_manager",
        "class": "NoOpComputeLogManager",
    },
}

LAUNCH = """
mutation ($of: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $of) { ... on LaunchBackfillSuccess { backfillId } }
}"""
CANCEL = """
mutation ($id: String!) {
  cancelPartitionBackfill(backfillId: $id) { ... on CancelBackfillSuccess { backfillId } }
}"""
AGAIN = """
mutation ($id: String!) {
  reexecutePartitionBackfill(reexecutionParams: {parentRunId: $id, strategy: FROM_FAILURE}) {
    ... on LaunchBackfillSuccess { backfillId }
  }
}"""
STATUS = """
query ($id: String!) {
  partitionBackfillOrError(backfillId: $id) {
    ... on PartitionBackfill {
      status
      assetBackfillData {
        assetBackfillStatuses {
          ... on AssetPartitionsStatusCounts {
            assetKey { path }
            numPartitionsTargeted
            numPartitionsMaterialized
            numPartitionsFailed
          }
        }
      }
    }
  }
}"""


@dataclass
class Screen:
    """Backfills, as a person starts, follows and cancels them in the UI."""

    context: WorkspaceProcessContext

    def ask(self, query, **variables):
        answer = execute_dagster_graphql(self.context.create_request_context(), query, variables)
        assert not answer.errors, answer.errors
        [found] = answer.data.values()
        return found

    def launch(self, keys):
        assets = [{"path": [name]} for name in UP_TO_PUBLICATION]
        return self.ask(LAUNCH, of={"assetSelection": assets, "partitionNames": keys})["backfillId"]

    def cancel(self, backfill):
        assert self.ask(CANCEL, id=backfill) == {"backfillId": backfill}

    def run_what_failed_again(self, backfill):
        return self.ask(AGAIN, id=backfill)["backfillId"]

    def wait_for(self, backfill):
        """Let the daemon work until the backfill has ended; give its status, and the counts of `entities`."""
        while (status := self.ask(STATUS, id=backfill))["status"] in {"REQUESTED", "CANCELING"}:
            faults = list(execute_backfill_iteration(self.context, logging.getLogger("backfill")))
            assert not any(faults), faults
        [counts] = [
            counts
            for counts in status["assetBackfillData"]["assetBackfillStatuses"]
            if counts["assetKey"]["path"] == ["entities"]
        ]
        names = ("numPartitionsTargeted", "numPartitionsMaterialized", "numPartitionsFailed")
        return status["status"], tuple(counts[name] for name in names)


@pytest.fixture
def instance(tmp_path):
    with dg.DagsterInstance.local_temp(str(tmp_path), overrides=AT_ONCE) as instance:
        yield instance


@pytest.fixture
def screen(world, instance, monkeypatch):
    monkeypatch.setattr(code_location, "world", world)
    origin = InProcessCodeLocationOrigin(
        LoadableTargetOrigin(module_name=code_location.__name__, attribute="defs")
    )
    with WorkspaceProcessContext(instance, InProcessTestWorkspaceLoadTarget([origin])) as context:
        yield Screen(context)


def upload(world, count, bad):
    """Upload so many sets, of which some end their runs; give the keys of all and of the bad ones."""
    names = [f"set{number:04}" for number in range(count)]
    broken = names[count // (bad + 1) :: count // (bad + 1)][:bad]
    for name in names:
        world.upload(f"{name}/a.txt", f"Bob {BREAKS if name in broken else 'sleeps'}", marked=False)
    asked = []
    while requests := world.tick():
        asked += [request.partition_key for request in requests]
    assert asked == names
    return names, broken


def cancel_after(world, screen, backfill, runs):
    """Let a person cancel the backfill while the run with this number computes."""
    original, begun = world.pool.extract, []

    def extract(texts):
        begun.append(1)
        if len(begun) == runs:
            with ThreadPoolExecutor(1) as person:
                person.submit(screen.cancel, backfill).result()
        return original(texts)

    world.pool.extract = extract


def runs_of(instance, asset):
    """How many runs were to make this asset, by partition: Dagster may split what is missing into several."""
    return Counter(
        run.tags["dagster/partition"]
        for run in instance.get_runs()
        if dg.AssetKey(asset) in run.asset_selection
    )


@pytest.mark.parametrize(
    ("count", "bad"),
    [
        (6, 2),
        pytest.param(300, 7, marks=pytest.mark.proof),
        pytest.param(2_000, 7, marks=pytest.mark.proof),
    ],
)
def test_d09_a_backfill_that_was_cancelled_and_has_failed_sets_is_completed_by_what_is_missing(
    world, screen, instance, monkeypatch, count, bad
):
    monkeypatch.setenv("DAGSTER_ASSET_BACKFILL_RUN_CHUNK_SIZE", str(count // 3))
    names, broken = upload(world, count, bad)
    first = screen.launch(names)
    cancel_after(world, screen, first, runs=count // 2)
    status, (targeted, done, _) = screen.wait_for(first)
    assert (status, targeted) == ("CANCELED", count)
    assert 0 < done < count - bad
    second = screen.run_what_failed_again(first)
    assert screen.wait_for(second) == ("COMPLETED_FAILED", (count - done, count - done - bad, bad))
    assert instance.get_materialized_partitions(dg.AssetKey("entities")) == set(names) - set(broken)
    world.pool.mended = True
    third = screen.run_what_failed_again(second)
    assert screen.wait_for(third) == ("COMPLETED_SUCCESS", (bad, bad, 0))
    assert runs_of(instance, "documents") == dict.fromkeys(names, 1)
    assert {name for name, runs in runs_of(instance, "entities").items() if runs > 1} == set(broken)
    assert [row["source_key"] for row in world.all_rows("outcomes")] == [f"in/{name}/a.txt" for name in names]
