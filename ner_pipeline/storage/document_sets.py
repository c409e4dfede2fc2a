"""Document sets: which objects belong together, which version of them, and under which key.

Pure but for `list_set` and the two functions that keep a description. Which sets a tick asks for is
decided in `storage.inbox`.

A *folder set* is everything under `INBOX/NAME/` and may change. A *loose batch* is the files lying
directly in the inbox that one tick found new, fixed for ever.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

from ner_pipeline.errors import ObjectGone, StorageError
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import ListedObject, get_bytes, list_objects, put_bytes

__all__ = [
    "SUCCESS_MARKER",
    "DocumentSet",
    "Inbox",
    "SetDescription",
    "SetKind",
    "batch_of",
    "describe_set",
    "group_inbox",
    "list_set",
    "partition_key",
    "read_description",
    "set_version",
]

SUCCESS_MARKER = "_SUCCESS"
"""An object of this name directly in a folder says that the folder is complete."""

_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_-]{0,58}")
_LIKE_A_VALUE = {"epoch", "false", "inf", "infinity", "nan", "none", "now", "null", "today", "true"}
"""Plain words that readers of Hive paths, too, may take for a date, a number or nothing."""
_LIKE_A_HASH = re.compile(r".*-[0-9a-f]{16}")


class SetKind(StrEnum):
    """The two kinds of document sets."""

    FOLDER = "folder"
    BATCH = "batch"


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """A set as one listing showed it."""

    name: str
    """The raw name: a folder's ends in `/`, a batch's does not."""
    kind: SetKind
    members: tuple[ListedObject, ...]
    """Sorted by key. Folder markers and `_SUCCESS` are no members."""
    marked_at: datetime | None = None
    """When its `_SUCCESS` was written; None where there is none."""

    @property
    def version(self) -> str:
        """The set version."""
        return set_version(self.members)

    @property
    def key(self) -> str:
        """The partition key."""
        return partition_key(self.name)

    @property
    def total_bytes(self) -> int:
        """Sum of the members' sizes, as stored."""
        return sum(member.size for member in self.members)

    @property
    def marked(self) -> float:
        """When its `_SUCCESS` was written, in seconds since the epoch; 0 where there is none."""
        return 0.0 if self.marked_at is None else self.marked_at.timestamp()

    @property
    def is_gone(self) -> bool:
        """Whether nothing is left of a folder. With nothing but `_SUCCESS` it is an empty set, on purpose."""
        return self.kind is SetKind.FOLDER and not self.members and self.marked_at is None

    @property
    def is_marked_complete(self) -> bool:
        """Whether `_SUCCESS` speaks of these members: a marker older than a member speaks of former ones."""
        return self.marked_at is not None and all(
            self.marked_at >= member.last_modified for member in self.members
        )


@dataclass(frozen=True, slots=True)
class Inbox:
    """A listing of the inbox, sorted into sets."""

    folders: Mapping[str, DocumentSet]
    """Folder sets by raw name."""
    loose: tuple[ListedObject, ...]
    """The files lying directly in the inbox."""


class MemberRecord(BaseModel, frozen=True):
    """A member as descriptions and manifests keep it."""

    key: str
    etag: str
    size: int
    last_modified: datetime

    @classmethod
    def of(cls, member: ListedObject) -> MemberRecord:
        """Keep a listed object."""
        return cls(key=member.key, etag=member.etag, size=member.size, last_modified=member.last_modified)

    def listed(self) -> ListedObject:
        """Give the listed object back."""
        return ListedObject(self.key, self.etag, self.size, self.last_modified)


class SetDescription(BaseModel, frozen=True):
    """Which set stands behind a partition key; kept under `state/sets/`."""

    name: str
    kind: SetKind
    members: tuple[MemberRecord, ...] = ()
    """A batch's members; empty for a folder, whose members the listing tells."""

    @classmethod
    def of(cls, document_set: DocumentSet) -> SetDescription:
        """Describe a set."""
        fixed = document_set.members if document_set.kind is SetKind.BATCH else ()
        return cls(name=document_set.name, kind=document_set.kind, members=tuple(map(MemberRecord.of, fixed)))


def set_version(members: Iterable[ListedObject]) -> str:
    """Hash (key, ETag, size) of all members into 12 hex digits; their order does not matter.

    Lengths go into the hash before the strings, so that no two different lists give the same bytes.
    """
    digest = hashlib.sha256()
    for key, etag, size in sorted((member.key, member.etag, member.size) for member in members):
        for part in (key, etag, str(size)):
            encoded = part.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()[:12]


def partition_key(raw_name: str) -> str:
    """Map a raw set name to its partition key: `[a-z0-9_-]`, at most 60 characters, injective.

    Dagster validates no dynamic key, its UI splits keys at commas, and Hive readers take `2026-01-15`
    for a date and `007` for 7. So only a plain folder name stays as it is; every other name becomes a
    readable slug and a hash of the raw name, and a plain name that ends like such a hash is hashed too.

    >>> partition_key("news/")
    'news'
    >>> partition_key("2026-01-15/")
    'set-2026-01-15-c6c79fd81ffddde7'
    """
    folder = raw_name.removesuffix("/")
    is_plain = _PLAIN_NAME.fullmatch(folder) and not _LIKE_A_HASH.fullmatch(folder)
    if folder != raw_name and is_plain and folder not in _LIKE_A_VALUE:
        return folder
    digest = hashlib.sha256(raw_name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{_slug(folder)}-{digest}"


def _slug(name: str) -> str:
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_name).strip("-")
    if not slug[:1].isalpha():
        slug = f"set-{slug}"
    return slug[:40].strip("-")


def group_inbox(objects: Sequence[ListedObject], inbox: S3Location) -> Inbox:
    """Sort a listing of the inbox into folder sets and loose files."""
    members: dict[str, list[ListedObject]] = defaultdict(list)
    markers: dict[str, datetime] = {}
    loose: list[ListedObject] = []
    for entry in objects:
        folder, slash, rest = entry.key.removeprefix(inbox.key).partition("/")
        if _is_folder_marker(entry) or (not slash and folder == SUCCESS_MARKER):
            continue
        if not slash:
            loose.append(entry)
        elif rest == SUCCESS_MARKER:
            markers[folder + "/"] = entry.last_modified
        elif not rest.endswith(f"/{SUCCESS_MARKER}"):
            # One that lies deeper is a mark of whoever wrote that part, and no document.
            members[folder + "/"].append(entry)
    folders = {
        name: DocumentSet(name, SetKind.FOLDER, tuple(sorted(members.get(name, ()))), markers.get(name))
        for name in sorted({*members, *markers})
    }
    return Inbox(folders, tuple(sorted(loose)))


def _is_folder_marker(entry: ListedObject) -> bool:
    """Consoles make an empty `prefix/` for each new folder. One with content is a document."""
    return entry.key.endswith("/") and entry.size == 0


def batch_of(members: Sequence[ListedObject]) -> DocumentSet:
    """Make a loose batch. Its name follows from its members, so that asking twice is asking once.

    When they were written is part of it, unlike in a set version: a file whose former content comes back
    is the newest upload of its key, and needs a batch of its own to say so.
    """
    written = "".join(f"{member.key}\0{member.last_modified.isoformat()}\0" for member in sorted(members))
    digest = hashlib.sha256(f"{set_version(members)}{written}".encode("utf-8", "surrogatepass")).hexdigest()[
        :12
    ]
    return DocumentSet(f"loose-{digest}", SetKind.BATCH, tuple(sorted(members)))


def list_set(client: Any, inbox: S3Location, description: SetDescription) -> DocumentSet:
    """Give the set as it stands: a folder as the listing shows it now, a batch as it always was."""
    if description.kind is SetKind.BATCH:
        return DocumentSet(
            description.name, SetKind.BATCH, tuple(member.listed() for member in description.members)
        )
    listed = group_inbox(list_objects(client, inbox / description.name), inbox).folders
    return listed.get(description.name, DocumentSet(description.name, SetKind.FOLDER, ()))


def describe_set(client: Any, results: S3Location, description: SetDescription) -> None:
    """Keep which set stands behind a partition key."""
    place = Layout(results).of_set(partition_key(description.name)).description
    put_bytes(client, place, description.model_dump_json().encode())


def read_description(client: Any, results: S3Location, key: str) -> SetDescription | None:
    """Tell which set stands behind a partition key; None where nobody ever asked for such a set.

    Raises:
        StorageError: what is kept under the key describes another set.
    """
    place = Layout(results).of_set(key).description
    try:
        description = SetDescription.model_validate_json(get_bytes(client, place))
    except ObjectGone:
        return None
    if partition_key(description.name) != key:
        raise StorageError(f"{place} describes {description.name!r}, which is not the set of the key {key!r}")
    return description
