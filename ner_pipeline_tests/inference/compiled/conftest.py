"""What the proofs of the compiled extractor share: pipelines, each made once, and texts."""

import importlib
import os
from pathlib import Path

import numpy as np
import pytest

from ner_pipeline_tests.inference.compiled.made_pipelines import KINDS, save
from ner_pipeline_tests.inference.compiled.odd_texts import corpus_documents, odd_texts, paragraphs


def usable_array_modules():
    """Give NumPy, and CuPy where it finds a GPU."""
    try:
        cupy = importlib.import_module("cupy")
        found = cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:
        found = False
    return [np, cupy] if found else [np]


@pytest.fixture(scope="session", params=usable_array_modules(), ids=lambda module: module.__name__)
def xp(request):
    """The arrays that compute."""
    return request.param


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory):
    """Give the folder of a kind of pipeline, made when it is first asked for."""
    folders = {}

    def make(kind):
        if kind not in folders:
            folders[kind] = save(KINDS[kind](), tmp_path_factory.mktemp("pipeline") / "saved")
        return folders[kind]

    return make


@pytest.fixture(scope="session")
def corpora():
    """The folders of the corpora; empty where there are none."""
    named = os.environ.get("NER_CORPORA", "")
    return sorted(path for path in Path(named).iterdir() if path.is_dir()) if named else []


@pytest.fixture(scope="session")
def texts(full, corpora):
    """Odd texts, together and one by one, and paragraphs from the beginning of every corpus."""
    odd = odd_texts(500 if full else 40)
    few = 40 if full else 2
    slices = [paragraphs(next(corpus_documents(folder))[:40_000])[:few] for folder in corpora]
    return [*odd, " ".join(odd), *(text[:1_000] for found in slices for text in found)]
