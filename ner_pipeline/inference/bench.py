"""How fast this machine turns texts into spans with a model, and which sizes are best for it.

What `ner-pipeline bench` does, on made-up texts in the language of the model. The full comparison, on a
novel and with everything that others do beside it, is no part of the package: see `benchmarks/`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ner_pipeline.inference.extractor import load_extractor
from ner_pipeline.inference.loading import load_pipeline
from ner_pipeline.inference.made_texts import example_sentences, made_texts
from ner_pipeline.inference.pipeline_files import find_pipeline, read_pipeline
from ner_pipeline.inference.pool import ExtractionPool
from ner_pipeline.inference.pool.batching import BATCH_CHARS

__all__ = ["KNOBS", "Best", "Knob", "Sample", "climb", "compare", "tokens_per_s", "tune"]

SAMPLE_CHARS = 400_000
"""A few seconds of stock spaCy."""
TUNING_CHARS = 3_000_000
"""Many batches for every worker, also of the largest size that may be best."""
AT_LEAST_S = 2.0
"""A way that is through the texts sooner goes over them again: what takes a moment is measured badly."""
RISE = 1.02
"""A throughput has risen when it is so many times the best one before."""
PATIENCE = 2
"""So many doublings in a row without a rise end the climb: one may be the noise of the machine."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A size that may be set for a machine and a model."""

    setting: str
    """The environment variable."""
    argument: str
    """The argument of `ExtractionPool` that it becomes."""
    start: int
    """Where to begin to double."""


KNOBS = (
    Knob("NER_BLOCK_TOKENS", "block_tokens", 150),
    Knob("NER_BATCH_CHARS", "batch_chars", BATCH_CHARS // 4),
)


@dataclass(frozen=True, slots=True)
class Best:
    """Where a climb ended: the best value, and its throughput."""

    value: int
    rate: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The texts to measure with, and how many tokens they are to spaCy."""

    texts: Sequence[str]
    tokens: int

    @classmethod
    def of(cls, model: str, chars: int) -> Sample:
        """Make texts in the language of a model."""
        pipeline = read_pipeline(find_pipeline(model))
        sentences = example_sentences(str(pipeline.meta.get("lang", "xx")))
        texts = list(made_texts(sentences, chars=chars))
        nlp = load_pipeline(pipeline, ())
        return cls(texts, sum(len(nlp.make_doc(text)) for text in texts))


def climb(measure: Callable[[int], float], start: int) -> Best:
    """Double `start` until the throughput that `measure` gives does not rise any more."""
    best, value, waited = Best(start, measure(start)), start, 0
    while waited < PATIENCE:
        value *= 2
        rate = measure(value)
        waited = 0 if rate > best.rate * RISE else waited + 1
        best = best if waited else Best(value, rate)
    return best


def tokens_per_s(extract: Callable[[Sequence[str]], object], sample: Sample) -> float:
    """Measure one way, warm: it has seen the texts before."""
    extract(sample.texts)
    passes, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < AT_LEAST_S:
        extract(sample.texts)
        passes += 1
    return passes * sample.tokens / took


def compare(model: str, device: str, components: str, say: Callable[[str], None]) -> None:
    """Measure what this project makes of a model, beside `nlp.pipe` on the same texts."""
    sample = Sample.of(model, SAMPLE_CHARS)
    say(f"{sample.tokens:,} tokens of made-up text")
    stock = load_extractor(model, device, components, prefer="spacy")
    baseline = tokens_per_s(stock.extract, sample)
    say(f"{baseline:>12,.0f} tokens/s  nlp.pipe, one process")
    for workers in (1, 0):
        with _pool((model, device, components), workers=workers) as pool:
            rate, card = tokens_per_s(_through(pool), sample), pool.card
        processes = "one process" if workers else "all cores"
        what = f"{card.extractor} extractor, {processes}: {rate / baseline:.1f} times as many"
        say(f"{rate:>12,.0f} tokens/s  {what}")
    say(f"{card.model}: {card.why}")


def tune(model: str, device: str, components: str, say: Callable[[str], None]) -> None:
    """Find the best value of each knob in turn, and say how to set them."""
    bench = _Bench((model, device, components), Sample.of(model, TUNING_CHARS), say)
    chosen: dict[str, int] = {}
    for knob in KNOBS:
        chosen[knob.argument] = climb(partial(bench.rate, knob, chosen), knob.start).value
    settings = " ".join(f"{knob.setting}={chosen[knob.argument]}" for knob in KNOBS)
    say(f"The best for this machine and {model}: {settings}")


@dataclass(frozen=True, slots=True)
class _Bench:
    """A model on this machine, whose knobs are turned."""

    model: tuple[str, str, str]
    sample: Sample
    say: Callable[[str], None]

    def rate(self, knob: Knob, chosen: Mapping[str, int], value: int) -> float:
        """Measure with one knob at a value, and those before it as they were chosen."""
        sizes = {**chosen, knob.argument: value}
        with _pool(self.model, **sizes) as pool:
            measured = tokens_per_s(_through(pool), self.sample)
        self.say(f"{measured:>12,.0f} tokens/s  {knob.setting}={value}")
        return measured


def _pool(model: tuple[str, str, str], **sizes: Any) -> ExtractionPool:
    """Make a pool that starts every worker with its first texts, and none while it is measured."""
    return ExtractionPool(*model, chars_per_worker=1, **sizes)


def _through(pool: ExtractionPool) -> Callable[[Sequence[str]], object]:
    return lambda texts: list(pool.extract((str(number), text) for number, text in enumerate(texts)))
