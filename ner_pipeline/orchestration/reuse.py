"""Results that need no computing: what this model has already published of this set.

When one file is added to a folder of ten thousand, one file is computed. The published rows stand in
for the extractor's answer: validation lets a valid span pass unchanged, and spans that were quarantined
are put back among them, so that they are quarantined again and not forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from ner_pipeline.documents.document import Outcome, Warned
from ner_pipeline.errors import ObjectChanged, ObjectGone
from ner_pipeline.inference.pool.ledger import TextResult
from ner_pipeline.inference.spans import Span
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.storage.manifests import read_manifest
from ner_pipeline.storage.tables import iter_rows

__all__ = ["PublishedResults", "published_results"]


@dataclass(frozen=True, slots=True)
class PublishedResults:
    """What is published of a set, by text. The tables stay on the disk: they may be large."""

    doc_of_text: dict[str, str]
    """Of each text's SHA-256 the first document that has this text."""
    outcomes: Path
    entities: Path
    quarantine: Path

    def results(self, texts: Collection[str]) -> Iterator[tuple[int, TextResult]]:
        """Give the results of some texts as the extractor gave them, each with the length of its text.

        The three tables are in the same order, so one pass over each is enough.
        """
        entities = _Groups(self.entities, ["doc_id", "start", "end", "label", "kb_id"])
        quarantine = _Groups(self.quarantine, ["doc_id", "start", "end", "label"])
        for row in iter_rows(self.outcomes, ["doc_id", "warnings", "text_sha256", "n_chars"]):
            spans = [_span(found) for group in (entities, quarantine) for found in group.of(row["doc_id"])]
            sha256 = row["text_sha256"]
            if sha256 in texts and self.doc_of_text[sha256] == row["doc_id"]:
                approximate = Warned.APPROXIMATE in row["warnings"]
                yield row["n_chars"], TextResult(sha256, spans, approximate=approximate)


class _Groups:
    """The rows of a table by document, for documents that are asked for in the table's own order."""

    def __init__(self, path: Path, columns: list[str]) -> None:
        self._groups = groupby(iter_rows(path, columns), key=itemgetter("doc_id"))
        self._next = next(self._groups, None)

    def of(self, doc_id: str) -> list[dict[str, Any]]:
        """Give the rows of one document; none where the next rows are another one's."""
        if self._next is None or self._next[0] != doc_id:
            return []
        rows = list(self._next[1])
        self._next = next(self._groups, None)
        return rows


def _span(row: dict[str, Any]) -> Span:
    return Span(row["start"], row["end"], row["label"], row.get("kb_id") or "")


def published_results(storage: Storage, key: str, model_version: str) -> PublishedResults | None:
    """Read what is published of the set, if this very model has made it.

    Every table is read in the version that the manifest names. One that has changed since is being
    published anew by somebody else; then nothing is reused, and the publication at the end of this run
    decides who wins.
    """
    manifest = read_manifest(storage.client, storage.layout.of_set(key))
    if manifest is None or manifest.model.version != model_version:
        return None
    try:
        outcomes, entities, quarantine = (
            storage.local_copy(manifest.tables[name]) for name in ("outcomes", "entities", "quarantine")
        )
    except (ObjectGone, ObjectChanged):
        return None
    doc_of_text: dict[str, str] = {}
    for row in iter_rows(outcomes, ["doc_id", "outcome", "text_sha256"]):
        if row["outcome"] == Outcome.OK:
            doc_of_text.setdefault(row["text_sha256"], row["doc_id"])
    return PublishedResults(doc_of_text, outcomes, entities, quarantine)
