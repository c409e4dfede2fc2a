"""What becomes of a text once it is read: ok, empty or rejected. The same rules for every format."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError
from ner_pipeline.documents.decoding import Decoded, too_many_chars
from ner_pipeline.documents.document import Document, Outcome, Warned
from ner_pipeline.documents.limits import ReadLimits

__all__ = ["is_blank", "judge", "mend_surrogates", "reject"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE_CHARS: Final = 65_536
_END_CHARS: Final = 1_024
_MAX_CONTROL_SHARE: Final = 0.1
_MAX_CONTROL_SHARE_IN_DOUBT: Final = 0.02
"""Any bytes at all can be read as Windows-1252: what was, has to look like text."""
_MAX_REPLACED_SHARE: Final = 0.5


def judge(place: Document, decoded: Decoded, limits: ReadLimits) -> Document:
    """Give the document at `place` its text, or the reason why it gets none."""
    text = decoded.text
    if len(text) > limits.max_document_chars:
        return reject(place, too_many_chars(limits.max_document_chars))
    blank = is_blank(text)
    if not blank and (fault := _not_text(decoded)) is not None:
        return reject(place._replace(encoding=decoded.encoding), fault)
    return place._replace(
        text=text,
        encoding=decoded.encoding,
        outcome=Outcome.EMPTY if blank else Outcome.OK,
        reason="blank" if blank else "",
        replaced_bytes=decoded.replaced_bytes,
        warnings=decoded.warnings,
        detail=decoded.note,
    )


def reject(place: Document, fault: BadInputError) -> Document:
    """Reject the document at `place`."""
    return place._replace(text=None, outcome=Outcome.REJECTED, reason=fault.reason, detail=fault.detail)


def is_blank(text: str) -> bool:
    """Tell whether `text` is only white space and format characters (U+FEFF, U+200B, …)."""
    for character in text.strip():
        if not character.isspace() and unicodedata.category(character) != "Cf":
            return False
    return True


def mend_surrogates(text: str) -> tuple[str, int]:
    """Put U+FFFD for each lone surrogate, and count them.

    JSON can spell half an emoji ("\\ud83d"), which Python takes and no UTF-8 writer accepts. One for one,
    so every offset stays.
    """
    return _SURROGATE.subn("\ufffd", text)


def _not_text(decoded: Decoded) -> BadInputError | None:
    """Object to what decodes and is no text all the same."""
    sample = decoded.text[:_SAMPLE_CHARS]
    if decoded.replaced_bytes and sample.count("\ufffd") > _MAX_REPLACED_SHARE * len(sample):
        return BadInputError(
            "undecodable", f"most of it is damaged or in another charset: {decoded.note}; save it as UTF-8"
        )
    doubtful = Warned.ENCODING_UNCERTAIN in decoded.warnings
    allowed = _MAX_CONTROL_SHARE_IN_DOUBT if doubtful else _MAX_CONTROL_SHARE
    # The end too: what is appended to a text may be in another encoding. NULs alone are padding.
    end = decoded.text.rstrip("\0")[-_END_CHARS:]
    if any(len(_CONTROL.findall(part)) > allowed * len(part) for part in (sample, end)):
        return BadInputError(
            "not_text",
            "many of its characters are control characters, as in a binary file or another encoding;"
            " save it as text in UTF-8",
        )
    return None
