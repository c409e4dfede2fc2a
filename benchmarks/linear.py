"""Whether cost grows with the work and no faster: twice as many documents, and one document twice as long.

Measured through the worker pool, warm, the half and the whole in turn; a ratio is taken within a round.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.sizes import Size
from benchmarks.texts import load_texts
from benchmarks.ways import Extract, extraction_pool
from ner_pipeline.inference.extractor import DEFAULT_LOADER

AT_LEAST_S = 2.0


def measure(size: Size) -> dict[str, Any]:
    texts = load_texts().share(size.text_share).texts
    whole = "\n\n".join(texts)
    with extraction_pool(DEFAULT_LOADER) as extract:
        return {
            "documents": len(texts),
            "chars": len(whole),
            "twice_as_many_documents": _ratio(extract, texts[::2], (*texts[::2], *texts[::2]), size.rounds),
            "twice_as_long": _ratio(extract, [whole[: len(whole) // 2]], [whole], size.rounds),
        }


def _ratio(extract: Extract, half: Sequence[str], whole: Sequence[str], rounds: int) -> float:
    """Give what the whole costs, the half being 1."""
    extract(whole)
    extract(whole)
    return round(median(_seconds(extract, whole) / _seconds(extract, half) for _ in range(rounds)), 3)


def _seconds(extract: Extract, texts: Sequence[str]) -> float:
    passes, began = 0, time.perf_counter()
    while time.perf_counter() - began < AT_LEAST_S:
        extract(texts)
        passes += 1
    return (time.perf_counter() - began) / passes
