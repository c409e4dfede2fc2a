"""What the demo shows: a table, how many gold entities were found, a few entities, and the same as JSON."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ner_pipeline.local.demo_gold import GoldCount, in_words
from ner_pipeline.storage.objects import download

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ner_pipeline.storage.locations import S3Location

__all__ = ["Excerpt", "SetResult", "as_json", "excerpts", "pick", "show", "write_json"]

EXCERPTS_PER_SET = 2
CONTEXT_CHARS = 28
LABELS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One entity with the characters around it."""

    label: str
    entity: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class SetResult:
    """What became of one document set."""

    name: str
    partition_key: str
    documents: Mapping[str, int]
    entities: int
    labels: Mapping[str, int]
    entities_uri: str
    seconds: float
    """From the end of the upload to publication."""
    model: str
    device: str
    extractor: str
    why: str
    """Why this device and this extractor, in words."""
    excerpts: Sequence[Excerpt] = field(default=())


def excerpts(client: Any, entities: S3Location, documents: S3Location) -> list[Excerpt]:
    """Cut a few entities with their context from the published tables."""
    with tempfile.TemporaryDirectory() as folder:
        entities_file, documents_file = Path(folder) / "entities", Path(folder) / "documents"
        download(client, entities, entities_file)
        download(client, documents, documents_file)
        rows = pq.read_table(entities_file, columns=["doc_id", "label", "entity", "start", "end"])
        chosen = pick(rows.to_pylist())
        texts = pq.read_table(documents_file, columns=["doc_id", "text"])
        wanted = texts.filter(pc.field("doc_id").isin([row["doc_id"] for row in chosen]))
        by_id = {row["doc_id"]: row["text"] for row in wanted.to_pylist()}
    return [_cut(row, by_id[row["doc_id"]]) for row in chosen]


def pick(rows: Iterable[Mapping[str, Any]], count: int = EXCERPTS_PER_SET) -> list[Mapping[str, Any]]:
    """Choose rows of as many different labels as there are, longer names first: they tell more."""
    chosen: dict[str, Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (-len(row["entity"]), row["doc_id"], row["start"])):
        if len(row["entity"]) <= CONTEXT_CHARS and row["label"] not in chosen:
            chosen[row["label"]] = row
    names_first = sorted(chosen.values(), key=lambda row: row["entity"][:1].isdigit())
    return names_first[:count]


def _cut(row: Mapping[str, Any], text: str) -> Excerpt:
    start, end = row["start"], row["end"]
    before, after = text[max(0, start - CONTEXT_CHARS) : start], text[end : end + CONTEXT_CHARS]
    return Excerpt(row["label"], row["entity"], _one_line(before), _one_line(after))


def _one_line(text: str) -> str:
    """Keep line breaks and control characters of a document away from the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def as_json(results: Sequence[SetResult], gold: GoldCount, *, s3_endpoint: str) -> dict[str, Any]:
    """Return what `.local/demo.json` holds."""
    telling = _most_telling(results)
    return {
        "sets": [asdict(result) for result in results],
        "gold": {language: counted.total._asdict() for language, counted in gold.by_language.items()},
        "gold_labels_unknown": list(gold.unknown_labels),
        "gold_unpublished": list(gold.unpublished),
        "s3_endpoint": s3_endpoint,
        "model": telling.model,
        "device": telling.device,
        "extractor": telling.extractor,
        "why": telling.why,
    }


def _most_telling(results: Sequence[SetResult]) -> SetResult:
    """Return the set with most entities: one without a text to compute names no model."""
    return max(results, key=lambda result: result.entities)


def write_json(path: Path, results: Sequence[SetResult], gold: GoldCount, *, s3_endpoint: str) -> None:
    """Write the report for programs."""
    content = json.dumps(as_json(results, gold, s3_endpoint=s3_endpoint), indent=1, ensure_ascii=False)
    path.write_text(content + "\n", encoding="utf-8")


def show(
    results: Sequence[SetResult],
    gold: GoldCount,
    *,
    report: Path,
    s3_dir: Path,
    console: Console | None = None,
) -> None:
    """Print the report for people."""
    console = console or Console(highlight=False)
    console.print()
    console.print(_table(results))
    console.print()
    if line := in_words(gold):
        console.print(Text(line), soft_wrap=True)
        console.print()
    for result in results:
        for excerpt in result.excerpts:
            console.print(_excerpt_line(excerpt), no_wrap=True, overflow="ellipsis")
    telling = _most_telling(results)
    console.print()
    console.print(f"{telling.model} on {telling.device}, {telling.extractor} extractor", soft_wrap=True)
    for result in results:
        console.print(Text(result.entities_uri), soft_wrap=True)
    console.print(Text(f"This S3 keeps its data in {s3_dir}; this report as JSON: {report}"), soft_wrap=True)


def _table(results: Sequence[SetResult]) -> Table:
    table = Table("document set", "documents", "entities", "by label", "seconds")
    for column in (table.columns[2], table.columns[4]):
        column.justify = "right"
    for result in results:
        table.add_row(
            Text(result.name, overflow="fold"),
            "\n".join(f"{n:,} {outcome}" for outcome, n in result.documents.items() if n),
            f"{result.entities:,}",
            _by_label(result.labels),
            f"{result.seconds:.1f}",
        )
    return table


def _by_label(labels: Mapping[str, int]) -> str:
    ordered = sorted(labels.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{n:,} {label}" for label, n in ordered[:LABELS_SHOWN]]
    others = sum(n for _, n in ordered[LABELS_SHOWN:])
    return ", ".join([*shown, f"{others:,} others"] if others else shown)


def _excerpt_line(excerpt: Excerpt) -> Text:
    line = Text(f"{excerpt.label:<12} ")
    line.append(excerpt.before.rjust(CONTEXT_CHARS))
    line.append(f"[{_one_line(excerpt.entity)}]", style="bold")
    line.append(excerpt.after)
    return line
