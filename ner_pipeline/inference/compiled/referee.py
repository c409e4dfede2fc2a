"""Ties are decided by spaCy itself.

Where two moves score so nearly the same that rounding decides, no other order of additions is sure to round
as spaCy does. So spaCy computes the stretch of text around the token, and what it finds there counts. It is
some six tokens in a million, and a few hundred tokens around each: about a fiftieth of the time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ner_pipeline.inference.spans import Span, spans_of
from ner_pipeline.inference.windows import CutRule, Window, plan

if TYPE_CHECKING:
    from spacy.language import Language

__all__ = ["settle"]

_AROUND = CutRule(own_segments=2, overlap_segments=1)


def settle(nlp: Language, text: str, spans: list[Span], ties: Sequence[int]) -> list[Span]:
    """Give the spans of `text` as spaCy gives them, where `spans` are in doubt at the characters `ties`."""
    cut = plan(text, _AROUND)
    asked = [window for window in cut.windows if any(_owns(window, tie) for tie in ties)]
    found = [spans_of(nlp(text[window.start : window.end]), window.start) for window in asked]
    if cut.approximate or _any_crosses(asked, [spans, *found]):
        # What is in doubt here may go on there: only the whole text tells.
        return spans_of(nlp(text))
    sure = [span for span in spans if not any(_owns(window, span.start) for window in asked)]
    owned = zip(asked, found, strict=True)
    return sorted([*sure, *(span for window, own in owned for span in own if _owns(window, span.start))])


def _any_crosses(windows: Sequence[Window], found: Sequence[Sequence[Span]]) -> bool:
    """Tell whether a span reaches into or out of what a window owns, be it ours or spaCy's."""
    edges = sorted({edge for window in windows for edge in (window.own_start, window.own_end)})
    return any(
        bisect_right(edges, span.start) < bisect_left(edges, span.end) for spans in found for span in spans
    )


def _owns(window: Window, character: int) -> bool:
    return window.own_start <= character < window.own_end
