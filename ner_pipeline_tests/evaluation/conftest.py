"""Makes the fakes of this folder importable, here and in worker processes."""

import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _fakes_importable(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    yield
    sys.modules.pop("failing_extractor", None)
