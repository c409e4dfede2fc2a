"""Manifests: what of a set is current; and publication, which writes the manifest last.

Readers use plain globs and never see a manifest, so each table is replaced by one atomic put. Order:
outcomes, quarantine, entities, manifest. Each put carries the ETag that its object had when the run
began: of two runs one wins, and the other one stops.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ner_pipeline.errors import ObjectGone, StorageError, Superseded
from ner_pipeline.storage.document_sets import MemberRecord, SetKind
from ner_pipeline.storage.layout import SetLayout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import (
    ABSENT,
    PutCondition,
    StoredObject,
    get_bytes,
    head,
    put_bytes,
    put_file,
)
from ner_pipeline.storage.outcome_summary import OutcomeSummary

__all__ = [
    "UNCONDITIONAL",
    "Baseline",
    "Manifest",
    "ModelRecord",
    "PublishedTable",
    "publish_table",
    "put_manifest",
    "read_baseline",
    "read_manifest",
]

_CHECKSUM = "sha256"


class PublishedTable(StoredObject, frozen=True):
    """One table as it was published."""

    sha256: str
    rows: int


class ModelRecord(BaseModel, frozen=True):
    """Which model computed, and with what."""

    name: str
    version: str
    """The model version: a hash of all that can change a span."""
    labels: tuple[str, ...]
    scripts: tuple[str, ...] = ()
    """The scripts that it reads, as ISO 15924 codes; empty where it does not say."""
    device: str
    extractor: str
    why: str
    """Why this device and this extractor, in words."""

    def __str__(self) -> str:
        """Name it as the tables do: for people, and no two versions alike."""
        return f"{self.name} ({self.version})"

    @property
    def computed_by(self) -> str:
        """Name the extractor, and say why it was this one."""
        return f"{self.extractor}: {self.why}"


class Manifest(BaseModel, frozen=True):
    """What of a document set is current."""

    partition_key: str
    name: str
    kind: SetKind
    members: tuple[MemberRecord, ...]
    set_version: str
    model: ModelRecord
    documents: Mapping[str, int]
    """Documents by outcome; all five outcomes are there."""
    outcomes: OutcomeSummary = OutcomeSummary()
    """Why they came to that."""
    entities: int
    entities_by_label: Mapping[str, int]
    tables: Mapping[str, PublishedTable]
    documents_table: StoredObject
    """The texts of this set version."""
    former_set_version: str | None
    """The set version whose result this one has replaced; its texts stay until the next publication."""
    characters: int
    inference_seconds: float
    run_id: str
    published_at: datetime


class Baseline(BaseModel, frozen=True):
    """The ETags that the published objects of a set have: the condition of each put.

    `ABSENT` for one that is not there; None where the server honours no conditions.
    """

    outcomes: PutCondition = ABSENT
    quarantine: PutCondition = ABSENT
    entities: PutCondition = ABSENT
    manifest: PutCondition = ABSENT


UNCONDITIONAL = Baseline(outcomes=None, quarantine=None, entities=None, manifest=None)
"""For servers that honour no conditions: the last of two runs wins."""


def read_baseline(client: Any, layout: SetLayout) -> Baseline:
    """Note what is published before a run begins to compute."""
    places = {name: getattr(layout, name) for name in Baseline.model_fields}
    found = {name: head(client, place) for name, place in places.items()}
    return Baseline(**{name: headers["ETag"] for name, headers in found.items() if headers is not None})


def read_manifest(client: Any, layout: SetLayout) -> Manifest | None:
    """Read what is current; None where nothing was ever published.

    Raises:
        StorageError: the manifest names another set than the one of this key.
    """
    try:
        manifest = Manifest.model_validate_json(get_bytes(client, layout.manifest))
    except ObjectGone:
        return None
    if manifest.partition_key != layout.key:
        raise StorageError(
            f"{layout.manifest} belongs to the set {manifest.name!r}, not to the key {layout.key!r}"
        )
    return manifest


def publish_table(
    client: Any, place: S3Location, path: Path, *, rows: int, condition: PutCondition
) -> PublishedTable:
    """Replace a published table by a local file.

    A step that died after its put tries again with the old ETag and is refused; then the object's
    checksum tells that what stands there is its own work, and nothing was lost.

    Raises:
        Superseded: somebody else has published other rows meanwhile.
    """
    with path.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    try:
        etag = put_file(client, place, path, condition=condition, metadata={_CHECKSUM: checksum})
    except Superseded:
        standing = head(client, place)
        if standing is None or standing.get("Metadata", {}).get(_CHECKSUM) != checksum:
            raise
        etag = standing["ETag"]
    return PublishedTable(uri=str(place), etag=etag, sha256=checksum, rows=rows)


def put_manifest(client: Any, layout: SetLayout, manifest: Manifest, *, condition: PutCondition) -> None:
    """Write the manifest: from here on the publication is done.

    Raises:
        Superseded: somebody else has published meanwhile.
    """
    try:
        put_bytes(client, layout.manifest, manifest.model_dump_json(indent=1).encode(), condition=condition)
    except Superseded:
        standing = read_manifest(client, layout)
        # A step that died after its put, or a re-execution of its run, finds its own work.
        if standing is None or (standing.tables, standing.model) != (manifest.tables, manifest.model):
            raise
