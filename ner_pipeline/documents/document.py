"""What a reader hands over: one document, readable or not, and what became of it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

__all__ = ["Document", "Outcome", "Warned", "action_taken"]


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


class Warned(StrEnum):
    """What is to be known of a document that was read all the same. A document may have several."""

    ENCODING_UNCERTAIN = "encoding_uncertain"
    """Nothing in the bytes settles the encoding; the documented fallback was taken."""
    BYTES_REPLACED = "bytes_replaced"
    """Bytes that are no character in the encoding became U+FFFD; `replaced_bytes` counts them."""
    SURROGATES_REPLACED = "surrogates_replaced"
    """Halves of characters in JSON became U+FFFD, one for one."""
    LANGUAGE_MISMATCH = "language_mismatch"
    """Most letters are of a script that the model does not read."""
    APPROXIMATE = "approximate"
    """The text was cut where its model wanted it whole; an entity near a cut may differ."""


class Document(NamedTuple):
    """One text of an S3 object, or the account of why there is none.

    Offsets of spans count the code points of `text`, which is the decoded text, unchanged.
    """

    member: str | None = None
    """Path inside an archive; None where the object is none."""
    record: int | None = None
    """Number of the record in its object, from 1; None where the whole object is one document. In an archive
    the documents of all its members are counted through."""
    record_id: str | None = None
    """The id that the record itself carries, as it was written."""
    byte_offset: int | None = None
    """Where the record begins, in bytes of the (decompressed) object or member, where the format tells."""
    text: str | None = None
    """The decoded text; None unless the outcome is `ok` or `empty`."""
    encoding: str | None = None
    had_bom: bool = False
    replaced_bytes: int = 0
    """How many bytes became U+FFFD because they are no character in the encoding."""
    outcome: Outcome = Outcome.OK
    reason: str = ""
    """A short code such as `not_text`; empty where the outcome is `ok`."""
    warnings: tuple[Warned, ...] = ()
    """Sorted, each once."""
    detail: str = ""
    """One sentence for the person who uploaded it: what is wrong, where, what to do."""


def action_taken(outcome: Outcome, *, record: int | None) -> str:
    """Say what was done about a document that came to this outcome."""
    match outcome:
        case Outcome.OK:
            return "read"
        case Outcome.EMPTY:
            return "kept; there is nothing in it to find"
        case Outcome.REJECTED if record is not None:
            return "this record was left out"
        case Outcome.FAILED:
            return "left out after a second try; run its set again to try anew"
        case _:
            return "left out"
