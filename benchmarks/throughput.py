"""Tokens in a second, each way beside the others on the same texts, and what they find.

The ways take turns, round by round, each round in another order. A ratio is taken within a round, and the
median of the rounds counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from statistics import median
from typing import Any

from benchmarks.flops import flops_per_token, products
from benchmarks.process_tree import Peaks, watch_memory
from benchmarks.sizes import Size
from benchmarks.texts import MODEL, count_tokens, load_texts
from benchmarks.way_process import WayProcess
from benchmarks.ways import ALL, BOUND, COMPILED, COMPILED_ONE, CORES, ONE, WAYS, Entity, load_pruned
from ner_pipeline.inference.extractor import load_extractor

Rates = Mapping[str, Sequence[float]]
"""Tokens per second of each way, one figure a round."""


def measure(size: Size) -> dict[str, Any]:
    texts = load_texts().share(size.text_share)
    tokens = count_tokens(texts.texts)
    with ExitStack() as stack:
        processes = [WayProcess(way, size.text_share) for way in WAYS]
        for process in processes:
            stack.callback(process.close)
        peaks = {way.name: Peaks() for way in WAYS}
        rates = _rounds(processes, peaks, tokens, size.rounds)
        found = {process.way.name: process.entities() for process in processes if process.way.finds}
    card = load_extractor(MODEL, "cpu").card
    layers = products(load_pruned())
    return {
        "texts": {"name": texts.name, "documents": len(texts.texts), "chars": texts.chars},
        "distinct_words": texts.distinct_words,
        "tokens": tokens,
        "rounds": size.rounds,
        "cores": CORES,
        "model": card.model,
        "extractor": card.extractor,
        "why": card.why,
        "entities": sum(map(len, found[ONE])),
        "flops_per_token": flops_per_token(layers),
        "gflops_one_core": median(rates[BOUND]) * flops_per_token(layers) / 1e9,
        **summary(rates, found, peaks),
    }


def summary(
    rates: Rates, found: Mapping[str, list[list[Entity]]], peaks: Mapping[str, Peaks]
) -> dict[str, Any]:
    """Put rounds, entities and memory into figures."""
    ways = [
        {
            "name": name,
            "tokens_per_s": round(median(measured)),
            "rounds": [round(rate) for rate in measured],
            "ratio_to_nlp_pipe_all_cores": ratio(rates, name, ALL),
            "differing_entities": differing(found[ONE], found[name]) if name in found else None,
            "peak_rss_mb": peaks[name].mb,
        }
        for name, measured in rates.items()
    ]
    return {
        "ways": ways,
        "ratio_to_nlp_pipe_all_cores": ratio(rates, COMPILED, ALL),
        "differing_entities": differing(found[ONE], found[COMPILED]),
        "sgemm_bound_share": ratio(rates, COMPILED_ONE, BOUND),
        "peak_rss_mb": peaks[COMPILED].total_mb,
    }


def ratio(rates: Rates, name: str, baseline: str) -> float:
    """Compare two ways within each round, and give the median."""
    return round(median(one / other for one, other in zip(rates[name], rates[baseline], strict=True)), 3)


def differing(expected: Sequence[Sequence[Entity]], found: Sequence[Sequence[Entity]]) -> int:
    """Count the entities that only one of the two has, in any text."""
    return sum(len(set(one) ^ set(other)) for one, other in zip(expected, found, strict=True))


def _rounds(
    processes: Sequence[WayProcess], peaks: Mapping[str, Peaks], tokens: int, rounds: int
) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {process.way.name: [] for process in processes}
    for number in range(rounds):
        for process in [*processes[number:], *processes[:number]]:
            name = process.way.name
            with watch_memory(process.pid, peaks[name]):
                process.prepare()
                lap = process.lap()
            rates[name].append(tokens * lap.passes / lap.seconds)
            print(f"  round {number + 1}: {rates[name][-1]:>10,.0f} tokens/s  {name}", flush=True)
    return rates
