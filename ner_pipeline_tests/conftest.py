"""What all tests share: S3 over loopback, with real requests and a bucket for each test."""

import itertools
import os
from pathlib import Path

import boto3
import hypothesis
import pytest
from moto.server import ThreadedMotoServer

from ner_pipeline.settings import Places
from ner_pipeline.storage.locations import S3Location

HERE = Path(__file__).parent
LONGEST_FIRST = ("integration", "field_cases", "local", "inference")
"""Folders whose files take minutes: begun last, one of them would keep a single worker busy at the end."""

_numbers = itertools.count()

FULL = bool(os.environ.get("NER_PROOF"))
"""Whether this is `make proof`: every proof in its full size, and those that have no small form."""

# No test asserts a time, and a busy machine is no fault.
_UNHURRIED = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("test", max_examples=50, **_UNHURRIED)
hypothesis.settings.register_profile("proof", max_examples=2_000, **_UNHURRIED)
hypothesis.settings.load_profile("proof" if FULL else "test")


def pytest_collection_modifyitems(config, items):
    """Begin with the longest files, which mostly wait, and leave out what only `make proof` runs."""
    items.sort(key=_when)
    if not FULL:
        left_out = [item for item in items if item.get_closest_marker("proof")]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def _when(item):
    folder = item.path.relative_to(HERE).parts[0]
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)


@pytest.fixture(scope="session")
def full() -> bool:
    """Tell whether a proof is to run in its full size."""
    return FULL


@pytest.fixture(scope="session")
def s3_environment():
    """The variables with which any S3 client reaches the test server."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    yield {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    server.stop()


@pytest.fixture
def s3_in_environment(s3_environment, monkeypatch):
    """Let all that reads the environment, child processes too, find the test server and nothing else."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "NER_")) and name != "NER_CORPORA"]:
        monkeypatch.delenv(name)
    for name, value in s3_environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def _session():
    """One session for all clients: to make one takes a third of a second."""
    return boto3.session.Session()


@pytest.fixture
def client(s3_in_environment, _session):
    return _session.client("s3")


@pytest.fixture
def places(client):
    """An inbox and a results folder that no other test uses."""
    bucket = f"test-{next(_numbers)}"
    client.create_bucket(Bucket=bucket)
    return Places(S3Location(bucket, "in/"), S3Location(bucket, "out/"))
