"""Where a character begins and ends as its reader sees it: Unicode's extended grapheme clusters.

A flag is two code points, a family with its joiners seven. What becomes of a cut or of a span that meets a
character is for `cuts` and `validation`. Nothing here looks through a whole text.
"""

from __future__ import annotations

import regex

__all__ = ["character_at", "character_begin", "character_end", "sure_begin"]

REACH = 1_000
"""How far before a place a sure begin is looked for; a run of all flags that there are is half as long."""

_CHARACTER = regex.compile(r"\X")
# What begins a character whatever stands before it, but for a few signs that are written before a number.
_SURE_BEGIN = regex.compile(
    r"(?V1r)(?<!\p{GCB=Prepend})[\p{GCB=Other}--\p{Extended_Pictographic}--\p{InCB=Consonant}]"
)
_FIRST_JOINER = "\u0300"
"""Between two code points below this one a character ends, but for CR and LF."""
# What says of a flag whose it is counts as a mark: a format character by name, it is seen.
_NO_MARK = regex.compile(r"[^\p{M}\U000e0020-\U000e007f]|\Z")
_NO_MARK_BEFORE = regex.compile(r"(?r)[^\p{M}\U000e0020-\U000e007f]|\A")


def sure_begin(text: str, start: int, position: int) -> int:
    """Give the last place from `start` to `position` where a character begins for sure, else `start`."""
    sure = _SURE_BEGIN.search(text, start, position + 1)
    return sure.start() if sure else start


def character_at(text: str, position: int, begin: int, limit: int) -> tuple[int, int]:
    """Give (start, end) of the character that the code point at `position` is part of.

    At `begin`, which is no further on, a character must begin. An end beyond `limit` is given as `limit` + 1.
    """
    # A slice, since for each flag all flags before it are counted. It is one code point longer than may be,
    # since its end would pass for the end of a character.
    characters = _CHARACTER.finditer(text[begin : limit + 1])
    start, end = next(found.span() for found in characters if begin + found.end() > position)
    return begin + start, begin + end


def character_begin(text: str, position: int) -> int:
    """Give where the character begins that goes on at `position`, else `position`.

    Marks that the clusters leave alone, as some vowels of Burmese, stay with what they follow. Of a character
    that begins further away than `REACH` only the marks are seen as belonging to it.
    """
    while _is_inside(text, position):
        position = _around(text, _NO_MARK_BEFORE.search(text, 0, position + 1).start())[0]
    return position


def character_end(text: str, position: int) -> int:
    """Give where the character ends that goes on at `position`, else `position`."""
    while _is_inside(text, position):
        position = _around(text, _NO_MARK.search(text, position).start() - 1)[1]
    return position


def _is_inside(text: str, position: int) -> bool:
    """Tell whether a character goes on at `position`."""
    if not 0 < position < len(text) or max(text[position - 1], text[position]) < _FIRST_JOINER:
        return False
    return not _NO_MARK.match(text, position) or _around(text, position)[0] < position


def _around(text: str, position: int) -> tuple[int, int]:
    """Give the character at `position`, or that code point alone where it begins out of reach."""
    begin = sure_begin(text, max(0, position - REACH), position)
    if position - begin >= REACH:
        return position, position + 1
    return character_at(text, position, begin, begin + REACH - 1)
