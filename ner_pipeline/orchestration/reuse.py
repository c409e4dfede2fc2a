"""Results that need no computing: what this model has already published of this set.

When one file is added to a folder of ten thousand, one file is computed. The published rows stand in
for the extractor's answer: validation lets a valid span pass unchanged, and spans that were quarantined
are put back among them, so that they are quarantined again and not forgotten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ner_pipeline.documents.document import Outcome
from ner_pipeline.errors import ObjectChanged, ObjectGone
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.storage.manifests import Manifest, read_manifest
from ner_pipeline.storage.tables import TEXT_RESULTS, TableWriter, iter_rows

__all__ = ["APPROXIMATE", "PublishedResults", "published_results"]

APPROXIMATE = "approximate"
"""The reason code of an `ok` document whose spans may differ from those of one pass over the whole text."""


@dataclass(frozen=True, slots=True)
class PublishedResults:
    """What is published of a set, by text."""

    by_text: dict[str, dict[str, Any]]
    """Of each text's SHA-256 the outcome row of one document that has this text."""
    entities: Path
    quarantine: Path

    def write(self, path: Path, texts: Collection[str]) -> None:
        """Write the results of some texts in the form of a shard."""
        owners = {self.by_text[sha256]["doc_id"]: sha256 for sha256 in texts}
        spans: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for source, columns in ((self.entities, ["kb_id"]), (self.quarantine, [])):
            for row in iter_rows(source, ["doc_id", "start", "end", "label", *columns]):
                if (sha256 := owners.get(row["doc_id"])) is not None:
                    spans[sha256].append(
                        {
                            "start": row["start"],
                            "end": row["end"],
                            "label": row["label"],
                            "kb_id": row.get("kb_id") or "",
                        }
                    )
        with TableWriter(path, TEXT_RESULTS) as table:
            for sha256 in sorted(texts):
                table.write(self._row(sha256, spans[sha256]))

    def _row(self, sha256: str, spans: list[dict[str, Any]]) -> dict[str, Any]:
        approximate = self.by_text[sha256]["reason"] == APPROXIMATE
        return {
            "text_sha256": sha256,
            "outcome": Outcome.OK,
            "reason": "",
            "detail": "",
            "seconds": 0.0,
            "approximate": approximate,
            "spans": spans,
        }


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
        outcomes = _local(storage, manifest, "outcomes")
        entities = _local(storage, manifest, "entities")
        quarantine = _local(storage, manifest, "quarantine")
    except (ObjectGone, ObjectChanged):
        return None
    rows = iter_rows(outcomes, ["doc_id", "outcome", "reason", "text_sha256"])
    by_text = {row["text_sha256"]: row for row in rows if row["outcome"] == Outcome.OK}
    return PublishedResults(by_text, entities, quarantine)


def _local(storage: Storage, manifest: Manifest, name: str) -> Path:
    table = manifest.tables[name]
    return storage.local_copy(table.uri, etag=table.etag)
