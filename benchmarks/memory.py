"""What a worker holds: after each of many batches, and under a flood of words that never come again.

The first shows that nothing piles up, the second that what is kept of words is bounded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.process_tree import memory_mb, pids_below
from benchmarks.sizes import Size
from benchmarks.texts import MODEL, load_texts
from benchmarks.ways import extraction_pool
from ner_pipeline.inference.extractor import DEFAULT_LOADER, load_extractor
from ner_pipeline.inference.made_texts import WordMaker

BATCH_CHARS = 100_000
WORDS_PER_TEXT = 1_000
LOOKS = 100
"""How often the memory is read in the flood."""


def measure(size: Size) -> dict[str, Any]:
    return {"batches": _after_batches(size.batches), "flood": _in_flood(size.distinct_words)}


def _after_batches(count: int) -> dict[str, Any]:
    """Feed batches of real text, over and over; read the largest process below this one after each."""
    held: list[float] = []
    with extraction_pool(DEFAULT_LOADER) as extract:
        for batch in _batches(count):
            extract(batch)
            held.append(round(max(memory_mb(pid) for pid in pids_below(os.getpid())[1:]), 1))
    # In the second half all words have been met: the texts come around again.
    return {"count": count, "rss_mb": held, "growth_mb": round(held[-1] - held[len(held) // 2], 1)}


def _batches(count: int) -> Iterator[Sequence[str]]:
    texts = load_texts().texts
    position = 0
    for _ in range(count):
        batch: list[str] = []
        while sum(map(len, batch)) < BATCH_CHARS:
            batch.append(texts[position % len(texts)])
            position += 1
        yield batch


def _in_flood(words: int) -> dict[str, Any]:
    """Feed words that are all different to one extractor in this process."""
    extractor: Any = load_extractor(MODEL, "cpu")
    looks, look_after = [], max(1, words // WORDS_PER_TEXT // LOOKS)
    most: dict[str, int] = {}
    for number, text in enumerate(_texts_of_new_words(words)):
        extractor.extract([text])
        most = {what: max(count, most.get(what, 0)) for what, count in extractor.held.items()}
        if number % look_after == 0:
            looks.append(round(memory_mb(os.getpid()), 1))
    return {
        "distinct_words": words,
        "most_held": most,
        "rss_mb": looks,
        "peak_rss_mb": memory_mb(os.getpid(), peak=True),
    }


def _texts_of_new_words(words: int) -> Iterator[str]:
    maker = WordMaker(load_texts().texts[:100])
    for first in range(1, words + 1, WORDS_PER_TEXT):
        yield " ".join(map(maker.word, range(first, min(first + WORDS_PER_TEXT, words + 1))))
