"""From the start of a new Python process to the first entities, and how much of it is loading the model.

What is compiled at first use is kept on the disk for the next process: measured with an empty store, as after
an installation, and with a filled one. Beside it stands spaCy with the same model, pruned.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any

from benchmarks.sizes import Size
from benchmarks.texts import MODEL
from benchmarks.ways import excluded
from ner_pipeline.inference.pipeline_files import find_pipeline

TEXT = "Ada Lovelace met Charles Babbage in London on 5 June 1833."

_OURS = f"""
import time
began = time.perf_counter()
from ner_pipeline.inference.extractor import load_extractor
extractor = load_extractor({MODEL!r}, "cpu")
loaded = time.perf_counter()
assert extractor.extract([{TEXT!r}])[0]
print(loaded - began, time.perf_counter() - loaded)
"""
_SPACY = f"""
import time
began = time.perf_counter()
import spacy
nlp = spacy.load({{directory!r}}, exclude={{excluded!r}})
loaded = time.perf_counter()
assert nlp({TEXT!r}).ents
print(loaded - began, time.perf_counter() - loaded)
"""


def measure(size: Size) -> dict[str, Any]:
    spacy_alone = _SPACY.format(directory=str(find_pipeline(MODEL)), excluded=excluded())
    with tempfile.TemporaryDirectory() as store:
        first = _start(_OURS, store)
        turns = [(_start(_OURS, store), _start(spacy_alone, store)) for _ in range(size.rounds)]
    later, stock = zip(*turns, strict=True)
    starts = {"first start": [first], "later starts": later, "spaCy": stock}
    return {"starts": {name: _medians(values) for name, values in starts.items()}}


def _start(code: str, store: str) -> tuple[float, float, float]:
    """Give the seconds of the whole process, of loading, and of the first text."""
    began = time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": store}
    command = (sys.executable, "-c", code)
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    load, first = map(float, printed.split())
    return time.perf_counter() - began, load, first


def _medians(starts: Any) -> dict[str, float]:
    names = ("process_s", "load_s", "first_text_s")
    return {
        name: round(median(values), 2) for name, values in zip(names, zip(*starts, strict=True), strict=True)
    }
