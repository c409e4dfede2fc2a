"""How much of an object is read, and which fields of a record: plain values, no environment variables."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["DEFAULT_OPTIONS", "Fields", "ReadLimits", "ReadOptions"]

_MIB = 1024**2
_GIB = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """The sizes beyond which input is rejected instead of read. Each bounds memory, disk or time."""

    max_object_bytes: int = 5 * _GIB
    """Of the object as it is stored; of a Parquet file unpacked too: it takes that much temporary disk."""
    max_unpacked_bytes: int = 100 * _GIB
    """Of all that comes out of one packed object, over all its members and levels."""
    max_expansion: int = 1_000
    """So many bytes may come out of one stored byte; beyond, once it is some megabytes, it is a bomb."""
    max_nesting: int = 3
    """How many packings may lie in one another: a .gz in a .zip in a .zip are three."""
    max_document_chars: int = 50_000_000
    max_record_bytes: int = 64 * _MIB
    """Of one JSONL line or one CSV row: the most that is held in memory to read a record."""
    max_records: int = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The names under which a record carries its text and its id: JSON keys or table columns."""

    text: str = "text"
    id: str = "id"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """All that a reader is told besides the bytes."""

    limits: ReadLimits = field(default_factory=ReadLimits)
    fields: Fields = field(default_factory=Fields)
    charsets: tuple[str, ...] = ()
    """The character sets that were declared, as they were written; the first one that fits is followed."""


DEFAULT_OPTIONS = ReadOptions()
