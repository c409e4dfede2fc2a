"""Spans: what an extractor gives, and how offsets are counted."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Span"]


class Span(NamedTuple):
    """A stretch of text with a label: code points of the decoded text, end exclusive."""

    start: int
    end: int
    label: str
    kb_id: str = ""
