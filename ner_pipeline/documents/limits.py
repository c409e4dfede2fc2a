"""How much of an object is read, and which fields of a record: plain values, no environment variables."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT_FIELDS", "DEFAULT_LIMITS", "Fields", "ReadLimits"]

_MIB = 1024**2
_GIB = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """The sizes beyond which input is rejected instead of read. Each bounds memory, disk or time."""

    max_object_bytes: int = 5 * _GIB
    """Of the object as it is stored; of a Parquet file unpacked too: it takes that much temporary disk."""
    max_unpacked_bytes: int = 100 * _GIB
    """Of a gzip object once it is unpacked: one gzip byte can stand for a thousand."""
    max_document_chars: int = 50_000_000
    max_record_bytes: int = 64 * _MIB
    """Of one JSONL line or one CSV row: the most that is held in memory to read a record."""
    max_records: int = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The names under which a record carries its text and its id: JSON keys or table columns."""

    text: str = "text"
    id: str = "id"


DEFAULT_LIMITS = ReadLimits()
DEFAULT_FIELDS = Fields()
