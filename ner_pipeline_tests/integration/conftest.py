"""The real thing: SeaweedFS, a code server, a daemon, worker processes, a spaCy model. Nothing is simulated.

One stack serves all tests of this folder; each test uses sets of its own.
"""

import importlib.util
import io
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest

from ner_pipeline.local.stack import INBOX, RESULTS, LocalStack
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import get_bytes, list_objects, put_bytes
from ner_pipeline.storage.progress import SetState, set_status
from ner_pipeline_tests.inference.conftest import MODEL
from ner_pipeline_tests.integration.planted_extractor import GATE_VARIABLE

WITHIN_S = 180
HERE = Path(__file__).parent


def wait_for(condition, what, within_s=WITHIN_S):
    """Poll until a condition gives something; fail with a word about what did not come."""
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {within_s} s: {what}"
        time.sleep(0.1)
    return found


@dataclass
class System:
    """The running services, as a user and as an operator see them."""

    stack: LocalStack
    client: object
    instance: dg.DagsterInstance
    gate: Path
    inbox: S3Location
    results: S3Location

    def upload(self, name, files):
        """Upload a folder set and mark it complete."""
        for file, content in files.items():
            put_bytes(self.client, self.inbox / f"{name}/{file}", content)
        put_bytes(self.client, self.inbox / f"{name}/_SUCCESS", b"")

    def command(self, *arguments):
        """Run a command as a user who has copied the lines that `make up` prints."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            arguments,
            env={**os.environ, **self.stack.environment(), "PATH": path},
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def status(self, key):
        return set_status(self.client, self.inbox, self.results, key)

    def wait_until(self, key, state=SetState.DONE):
        def reached():
            self.stack.check()
            status = self.status(key)
            assert status.state is state or status.state is not SetState.FAILED, status.reason
            return status if status.state is state else None

        return wait_for(reached, f"{key} is {state}")

    def runs(self, key):
        return self.instance.get_run_records(dg.RunsFilter(tags={"dagster/partition": key}))

    def wait_until_run_ended(self, key):
        """Publication comes before the report: wait for the end of the newest run."""
        wait_for(
            lambda: all(record.dagster_run.is_finished for record in self.runs(key)), f"runs of {key} end"
        )

    def rows(self, table, key):
        place = getattr(Layout(self.results).of_set(key), table)
        return pq.read_table(io.BytesIO(get_bytes(self.client, place))).to_pylist()

    def texts(self, key):
        manifest = self.status(key).manifest
        content = get_bytes(self.client, S3Location.parse(manifest.documents_table.uri))
        return {row["doc_id"]: row["text"] for row in pq.read_table(io.BytesIO(content)).to_pylist()}

    def download(self, prefix, folder):
        """Copy everything below a prefix of the results into a local folder."""
        for entry in list_objects(self.client, self.results / prefix):
            path = folder / entry.key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(get_bytes(self.client, S3Location(self.results.bucket, entry.key)))

    def loose_batches(self):
        """The key of each loose batch, with the names of its files."""
        found = {}
        place = self.results / "state/sets/"
        for entry in list_objects(self.client, place):
            description = json.loads(get_bytes(self.client, S3Location(place.bucket, entry.key)))
            if description["kind"] == "batch":
                key = entry.key.removeprefix(place.key).removesuffix(".json")
                found[key] = {member["key"].removeprefix(self.inbox.key) for member in description["members"]}
        return found


@pytest.fixture(scope="session")
def system(tmp_path_factory):
    if importlib.util.find_spec(MODEL) is None:
        pytest.skip(f"{MODEL} is not installed (extra `dev`)")
    gate = tmp_path_factory.mktemp("gate") / "open"
    root = str(HERE.parents[1])
    variables = {
        "NER_MODEL": MODEL,
        "NER_EXTRACTOR": "ner_pipeline_tests.integration.planted_extractor:load",
        "NER_SETTLE_SECONDS": "1",
        "NER_SHARD_CHARS": "4000",
        "NER_REPAIR_CRON": "* * * * *",
        "NER_MAX_ATTEMPTS": "5",
        "NER_WORKERS": "2",
        "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH")))),
        GATE_VARIABLE: str(gate),
    }
    with pytest.MonkeyPatch.context() as environment:
        for name, value in variables.items():
            environment.setenv(name, value)
        with LocalStack(tmp_path_factory.mktemp("stack"), ui=False) as stack:
            stack.start()
            environment.setenv("DAGSTER_HOME", str(stack.home / "dagster"))
            with dg.DagsterInstance.get() as instance:
                yield System(
                    stack,
                    stack.s3.client(),
                    instance,
                    gate,
                    S3Location.parse_prefix(INBOX),
                    S3Location.parse_prefix(RESULTS),
                )
