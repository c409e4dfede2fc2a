"""The one exception by which a reader says: this input is bad.

It never leaves `documents`: a reader turns it into the rejection of one record, `reading` into the
rejection of what is left of an object. It is therefore no `NerPipelineError`, and nothing else is ever
turned into a rejection: what S3 or a programming error raises goes up untouched.
"""

from __future__ import annotations

__all__ = ["BadInputError", "excerpt", "listed"]

_EXCERPT_CHARS = 60
_LISTED_NAMES = 8


class BadInputError(Exception):
    """Input that cannot be read, with the short code and the sentence that its outcome row will carry."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def excerpt(raw: bytes | str) -> str:
    """Quote the beginning of `raw`, safe to print and to store whatever it holds."""
    text = raw[: 4 * _EXCERPT_CHARS].decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    shown = ascii(text[:_EXCERPT_CHARS]) if _has_surrogate(text) else repr(text[:_EXCERPT_CHARS])
    return f"{shown}…" if len(text) > _EXCERPT_CHARS else shown


def listed(names: list[str]) -> str:
    """Quote the first few of `names`, or say that there are none."""
    shown = ", ".join(excerpt(name) for name in names[:_LISTED_NAMES])
    more = f" and {len(names) - _LISTED_NAMES:,} more" if len(names) > _LISTED_NAMES else ""
    return f"{shown}{more}" if names else "none"


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text[:_EXCERPT_CHARS])
