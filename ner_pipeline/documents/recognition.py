"""Which charset some bytes are in: by a mark, a declaration, what the bytes themselves say, or a guess.

In this order: a byte order mark; the declared charset where it fits; UTF-16 and UTF-32 where the bytes can be
nothing else; UTF-8 where but a few bytes break it; a guess that is sure; and a guess that is not, or
Windows-1252, flagged as uncertain. Samples come in and an answer goes out; how they are got at lives in
`decoding`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import regex

from ner_pipeline.documents.bad_input import BadInputError, excerpt
from ner_pipeline.documents.charsets import UTF8, codec_name
from ner_pipeline.documents.detection import guess
from ner_pipeline.documents.replacing import ReplacingDecoder

__all__ = ["Recognised", "recognise_head", "recognise_sample"]

_FALLBACK: Final = "cp1252"

# The mark of UTF-32-LE begins with that of UTF-16-LE, so the order matters.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, UTF8),
)
_WIDE: Final = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_ISO_2022_JP: Final = "iso2022_jp_ext"
_ESCAPE_TO_KANJI: Final = re.compile(rb"\x1b\$(?:[@B]|\([DOQ])")

_MAX_NUL_SHARE: Final = 0.1
_FAR_AHEAD: Final = 2
"""So many bytes that continue characters of UTF-8, for each that breaks one, leave no doubt."""
_PADDING: Final = b"\0" * 16
_MIN_NUL_SHARE_OF_LATIN: Final = 0.4
_MAX_CONTROL_SHARE: Final = 0.02
"""A text has next to no control characters; UTF-16 read as bytes has them by the dozen."""
_MIN_COMMON_SHARE: Final = 0.95
_MIN_WIDE_BYTES: Final = 16
"""Without NULs, fewer bytes than this may be anything."""
_MAX_BAD_SHARE: Final = 0.1
"""So many of the bytes above 0x7F may be damaged in a charset that somebody declared."""

_CONTROL_BYTE: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_NO_TEXT: Final = regex.compile(r"[[\p{Cc}\p{Co}\p{Cn}]--[\t\n\v\f\r\x1b\x85]]", regex.V1)
# Letters and signs of the scripts that are written most. Not all letters: with its bytes swapped, a text is
# letters too, of scripts that are hardly written.
_COMMON: Final = regex.compile(
    r"[\t\n\r\x20-\x7e\xa0-\u024f\u0370-\u052f\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u1e00-\u1eff"
    r"\u2010-\u2044\u20a0-\u20bf\u2116\u2122\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef]"
)

_UNCERTAIN: Final = (
    "nothing in the bytes settles their charset; declare it when you upload"
    " (ContentType 'text/plain; charset=…' or metadata 'charset'), or save the file as UTF-8"
)


@dataclass(frozen=True, slots=True)
class Recognised:
    """A charset, and how it was found."""

    name: str
    mark: bytes = b""
    """The byte order mark, which is no part of the text."""
    uncertain: bool = False
    note: str = ""
    is_guess: bool = False
    """Whether nothing but the bytes speaks for it."""


def recognise_head(head: bytes, labels: Sequence[str]) -> Recognised | None:
    """Tell by the first bytes of an object which it is of the charsets whose bytes below 0x80 are not ASCII.

    None says: none of them; at the first byte above 0x7F `recognise_sample` will tell.
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return Recognised(name, mark)
    japanese = _ESCAPE_TO_KANJI.search(head) or _ISO_2022_JP in map(codec_name, labels)
    if japanese and _fits(head, _ISO_2022_JP):
        return Recognised(_ISO_2022_JP)
    return _wide_as_declared(head, labels) or _wide_by_its_bytes(head)


def recognise_sample(sample: bytes, labels: Sequence[str]) -> Recognised:
    """Tell the charset of bytes of which some are above 0x7F, and which `recognise_head` left open.

    `labels` are what was declared; the first of them that fits is followed.
    """
    declared = [name for label in labels if (name := codec_name(label)) and not _wide_names(label)]
    if fitting := next((name for name in declared if _fits(sample, name)), None):
        return _as_declared(sample, fitting)
    told = " and ".join(map(excerpt, labels))
    note = f"the declared charset {told} does not fit and was set aside" if told else ""
    is_declared = UTF8 in declared
    if found := _as_utf8(sample, "" if is_declared else note, is_declared=is_declared):
        return found
    if nearly := next((name for name in declared if _nearly_fits(sample, name)), None):
        return Recognised(nearly)
    return _as_guessed(sample, note)


def _as_declared(sample: bytes, declared: str) -> Recognised:
    """Follow the declaration; where the bytes are UTF-8, which nothing else is by chance, with a doubt."""
    if declared == UTF8 or not _fits(sample, UTF8):
        return Recognised(declared)
    note = f"read as {declared} as declared; yet the bytes are UTF-8"
    return Recognised(declared, uncertain=True, note=note)


def _as_utf8(sample: bytes, note: str, *, is_declared: bool) -> Recognised | None:
    """Take for UTF-8 what has more bytes that continue its characters than bytes that break them.

    The former are overwhelming evidence: in other charsets few stand where UTF-8 would have them. Where they
    are hardly more, and nobody has declared it, there is a doubt; and none that it is not, where most of what
    is not ASCII would be damage.
    """
    decoder = ReplacingDecoder(UTF8)
    text = decoder.decode(sample, final=True)
    damage = decoder.damage
    continuing = (len(sample) - damage.byte_count) - (len(text) - damage.stretches) + damage.torn_bytes
    breaking = damage.stretches - damage.cut_off
    if continuing < max(breaking, 1):
        return None
    if is_declared or continuing >= _FAR_AHEAD * breaking:
        return Recognised(UTF8, note=note)
    above_ascii = len(text) - sum(map(str.isascii, text))
    if 2 * damage.stretches > above_ascii:
        return None
    return Recognised(UTF8, uncertain=True, note=note or f"read as {UTF8}: {_UNCERTAIN}", is_guess=True)


def _as_guessed(sample: bytes, note: str) -> Recognised:
    guessed = guess(sample)
    if guessed is not None and guessed.sure:
        return Recognised(guessed.name, note=note, is_guess=True)
    name = guessed.name if guessed is not None else _FALLBACK
    notes = (note, f"read as {name}: {_UNCERTAIN}")
    return Recognised(name, uncertain=True, note="; ".join(filter(None, notes)), is_guess=True)


def _wide_names(label: str) -> list[str]:
    declared = codec_name(label)
    return [name for name in _WIDE if declared and name.startswith(declared)]


def _wide_as_declared(head: bytes, labels: Sequence[str]) -> Recognised | None:
    fitting = [name for label in labels for name in _wide_names(label) if _fits(head, name)]
    if not fitting or _fits(head, UTF8):
        return None
    likeliest = max(fitting, key=lambda name: _common_share(head, name))
    doubt = len(fitting) > 1 and _common_share(head, likeliest) < _MIN_COMMON_SHARE
    return Recognised(likeliest, uncertain=doubt, note=f"read as {likeliest}: {_UNCERTAIN}" if doubt else "")


def _wide_by_its_bytes(head: bytes) -> Recognised | None:
    """Recognise UTF-16 and UTF-32 without a mark, or refuse what is full of NULs and neither.

    Read byte by byte, they are full of control characters. Read with the bytes of each unit swapped, they are
    letters of scripts that nobody mixes, or their rows vary more than the places in the rows.
    """
    head = _without_padding(head)
    nuls, controls = head.count(0), len(_CONTROL_BYTE.findall(head))
    many_nuls = nuls > _MAX_NUL_SHARE * len(head)
    many_controls = controls > _MAX_CONTROL_SHARE * len(head) and len(head) >= _MIN_WIDE_BYTES
    # Every other byte of Latin letters is NUL. Where fewer are, there are other letters, and not ASCII alone.
    only_nuls = head.isascii() and controls - nuls <= _MAX_CONTROL_SHARE * len(head)
    separated = only_nuls and nuls < _MIN_NUL_SHARE_OF_LATIN * len(head)
    if (many_nuls or many_controls) and not separated:
        fitting = [name for name in _WIDE if _is_common_text(head, name)]
        if len(fitting) == 1:
            return Recognised(fitting[0])
    if many_nuls:
        raise BadInputError(
            "not_text",
            "many of its first bytes are NUL: a binary file, or UTF-16 whose byte order cannot be told;"
            " save it as text in UTF-8",
        )
    return None


def _without_padding(head: bytes) -> bytes:
    """Leave out the NULs with which a file is filled up, but for those of its last character."""
    if not head.endswith(_PADDING):
        return head
    filled = head.rstrip(b"\0")
    return filled + b"\0" * (-len(filled) % 4)


def _is_common_text(head: bytes, name: str) -> bool:
    text = _strictly(head, name) or ""
    codes = {ord(character) for character in text}
    rows, places = {code >> 8 for code in codes}, {code & 0xFF for code in codes}
    return len(rows) <= len(places) and bool(text) and _common_share(head, name) >= _MIN_COMMON_SHARE


def _common_share(head: bytes, name: str) -> float:
    text = _strictly(head, name) or ""
    return len(_COMMON.findall(text)) / max(len(text), 1)


def _fits(sample: bytes, name: str) -> bool:
    """Tell whether the whole of `sample` is text in the charset `name`; it may end within a character."""
    text = _strictly(sample, name)
    return text is not None and len(_NO_TEXT.findall(text)) <= _MAX_CONTROL_SHARE * len(text)


def _nearly_fits(sample: bytes, name: str) -> bool:
    decoder = ReplacingDecoder(name)
    text = decoder.decode(sample, final=True)
    above_ascii = len(sample.translate(None, delete=bytes(range(0x80))))
    bad = decoder.damage.byte_count + len(_NO_TEXT.findall(text))
    return bad <= _MAX_BAD_SHARE * above_ascii


def _strictly(sample: bytes, name: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(name)().decode(sample)
    except UnicodeDecodeError:
        return None
