"""Tags of tokens to entities, in whatever scheme they are: IOB1, IOB2, BIOES, BILOU. No files, no texts.

All schemes are read alike, as conlleval counts: an entity begins with B, S or U, after E, L, S or U, and
wherever the label is another one than before. So an I may begin one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["TokenSpan", "is_tag", "token_spans"]

_TAG = re.compile(r"O|-|[BIESLU]-\S+")
_BEGINS = frozenset("BSU")
_ENDS = frozenset("ELSU")


class TokenSpan(NamedTuple):
    """A run of tokens with a label: indices of tokens, end exclusive."""

    start: int
    end: int
    label: str


def is_tag(word: str) -> bool:
    """Tell whether a word is a tag of an entity, or of none: `O`, and `-` where nobody has annotated."""
    return bool(_TAG.fullmatch(word))


def token_spans(tags: Sequence[str]) -> list[TokenSpan]:
    """Give the entities of a sentence, in order."""
    spans, start, before = [], 0, ("", "")
    for index, tag in enumerate([*tags, "O"]):
        prefix, label = here = _parts(tag)
        begins = label != before[1] or prefix in _BEGINS or before[0] in _ENDS
        if begins and before[1]:
            spans.append(TokenSpan(start, index, before[1]))
        start, before = index if begins else start, here
    return spans


def _parts(tag: str) -> tuple[str, str]:
    """Give prefix and label; both empty outside of entities, where some files have `B-O` as well."""
    prefix, _, label = tag.partition("-")
    return (prefix, label) if label not in ("", "O") else ("", "")
