"""What a reader hands over: one document, readable or not, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Document", "Outcome"]


class Outcome(StrEnum):
    """What became of a document.

    `listed = ok + empty + rejected + failed + skipped` holds for every set.
    """

    OK = "ok"
    EMPTY = "empty"
    """Nothing but white space: there is nothing to find, and nobody has to act."""
    REJECTED = "rejected"
    """Bad input. The same bytes will be rejected again."""
    FAILED = "failed"
    """Our fault: a worker died or ran out of time over it."""
    SKIPPED = "skipped"
    """Its object was gone before it was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text of an S3 object, or the account of why there is none.

    Offsets of spans count the code points of `text`, which is the decoded text, unchanged.
    """

    record: int | None = None
    """Number of the record in its object, from 1; None where the whole object is one document."""
    record_id: str | None = None
    """The id that the record itself carries, as it was written."""
    byte_offset: int | None = None
    """Where the record begins, in bytes of the (decompressed) object, where the format tells."""
    text: str | None = None
    """The decoded text; None unless the outcome is `ok` or `empty`."""
    encoding: str | None = None
    had_bom: bool = False
    outcome: Outcome = Outcome.OK
    reason: str = ""
    """A short code such as `undecodable`; empty where the outcome is `ok`."""
    detail: str = ""
    """One sentence for the person who uploaded it: what is wrong, where, what to do."""
