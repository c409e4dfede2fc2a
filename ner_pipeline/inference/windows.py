"""Cutting a text of any length into windows, and putting the spans of the windows together again.

A window is a plain slice of the text that carries its start: nothing is stripped, joined or searched
for, so an offset in a window becomes one in the text by an addition. Windows overlap, and each position
of the text has one owner: a span belongs to the window that owns its start. So a name on a cut comes out
once, and whole as long as it is no longer than the overlap (about 100 tokens). One that does reach the
cut end of its window may be truncated: `merge` keeps it and says so.

Pure text and numbers: no model and no tokenizer. Tokens are estimated by a pattern, since a window's
size need not be exact; what must be exact is *where* it is cut, and that is for `cuts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import NamedTuple

from ner_pipeline.inference.cuts import Cut, cut_near
from ner_pipeline.inference.spans import Span

__all__ = ["MIN_PIECES", "CutRule", "Merged", "Plan", "Window", "is_blank", "merge", "plan"]

SEGMENT_TOKENS = 100
"""A text is first cut in segments of about so many tokens; windows are made of whole segments."""
SEGMENT_CHARS = 2_000
"""The most characters in a segment, whatever it is made of: a run of a million blanks is few tokens."""
DENSE_SEGMENTS = 8
"""How many segments a window owns where there is no white space to cut at: the time to tokenize a run of
signs grows with its square."""
MIN_PIECES = 24
"""White-space separated pieces, each a token or more, that an overlap must have: well above the 8 tokens that
the widest encoder of this kind sees."""
MIN_OVERLAP_CHARS = 100
"""What a window sees beyond its own on each side, at the least. A segment may end after a word."""
SAFE_CHARS = 900
"""A text this short is one window without being looked at."""

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# An underscore is of \w, but no part of a word: spaCy's time grows with the square of a run of them.
_TOKEN = rf"(?:[_{_CJK}]|[^\W_{_CJK}]{{1,24}}+|[^\w\s])"
# Possessive: a katakana middle dot is a token in two ways, and thirty of them would be tried in 2**30 ways.
_TOKENS = re.compile(rf"(?:\s*+{_TOKEN}){{{SEGMENT_TOKENS}}}+")


class Window(NamedTuple):
    """A slice of a text, and the part of it whose spans count. Offsets are code points of the text."""

    start: int
    end: int
    own_start: int
    own_end: int


@dataclass(frozen=True, slots=True)
class CutRule:
    """How the texts of a pipeline may be cut."""

    whole_chars: int = 0
    """Texts of up to so many characters are never cut."""
    own_segments: int = 50
    """How many segments a window owns, at most. What it sees beyond is computed twice: one token in 25."""
    overlap_segments: int = 1
    """How many segments it sees beyond, on each side."""
    exact: bool = True
    """Whether the spans of the windows are those of the uncut text."""
    cost: int = 1
    """How dear a character is, against one in a small convolutional pipeline: for sizing batches only."""
    why: str = ""
    """The reason, in words."""

    @property
    def key(self) -> tuple[int | bool, ...]:
        """All that can change a span."""
        rule = (self.whole_chars, self.own_segments, self.overlap_segments, self.exact)
        return (*rule, SEGMENT_TOKENS, SEGMENT_CHARS, DENSE_SEGMENTS, MIN_OVERLAP_CHARS, SAFE_CHARS)


@dataclass(frozen=True, slots=True)
class Plan:
    """The windows of one text."""

    windows: tuple[Window, ...]
    approximate: bool = False
    """Whether the text had to be cut although its pipeline wants it whole."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The spans of a text, put together from its windows."""

    spans: list[Span] = field(default_factory=list)
    truncated: bool = False
    """Whether a span reaches the cut end of its window, so that it may go on behind it."""


def is_blank(text: str) -> bool:
    """Tell whether there is nothing but white space, in which no entity can be."""
    return not text or text.isspace()


def plan(text: str, rule: CutRule) -> Plan:
    """Cut `text` in windows whose owned ranges tile it. Linear in the length of the text."""
    length = len(text)
    whole = Plan((Window(0, length, 0, length),))
    if length <= max(rule.whole_chars, SAFE_CHARS):
        return whole
    joints = list(_joints(text))
    safe = all(joint.safe for joint in joints)
    if rule.exact and not safe:
        rule = replace(rule, own_segments=min(rule.own_segments, DENSE_SEGMENTS))
    if len(joints) <= rule.own_segments + 2 * rule.overlap_segments:
        return whole
    windows = tuple(_windows([0, *(joint.position for joint in joints)], rule))
    return Plan(windows, approximate=not (rule.exact and safe))


def merge(windows: Sequence[Window], found: Sequence[Sequence[Span]]) -> Merged:
    """Put the spans of the windows together: global offsets, each once, by start.

    `found[i]` are the spans of `windows[i]`, with offsets in that window. The windows come in the order
    of the text, so nothing depends on the order in which they were computed. Offsets are taken as they
    are: whether a span is valid is for `validation`.
    """
    if len(windows) == 1:
        [whole] = found
        return Merged(sorted(set(whole)))
    spans: set[Span] = set()
    truncated = False
    text_end = windows[-1].end if windows else 0
    for window, local in zip(windows, found, strict=True):
        for span in local:
            moved = span._replace(start=span.start + window.start, end=span.end + window.start)
            if _owns(window, moved.start, text_end):
                spans.add(moved)
                truncated = truncated or (window.end < text_end and moved.end >= window.end - 1)
    return Merged(sorted(spans), truncated)


def _owns(window: Window, start: int, text_end: int) -> bool:
    """Tell whether a span that starts at `start` is this window's.

    A start outside the text is nobody's range: the first and the last window take those, so that a
    broken span reaches the validation instead of vanishing here.
    """
    after_begin = start >= window.own_start or window.own_start == 0
    return after_begin and (start < window.own_end or window.own_end == text_end)


def _windows(joints: list[int], rule: CutRule) -> Iterator[Window]:
    """Deal the segments out evenly, so that no window is left with a tiny rest."""
    segments = len(joints) - 1
    count = -(-segments // rule.own_segments)
    shares = (segments // count + (index < segments % count) for index in range(count))
    for first, last in pairwise(accumulate(shares, initial=0)):
        start = _seen_from(joints, first, -1, rule.overlap_segments)
        end = _seen_from(joints, last, 1, rule.overlap_segments)
        yield Window(start, end, joints[first], joints[last])


def _seen_from(joints: list[int], edge: int, step: int, segments: int) -> int:
    """Give how far a window sees beyond the joint `edge`: so many segments, and more if they are short."""
    seen = min(max(0, edge + step * segments), len(joints) - 1)
    while 0 < seen < len(joints) - 1 and abs(joints[seen] - joints[edge]) < MIN_OVERLAP_CHARS:
        seen += step
    return joints[seen]


def _joints(text: str) -> Iterator[Cut]:
    """Give the end of each segment; the last one is the end of the text."""
    position, length = 0, len(text)
    while position < length:
        limit = min(position + SEGMENT_CHARS, length)
        match = _TOKENS.match(text, position, limit)
        target = match.end() if match else limit
        joint = Cut(length, safe=True) if target >= length else cut_near(text, position, target, limit)
        sparse = (
            joint.position < length
            and len(text[position : joint.position].split(None, MIN_PIECES)) < MIN_PIECES
        )
        position = joint.position
        yield joint._replace(safe=False) if sparse else joint
