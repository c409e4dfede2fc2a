"""Where a text may be cut: behind sentences, at white space, at marks, and never inside a character.

How large the pieces are is for `windows`. Right after a single space between two characters that are none,
spaCy's tokens stay the same on both sides; after a longer run of white space too. Such a cut is safe. Only a
text that has no such place is cut elsewhere, as Chinese is: behind a mark of any script, and only where there
is none between two characters as their reader sees them (Unicode's extended grapheme clusters).
"""

from __future__ import annotations

from typing import NamedTuple

import regex

from ner_pipeline.inference.characters import character_at, sure_begin

__all__ = ["Cut", "cut_near"]


class Cut(NamedTuple):
    """A place between two code points, and whether windows that end there give what the uncut text gives."""

    position: int
    safe: bool


class _Kind:
    """A kind of place: it lies behind `head` and `tail`, and before a character of the class `next_one`."""

    def __init__(self, head: str, tail: str = "", next_one: str = r"\S") -> None:
        # The tail is looked ahead at: from right to left, that is six times as fast as matching it.
        # Behind white space and marks a character goes on only with these three.
        goes_on = r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]"
        pattern = rf"{head}(?=({tail})(?={next_one})(?!{goes_on}))"
        self._forwards, self._backwards = regex.compile(pattern), regex.compile(f"(?r){pattern}")

    def last(self, text: str, start: int, stop: int) -> int:
        """Give the last such place behind `start` and up to `stop`; 0 if there is none."""
        match = self._backwards.search(text, start, stop + 1)
        return match.end(1) if match else 0

    def first(self, text: str, start: int, stop: int) -> int:
        """Give the first such place behind `start` and up to `stop`; 0 if there is none."""
        match = self._forwards.search(text, start, stop + 1)
        return match.end(1) if match else 0


_MARKS = r"\p{Sentence_Terminal}…"
_LESSER_MARKS = r"\p{Terminal_Punctuation}、"
_CLOSING = r"""\p{Close_Punctuation}\p{Final_Punctuation}"'"""

# „So.“ ends with what opens elsewhere; where no space follows, that may well open the next sentence.
_SENTENCE_END = _Kind(rf"[{_MARKS}]", rf"[{_CLOSING}\p{{Initial_Punctuation}}]*+ ")
_SINGLE_SPACE = _Kind(r"(?<=\S) ")
_WHITE_END = _Kind(r"\s")
_MARK = _Kind(rf"[{_MARKS}]", rf"[{_CLOSING}]*+", rf"[^\s{_MARKS}{_CLOSING}]")
_LESSER_MARK = _Kind(rf"[{_LESSER_MARKS}]", rf"[{_CLOSING}]*+", rf"[^\s{_LESSER_MARKS}{_CLOSING}]")


def cut_near(text: str, start: int, target: int, limit: int) -> Cut:
    """Choose where the piece that begins at `start` ends: behind `start`, at `limit` or before.

    Of the best kind of place that there is, and not far from `target`. If a character begins at `start`,
    then one does at the cut too, unless a single one reaches beyond `limit`.
    """
    middle = start + (target - start) // 2
    safe = _SENTENCE_END.last(text, middle, target)
    for kind in (_SINGLE_SPACE, _WHITE_END):
        safe = safe or kind.last(text, middle, target) or kind.first(text, target, limit)
    safe = safe or _WHITE_END.last(text, start, middle)
    if safe:
        return Cut(safe, safe=True)
    # Not up to the limit: where there is no mark either, every piece would look through many that follow.
    beyond = min(limit, target + (target - start))
    for kind in (_MARK, _LESSER_MARK):
        near = kind.last(text, middle, target) or kind.first(text, target, beyond)
        if cut := near or kind.last(text, start, middle):
            return Cut(cut, safe=False)
    return Cut(_between_characters(text, start, target, limit), safe=False)


def _between_characters(text: str, start: int, target: int, limit: int) -> int:
    """Give the last end of a character up to `target`, else the first one up to `limit`, else `target`."""
    cut, end = character_at(text, target, sure_begin(text, start, target), limit)
    return cut if cut > start else end if end <= limit else target
