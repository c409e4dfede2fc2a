"""What a model is shown in the place of a text, and the way back from its offsets to those of the text.

The stored text is never changed, and every offset and entity that is reported is the stored text's. But a
model that has never seen a NUL glues the words around it together, and one that has learnt composed letters
does not know decomposed ones. Control characters are always masked. The rest is a choice, `normalize`, since
without it results equal those of `nlp(text)`. Which spans are valid is for `validation`.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO

import regex

from ner_pipeline.inference.spans import Span

__all__ = ["InputMap", "map_input"]

# All of category Cc that are no white space. They are left over from field separators, from terminals and
# from other encodings, and never part of a word: so the mask is what keeps words apart.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")

# Pieces of a text that can be composed one by one: what may join the character before it, with that one.
_JOINS = r"\p{M}\p{NFC_Quick_Check=Maybe}"
_COMPOSABLE = regex.compile(rf"[^{_JOINS}]?[{_JOINS}]++|\p{{NFC_Quick_Check=No}}")

_TWINS = str.maketrans(
    "".join(map(chr, range(0xFF01, 0xFF5F))) + "\u3000￠￡￢￤￥￦‘’‚‛‹›“”„‟«»",
    "".join(map(chr, range(0x21, 0x7F))) + " ¢£¬¦¥₩" + "'" * 6 + '"' * 6,
)
_HAS_TWIN = re.compile(f"[{''.join(map(chr, _TWINS))}]")

# A joiner between two pictures stays: it makes them one.
_PICTURE = r"\p{Extended_Pictographic}"
_FORMAT = regex.compile(rf"\p{{Cf}}(?!(?<={_PICTURE}[\ufe0f\p{{Emoji_Modifier}}]?\u200d){_PICTURE})")


@dataclass(frozen=True, slots=True)
class InputMap:
    """The text that a model is shown, and how the spans that it finds there lie in the stored one."""

    text: str
    steps: tuple[_Step, ...] = ()
    """What changed the length on the way from the stored text to this one, in the order of the making."""

    def sources(self, spans: list[Span]) -> list[Span]:
        """Give the spans of the stored text that hold what `spans` hold in this one."""
        return [self.source(span) for span in spans] if self.steps else spans

    def source(self, span: Span) -> Span:
        """Give the span of the stored text that holds what `span` holds in this one.

        One that is empty, reversed or outside the text is so in the stored text too.
        """
        start, end = span.start, span.end
        for step in reversed(self.steps):
            start, end = step.source(start, end)
        return span._replace(start=start, end=end)


def map_input(text: str, *, normalize: bool = False) -> InputMap:
    """Mask the control characters of `text`; with `normalize` compose and simplify it too.

    Masked is one for one. Normalised are: decomposed characters to composed ones (NFC), full-width forms and
    the ideographic space to their narrow twins, typographic quotes to those of ASCII; format characters (soft
    hyphens, zero-width ones, marks of direction) go, but for the joiner in an emoji.
    """
    shown = _CONTROL.sub(" ", text)
    steps: list[_Step] = []
    if normalize and not shown.isascii():
        if not unicodedata.is_normalized("NFC", shown):
            shown = _edit(steps, shown, _COMPOSABLE, lambda piece: unicodedata.normalize("NFC", piece))
        if _HAS_TWIN.search(shown):
            shown = shown.translate(_TWINS)
        if _FORMAT.search(shown):
            shown = _edit(steps, shown, _FORMAT, lambda _: "")
    return InputMap(shown, tuple(steps))


@dataclass(frozen=True, slots=True)
class _Step:
    """The edits of one pass over a text that changed its length; 16 bytes each, in the order of the text.

    Edit i made of the old text's `[old[2i], old[2i + 1])` the new one's `[new[2i], new[2i + 1])`. Between two
    edits all characters moved by the same distance, so that of the edge before a place is that of the place.
    """

    old: array[int]
    new: array[int]

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Give the stretch of the old text that became `[start, end)` of the new one."""
        return self._begin(start), self._end(end) if start < end else self._begin(end)

    def _begin(self, position: int) -> int:
        """Give where the source of the character at `position` begins."""
        edge = bisect_right(self.new, position) - 1
        if edge < 0:
            return position
        inside = edge % 2 == 0
        return self.old[edge] if inside else self.old[edge] + position - self.new[edge]

    def _end(self, position: int) -> int:
        """Give where the source of the character before `position` ends."""
        edge = bisect_right(self.new, position - 1) - 1
        if edge < 0:
            return position
        inside = edge % 2 == 0
        return self.old[edge + 1] if inside else self.old[edge] + position - self.new[edge]


def _edit(steps: list[_Step], text: str, pattern: regex.Pattern[str], twin: Callable[[str], str]) -> str:
    """Put its twin for each match of `pattern`, and enter the step if one has another length."""
    old, new = array("I"), array("I")
    # A list of the pieces between the edits would take many times the memory of the text.
    written = StringIO(newline="")
    copied = shift = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        piece = twin(match[0])
        written.write(text[copied:start] + piece)
        copied = end
        if len(piece) != end - start:
            old.extend((start, end))
            new.extend((start + shift, start + shift + len(piece)))
            shift += len(piece) - (end - start)
    written.write(text[copied:])
    if old:
        steps.append(_Step(old, new))
    return written.getvalue()
