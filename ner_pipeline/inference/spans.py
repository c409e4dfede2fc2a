"""Spans: what an extractor gives, and how offsets are counted."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Span", "spans_of"]


class Span(NamedTuple):
    """A stretch of text with a label: code points of the decoded text, end exclusive."""

    start: int
    end: int
    label: str
    kb_id: str = ""


def spans_of(doc: Any, shift: int = 0) -> list[Span]:
    """Give the entities of a spaCy Doc; `shift` is where its text begins in the one that is meant."""
    return [Span(e.start_char + shift, e.end_char + shift, e.label_, e.kb_id_) for e in doc.ents]
