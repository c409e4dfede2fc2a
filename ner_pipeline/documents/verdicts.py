"""What becomes of a text once it is read: ok, empty or rejected. The same rules for every format."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError
from ner_pipeline.documents.document import Document, Outcome
from ner_pipeline.documents.limits import ReadLimits

__all__ = ["is_blank", "judge", "mend_surrogates", "reject", "too_many_chars"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_CONTROL_SAMPLE_CHARS: Final = 65_536
_MAX_CONTROL_SHARE: Final = 0.1


def judge(place: Document, text: str, limits: ReadLimits, *, note: str = "") -> Document:
    """Give the document at `place` its text, or the reason why it gets none."""
    if len(text) > limits.max_document_chars:
        return reject(place, too_many_chars(limits))
    if is_blank(text):
        return replace(place, text=text, outcome=Outcome.EMPTY, reason="blank", detail=note)
    if (fault := _not_text(text)) is not None:
        return reject(place, fault)
    return replace(place, text=text, detail=note)


def reject(place: Document, fault: BadInputError) -> Document:
    """Reject the document at `place`."""
    return replace(place, text=None, outcome=Outcome.REJECTED, reason=fault.reason, detail=fault.detail)


def too_many_chars(limits: ReadLimits) -> BadInputError:
    """Say that a text is too long, without having read it to its end."""
    return BadInputError(
        "too_large", f"the text has more than {limits.max_document_chars:,} characters; split it into several"
    )


def is_blank(text: str) -> bool:
    """Tell whether `text` is only white space and format characters (U+FEFF, U+200B, …)."""
    visible = text.strip()
    return all(character.isspace() or unicodedata.category(character) == "Cf" for character in visible)


def mend_surrogates(text: str) -> tuple[str, int]:
    """Put U+FFFD for each lone surrogate, and count them.

    JSON can spell half an emoji ("\\ud83d"), which Python takes and no UTF-8 writer accepts. One for one,
    so every offset stays.
    """
    return _SURROGATE.subn("\ufffd", text)


def _not_text(text: str) -> BadInputError | None:
    """Object to what decodes as UTF-8 and is none: UTF-16 without a mark, or a binary file.

    NULs alone would not do: Cyrillic or Arabic UTF-16 has few, and other control characters instead.
    """
    if text.count("\0") > _MAX_CONTROL_SHARE * len(text):
        return BadInputError(
            "unsupported_encoding",
            "many of its characters are NUL, as in UTF-16 without a byte order mark; save it as UTF-8",
        )
    sample = text[:_CONTROL_SAMPLE_CHARS]
    if len(_CONTROL.findall(sample)) > _MAX_CONTROL_SHARE * len(sample):
        return BadInputError(
            "not_text",
            "many of its characters are control characters, as in a binary file or another encoding;"
            " save it as text in UTF-8",
        )
    return None
