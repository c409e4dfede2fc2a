"""The rules for a valid span, and offsets in UTF-16 units and UTF-8 bytes.

Pure functions over one text and its spans. What an extractor gives is not trusted: a row is right,
is repaired in one of two stated ways, or is put aside with the reason. Nothing is guessed, so a shifted
offset is never "found again" in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import regex

from ner_pipeline.inference.characters import character_begin, character_end
from ner_pipeline.inference.spans import Span

__all__ = ["REASONS", "Validated", "utf8_offsets", "utf16_offsets", "validate"]

REASONS = {
    "offset_not_integer": "start or end is no int (True, 1.0 and '1' are none)",
    "offset_out_of_range": "start or end lies outside the text",
    "start_not_before_end": "the span is empty or reversed",
    "label_not_text": "the label is empty or no string",
    "unknown_label": "the model has no such label",
}
"""Why a span may be in quarantine."""

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
# Where something is seen of a code point that stands alone, and where also of one that follows another: of
# a mark, and of the tags that tell the flag of England from that of Wales.
_VISIBLE = regex.compile(r"[^\s\p{M}\p{Cc}\p{Cf}]")
_LAST_VISIBLE = regex.compile(f"(?r){_VISIBLE.pattern}")
_LAST_SEEN = regex.compile(r"(?r)[^\s\p{Cc}\p{Cf}]|[\U000e0020-\U000e007f]")
_PLAIN = frozenset(filter(_VISIBLE.match, map(chr, range(0x300))))
"""What is seen wherever it stands, and what nearly all spans begin and end with."""


@dataclass(frozen=True, slots=True)
class Validated:
    """The spans of one text after validation."""

    spans: list[Span] = field(default_factory=list)
    """Valid, by start, no two overlapping."""
    quarantined: list[tuple[Any, str]] = field(default_factory=list)
    """What broke a rule, as it came, each with a code of `REASONS`."""
    trimmed: int = 0
    """How many spans had an edge moved to that of a visible character."""
    dropped: int = 0
    """How many were left out: nothing visible in it, a duplicate, or overlapped by a better one."""


def validate(text: str, spans: Iterable[Span], labels: Collection[str] | None = None) -> Validated:
    """Check, trim and settle the spans of `text`.

    A span begins with the first visible character that it has a part in and ends with the last, each whole
    as its reader sees it: with its combining marks, both letters of a flag, all members of a family. White
    space (as `str.isspace` has it), control and format characters are trimmed. What holds none is dropped.
    Of spans that overlap the longest stays, of equal length the leftmost, then the one whose label sorts
    first, then the one with a kb_id: whatever order they came in. Touching spans stay. `labels=None` accepts
    every label.
    """
    allowed = None if labels is None else frozenset(labels)
    good: list[Span] = []
    quarantined: list[tuple[Any, str]] = []
    trimmed = dropped = 0
    for span in spans:
        reason = _broken_rule(span, len(text), allowed)
        if reason:
            quarantined.append((span, reason))
            continue
        tight = _tighten(text, span)
        trimmed += tight is not None and tight is not span
        dropped += tight is None
        if tight is not None:
            good.append(tight)
    kept = _settle(good, len(text))
    return Validated(kept, quarantined, trimmed, dropped + len(good) - len(kept))


def utf16_offsets(text: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Give (start, end) of each span in UTF-16 units, as JavaScript, Java and C# count.

    One pass over the text however many spans there are.
    """
    # Only code points beyond U+FFFF count twice; nearly all texts have none.
    astral = [] if text.isascii() else [match.start() for match in _ASTRAL.finditer(text)]
    if not astral:
        return [(span.start, span.end) for span in spans]
    return [
        (span.start + bisect_left(astral, span.start), span.end + bisect_left(astral, span.end))
        for span in spans
    ]


def utf8_offsets(text: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Give (start, end) of each span in bytes of the text in UTF-8, as Go, Rust and databases count.

    One pass over the text however many spans there are.
    """
    if text.isascii():
        return [(span.start, span.end) for span in spans]
    edges = sorted({0, *(edge for span in spans for edge in (span.start, span.end))})
    sizes = (len(text[start:end].encode("utf-8", "surrogatepass")) for start, end in pairwise(edges))
    before = dict(zip(edges, accumulate(sizes, initial=0), strict=True))
    return [(before[span.start], before[span.end]) for span in spans]


def _broken_rule(span: Span, n_chars: int, labels: frozenset[str] | None) -> str:
    start, end, label = span.start, span.end, span.label
    # `type`, since True is an instance of int.
    if type(start) is not int or type(end) is not int:
        return "offset_not_integer"
    if start < 0 or end > n_chars or start > n_chars or end < 0:
        return "offset_out_of_range"
    if start >= end:
        return "start_not_before_end"
    if not isinstance(label, str) or not label:
        return "label_not_text"
    return "unknown_label" if labels is not None and label not in labels else ""


def _tighten(text: str, span: Span) -> Span | None:
    """Give the span from its first visible character to its last, both whole; None if it has none."""
    start, end = character_begin(text, span.start), character_end(text, span.end)
    if text[start] not in _PLAIN or text[end - 1] not in _PLAIN:
        first = _VISIBLE.search(text, start, end)
        if not first:
            return None
        start = first.start()
        whole = character_end(text, _LAST_VISIBLE.search(text, start, end).end())
        end = _LAST_SEEN.search(text, start, whole).end()
    return span if (start, end) == (span.start, span.end) else span._replace(start=start, end=end)


def _settle(spans: list[Span], n_chars: int) -> list[Span]:
    """Keep the best of those that overlap.

    The longest come first, so a span that overlaps a kept one has its first or last character in it:
    two look-ups per span, and every character is marked at most once.
    """
    if all(span.end <= following.start for span, following in pairwise(spans)):
        # As they come from nearly all extractors.
        return spans
    taken = bytearray(n_chars)
    kept = []
    for span in sorted(spans, key=_rank):
        if not taken[span.start] and not taken[span.end - 1]:
            taken[span.start : span.end] = b"\x01" * (span.end - span.start)
            kept.append(span)
    return sorted(kept)


def _rank(span: Span) -> tuple[int, int, str, bool, str]:
    return (span.start - span.end, span.start, span.label, not span.kb_id, span.kb_id)
