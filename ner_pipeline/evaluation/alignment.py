"""Where the tokens of a sentence stand in its text, or a text for tokens that came without one."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["Places", "align", "join"]

Places = list[tuple[int, int]]
"""(start, end) of each token in the text, end exclusive."""

_WHITE = re.compile(r"\s*")
_CJK = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
"""Letters and marks of the scripts that put no space between words."""


def align(text: str, tokens: Sequence[str]) -> Places | None:
    """Find the tokens in `text`, in order, with nothing but white space between them; None if they differ.

    White space inside a token may be another one in the text.
    """
    places, position = [], 0
    for token in tokens:
        start = _skip_white(text, position)
        end = _end_of(text, start, token)
        if end is None:
            return None
        places.append((start, end))
        position = end
    return places if _skip_white(text, position) == len(text) else None


def join(tokens: Sequence[str]) -> tuple[str, Places]:
    """Make a text of tokens, with a space between any two, but for two Chinese or Japanese characters."""
    parts: list[str] = []
    places, position, last = [], 0, ""
    for token in tokens:
        space = " " if last and not (_CJK.match(last) and _CJK.match(token)) else ""
        start = position + len(space)
        position, last = start + len(token), token[-1]
        places.append((start, position))
        parts += (space, token)
    return "".join(parts), places


def _skip_white(text: str, position: int) -> int:
    match = _WHITE.match(text, position)
    return match.end() if match else position


def _end_of(text: str, start: int, token: str) -> int | None:
    if text.startswith(token, start):
        return start + len(token)
    pattern = r"\s+".join(map(re.escape, token.split()))
    match = re.compile(pattern).match(text, start)
    return match.end() if match else None
