"""Ties are decided by spaCy itself.

Where two moves score so nearly the same that rounding decides, no other order of additions is sure to round
as spaCy does. So spaCy computes the stretch of text around the token, and what it finds there counts. It is
two or three tokens in a million, and some hundred tokens around each: about a hundredth of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ner_pipeline.inference.spans import Span
from ner_pipeline.inference.windows import CutRule, Window, plan

if TYPE_CHECKING:
    from spacy.language import Language

__all__ = ["settle"]

_AROUND = CutRule(own_segments=2, overlap_segments=1)


def settle(nlp: Language, text: str, spans: list[Span], ties: Sequence[int]) -> list[Span]:
    """Give the spans of `text` as spaCy gives them, where `spans` are in doubt at the characters `ties`."""
    cut = plan(text, _AROUND)
    asked = [window for window in cut.windows if any(_owns(window, tie) for tie in ties)]
    settled = [span for span in spans if not any(_owns(window, span.start) for window in asked)]
    for window in asked:
        settled += [span for span in _spacy(nlp, text, window) if _owns(window, span.start)]
    settled.sort()
    if cut.approximate or any(left.end > right.start for left, right in pairwise(settled)):
        # An entity reaches from one window into the next: only the whole text tells.
        return _spacy(nlp, text, Window(0, len(text), 0, len(text)))
    return settled


def _spacy(nlp: Language, text: str, window: Window) -> list[Span]:
    entities = nlp(text[window.start : window.end]).ents
    return [
        Span(entity.start_char + window.start, entity.end_char + window.start, entity.label_, "")
        for entity in entities
    ]


def _owns(window: Window, character: int) -> bool:
    return window.own_start <= character < window.own_end
