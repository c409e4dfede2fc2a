"""How many of the entities that are marked in the examples the demo found, language by language.

They are marked in `gold.jsonl`, beside the document sets and therefore in none of them: it is never uploaded.
Some documents have a line there, most have none. The counting itself is for `evaluation.scores`.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ner_pipeline.errors import GoldError
from ner_pipeline.evaluation.scores import Scores
from ner_pipeline.inference.spans import Span
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import download
from ner_pipeline.storage.tables import iter_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ner_pipeline.storage.manifests import Manifest, PublishedTable

__all__ = [
    "GOLD_FILE",
    "GoldCount",
    "GoldDocument",
    "count",
    "in_words",
    "published_spans",
    "read_gold_documents",
]

GOLD_FILE = "gold.jsonl"

_Text = Annotated[str, Field(min_length=1)]


class GoldDocument(BaseModel):
    """A line of the file: a document, and all entities in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    document: _Text
    """Its `doc_id` in the published tables."""
    language: _Text
    entities: tuple[tuple[Annotated[int, Field(ge=0)], int, _Text, str], ...]
    """Start, end, label, and the characters that stand there, for people who read the file."""

    @model_validator(mode="after")
    def _start_before_end(self) -> Self:
        for start, end, _, there in self.entities:
            if start >= end:
                raise ValueError(f"the entity {there!r} from {start} to {end} must end behind its start")
        return self

    @property
    def spans(self) -> list[Span]:
        """The entities as an extractor would give them."""
        return [Span(start, end, label) for start, end, label, _ in self.entities]


@dataclass(frozen=True, slots=True)
class GoldCount:
    """How many gold entities were found, and what could not be counted."""

    by_language: Mapping[str, Scores] = field(default_factory=dict)
    """In alphabetical order; of the labels that both the gold and the model have."""
    unknown_labels: Sequence[str] = ()
    """Labels of the gold that the model does not have."""
    unpublished: Sequence[str] = ()
    """Documents with gold entities that no set has published."""


def read_gold_documents(examples: Path) -> list[GoldDocument]:
    """Read what is marked in a folder of document sets: nothing, where it has no such file.

    Raises:
        GoldError: the file or a line of it cannot be read, or two lines are of one document.
    """
    path = examples / GOLD_FILE
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise GoldError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise GoldError(f"{path}: not UTF-8 (byte {error.start}); save it in that encoding") from error
    documents = [
        _parse(line, f"{path}:{number}") for number, line in enumerate(lines, start=1) if line.strip()
    ]
    _refuse_twice(path, documents)
    return documents


def _parse(line: str, place: str) -> GoldDocument:
    try:
        return GoldDocument.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "line"
        raise GoldError(f"{place}: {where}: {first['msg']}") from error


def _refuse_twice(path: Path, documents: Iterable[GoldDocument]) -> None:
    lines = Counter(document.document for document in documents)
    if twice := [name for name, number in lines.items() if number > 1]:
        raise GoldError(f"{path}: more than one line of {', '.join(twice)}; put all entities into one")


def published_spans(
    client: Any, manifests: Iterable[Manifest], documents: Collection[str]
) -> dict[str, list[Span]]:
    """Read the entities of some documents from the published tables; no set has those that are missing."""
    found: dict[str, list[Span]] = {}
    for manifest in manifests:
        for row in _rows(client, manifest.tables["outcomes"], ["doc_id"]):
            if row["doc_id"] in documents:
                found[row["doc_id"]] = []
        for row in _rows(client, manifest.tables["entities"], ["doc_id", "start", "end", "label"]):
            if row["doc_id"] in found:
                found[row["doc_id"]].append(Span(row["start"], row["end"], row["label"]))
    return found


def _rows(client: Any, table: PublishedTable, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        download(client, S3Location.parse(table.uri), path)
        yield from iter_rows(path, columns)


def count(
    gold: Sequence[GoldDocument], found: Mapping[str, Sequence[Span]], labels: Collection[str]
) -> GoldCount:
    """Count what was found in published documents; `labels` are those of the model.

    Entities with labels that only one side has say nothing of how well the model finds the others.
    """
    marked = {span.label for document in gold for span in document.spans}
    common = marked.intersection(labels)
    scores: dict[str, Scores] = defaultdict(Scores)
    for document in gold if common else ():
        if document.document in found:
            spans = (document.spans, found[document.document])
            scores[document.language].add(*([s for s in side if s.label in common] for side in spans))
    return GoldCount(
        dict(sorted(scores.items())),
        sorted(marked - common),
        [document.document for document in gold if document.document not in found],
    )


def in_words(gold: GoldCount) -> str:
    """Say how many were found, and how many more the gold does not have: neither tells much alone."""
    return ". ".join(_parts(gold))


def _parts(gold: GoldCount) -> Iterator[str]:
    tallies = {language: counted.total for language, counted in gold.by_language.items()}
    if tallies:
        parts = [f"{language} {tally.correct} of {tally.gold}" for language, tally in tallies.items()]
        more = sum(tally.found - tally.correct for tally in tallies.values())
        yield f"Gold entities found: {', '.join(parts)}, and {more} more that are not in the gold"
    if gold.unknown_labels:
        yield f"Gold labels that the model does not have: {', '.join(gold.unknown_labels)}"
    if gold.unpublished:
        yield f"Gold documents that no set has published: {', '.join(gold.unpublished)}"
