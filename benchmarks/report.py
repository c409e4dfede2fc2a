"""The figures as tables, in a terminal or as Markdown.

    python -m benchmarks.report [--markdown]

shows `.local/bench.json` once more. What a figure means stands in `benchmarks/README.md`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

BENCH = Path(__file__).parents[1] / ".local" / "bench.json"

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Shown:
    """A table of figures."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def rich(self) -> Table:
        table = Table(*self.columns, title=self.title, title_justify="left")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        marks = ["---", *["---:"] * (len(self.columns) - 1)]
        lines = ("| " + " | ".join(row) + " |" for row in (self.columns, marks, *self.rows))
        return "\n".join([f"**{self.title}**", "", *lines])


def tables(bench: Figures) -> Iterator[Shown]:
    """Give the tables of the parts that were measured, and what failed."""
    for part, shown in _SHOWN.items():
        if figures := bench["parts"].get(part):
            yield shown(figures)
    if failed := bench["failed"]:
        yield Shown("Failed", ("part", "reason"), list(failed.items()))


def show(bench: Figures, console: Console) -> None:
    """Print all tables."""
    for table in tables(bench):
        console.print()
        console.print(table.rich())


def markdown(bench: Figures) -> str:
    """Give all tables for a page, with the machine below them."""
    machine = bench["machine"]
    where = (
        f"{machine['cores']} cores, {machine['cpu']}; Python {machine['python']}, spaCy {machine['spacy']}"
    )
    return "\n\n".join([*(table.markdown() for table in tables(bench)), f"{where}; {bench['measured_at']}"])


def _throughput(figures: Figures) -> Shown:
    texts = figures["texts"]
    title = (
        f"Throughput: {figures['tokens']:,} tokens, {texts['documents']:,} documents of {texts['name']}; "
        f"{figures['model']}, only its NER. One core does {100 * figures['sgemm_bound_share']:.0f} % of the "
        f"bare products, which run at {figures['gflops_one_core']:.0f} GFLOP/s"
    )
    columns = ("way", "tokens/s", "times nlp.pipe on all cores", "differing entities", "peak memory, MB")
    return Shown(title, columns, [_way(way) for way in figures["ways"]])


def _way(way: Figures) -> tuple[str, ...]:
    differing = way["differing_entities"]
    return (
        way["name"],
        f"{way['tokens_per_s']:,}",
        f"{way['ratio_to_nlp_pipe_all_cores']:.2f}",
        "" if differing is None else f"{differing:,}",
        _largest(way["peak_rss_mb"]),
    )


def _linear(figures: Figures) -> Shown:
    rows = [
        ("twice as many documents", f"{figures['twice_as_many_documents']:.2f}"),
        ("one document twice as long", f"{figures['twice_as_long']:.2f}"),
    ]
    return Shown("Growth of cost", ("what grows", "times the cost"), rows)


def _memory(figures: Figures) -> Shown:
    batches, flood = figures["batches"], figures["flood"]
    rows = [
        _held(f"a worker, {batches['count']} batches", batches["rss_mb"]),
        _held(f"a process, {flood['distinct_words']:,} distinct words", flood["rss_mb"]),
    ]
    return Shown("Resident memory, MB", ("of", "half-way", "at the end", "at the most"), rows)


def _held(name: str, held: Sequence[float]) -> tuple[str, ...]:
    return name, *(f"{mb:,.0f}" for mb in (held[len(held) // 2], held[-1], max(held)))


def _loading(figures: Figures) -> Shown:
    columns = ("start", "process, s", "of it import and load, s", "first text, s")
    rows = [
        (name, *(f"{second:.2f}" for second in start.values())) for name, start in figures["starts"].items()
    ]
    return Shown("From a new process to its first entities", columns, rows)


def _ticks(figures: Figures) -> Shown:
    rows = [
        (f"{inbox['keys']:,}", f"{inbox['listing_s']:.2f}", f"{inbox['deciding_s']:.2f}")
        for inbox in figures["inboxes"]
    ]
    return Shown("A tick of the sensor", ("objects in the inbox", "listing, s", "deciding, s"), rows)


def _upload_to_result(figures: Figures) -> Shown:
    title = f"From upload to entities: one text of {figures['chars']:,} characters"
    rows = [
        (part, f"{seconds:.2f}", str(figures["budget_s"].get(part, "")))
        for part, seconds in figures["parts_s"].items()
    ]
    return Shown(title, ("part", "s", "budget, s"), rows)


def _small_sets(figures: Figures) -> Shown:
    rows = [
        ("sets per hour", f"{figures['sets_per_hour']:,}"),
        ("CPU seconds for each", f"{figures['cpu_seconds_per_set']:.1f}"),
        ("share of a core while nothing happens", f"{figures['idle_cpu_share_of_a_core']:.2f}"),
    ]
    return Shown(f"{figures['sets']} sets of one document", ("what", "figure"), rows)


def _s3_to_s3(figures: Figures) -> Shown:
    title = (
        f"S3 to S3: {figures['records']:,} records of {figures['tokens_per_record']:.0f} tokens, "
        f"{figures['extractor']} extractor"
    )
    rows = [
        ("documents/s", f"{figures['documents_per_s']:,.0f}"),
        ("tokens/s", f"{figures['tokens_per_s']:,}"),
        ("time outside inference, %", f"{100 * figures['share_outside_inference']:.0f}"),
        *((f"{part}, s", f"{seconds:.1f}") for part, seconds in figures["parts_s"].items()),
        ("peak memory of the largest process, MB", _largest(figures["peak_rss_mb"])),
    ]
    return Shown(title, ("what", "figure"), rows)


def _largest(peaks: Mapping[str, float]) -> str:
    return f"{max(peaks.values()):,.0f}" if peaks else ""


_SHOWN: dict[str, Callable[[Figures], Shown]] = {
    "throughput": _throughput,
    "linear": _linear,
    "memory": _memory,
    "loading": _loading,
    "ticks": _ticks,
    "upload_to_result": _upload_to_result,
    "small_sets": _small_sets,
    "s3_to_s3": _s3_to_s3,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Show the figures of the last benchmark.")
    parser.add_argument("--markdown", action="store_true", help="for a page, and not for a terminal")
    as_markdown = parser.parse_args().markdown
    bench = json.loads(BENCH.read_text())
    if as_markdown:
        print(markdown(bench))
    else:
        show(bench, Console())


if __name__ == "__main__":
    main()
