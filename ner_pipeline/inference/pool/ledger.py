"""The account of one extraction: which texts are open, which of their windows wait, what became of them.

Plain bookkeeping without processes or clocks. Each text that is admitted leaves exactly once, as a
`TextResult`. Windows are handed out in batches and come back in one of three ways: found, failed, or put
back through no fault of theirs. A batch that failed says nothing about which of its windows is to blame, so
each is handed out once more alone; the one that fails again ends its text, and no other.

Windows are cut from what `input_map` makes of a text. The spans of a result are those of the text as it came.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ner_pipeline.inference.input_map import InputMap, map_input
from ner_pipeline.inference.spans import Span
from ner_pipeline.inference.windows import CutRule, Window, is_blank, merge, plan

__all__ = ["Ledger", "Piece", "TextResult"]

PIECE_COST = 200
"""What a window costs besides its characters, in characters: or 50,000 one-word texts were one batch."""


class TextResult(NamedTuple):
    """What became of one text."""

    id: str
    spans: Sequence[Span] = ()
    """By start; as the extractor gave them, not yet validated."""
    outcome: Literal["ok", "failed"] = "ok"
    reason: str = ""
    """Empty, or `worker_died`, `timeout`, `extractor_error`."""
    detail: str = ""
    """One sentence for the person who reads it."""
    seconds: float = 0.0
    """Computing time: the shares of the batches that its windows were in."""
    approximate: bool = False
    """Whether the spans may differ from those of the uncut text."""


class Piece(NamedTuple):
    """One window of one open text."""

    text: int
    window: int
    cost: int
    tries: int = 0


@dataclass(slots=True)
class _Open:
    """A text on its way."""

    id: str
    shown: InputMap
    windows: Sequence[Window]
    approximate: bool
    found: list[list[Span]]
    missing: int
    seconds: float = 0.0


class Ledger:
    """The open texts and the waiting windows of one extraction."""

    def __init__(self, rule: CutRule, *, normalize: bool = False) -> None:
        self._rule = rule
        self._normalize = normalize
        self._open: dict[int, _Open] = {}
        self._admitted = 0
        self._waiting: list[tuple[int, Piece]] = []
        self._alone: deque[Piece] = deque()
        self.waiting_cost = 0
        """Cost of the windows that wait to be handed out."""
        self.open_chars = 0
        """Characters of the texts that are held."""

    @property
    def waiting(self) -> bool:
        """Whether there is a window to hand out."""
        return bool(self._waiting or self._alone)

    def admit(self, identifier: str, text: str) -> list[TextResult]:
        """Take a text in. A blank one needs no model and is done at once."""
        shown = map_input(text, normalize=self._normalize)
        if is_blank(shown.text):
            return [TextResult(identifier)]
        cut = plan(shown.text, self._rule)
        number, count = self._admitted, len(cut.windows)
        self._admitted += 1
        self._open[number] = _Open(
            identifier, shown, cut.windows, cut.approximate, [[] for _ in range(count)], count
        )
        self.open_chars += len(shown.text)
        for index, window in enumerate(cut.windows):
            self._wait(Piece(number, index, window.end - window.start + PIECE_COST))
        return []

    def take(self, cost: int) -> list[Piece]:
        """Hand out windows of about this cost together, the largest first; at least one if any waits."""
        if self._alone:
            piece = self._alone.popleft()
            self.waiting_cost -= piece.cost
            return [piece]
        pieces: list[Piece] = []
        total = 0
        while self._waiting and (not pieces or total + self._waiting[0][1].cost <= cost):
            _, piece = heapq.heappop(self._waiting)
            self.waiting_cost -= piece.cost
            total += piece.cost
            pieces.append(piece)
        return pieces

    def texts(self, pieces: Sequence[Piece]) -> list[str]:
        """Give the text of each window."""
        return [self._slice(piece) for piece in pieces]

    def found(
        self, pieces: Sequence[Piece], spans: Sequence[Sequence[tuple[int, int, str, str]]], seconds: float
    ) -> list[TextResult]:
        """Enter the spans of windows; gives the texts that are done with them."""
        total = sum(piece.cost for piece in pieces)
        done = []
        for piece, tuples in zip(pieces, spans, strict=True):
            entry = self._open.get(piece.text)
            if entry is None:
                continue
            entry.found[piece.window] = list(map(Span._make, tuples))
            entry.seconds += seconds * piece.cost / total
            entry.missing -= 1
            if not entry.missing:
                done.append(self._finish(piece.text))
        return done

    def failed(self, pieces: Sequence[Piece], reason: str, detail: str) -> list[TextResult]:
        """Enter that a batch failed: each window gets one more chance, alone."""
        done = []
        for piece in pieces:
            if piece.text not in self._open:
                continue
            if piece.tries:
                done.append(self._give_up(piece.text, reason, detail))
            else:
                self._wait(piece._replace(tries=1))
        return done

    def put_back(self, pieces: Sequence[Piece]) -> None:
        """Take windows back that were not computed, through no fault of theirs."""
        for piece in pieces:
            if piece.text in self._open:
                self._wait(piece)

    def _wait(self, piece: Piece) -> None:
        if piece.tries:
            self._alone.append(piece)
        else:
            heapq.heappush(self._waiting, (-piece.cost, piece))
        self.waiting_cost += piece.cost

    def _slice(self, piece: Piece) -> str:
        entry = self._open[piece.text]
        window = entry.windows[piece.window]
        return entry.shown.text[window.start : window.end]

    def _finish(self, number: int) -> TextResult:
        entry = self._close(number)
        merged = merge(entry.windows, entry.found)
        approximate = entry.approximate or merged.truncated
        spans = entry.shown.sources(merged.spans)
        return TextResult(entry.id, spans, seconds=entry.seconds, approximate=approximate)

    def _give_up(self, number: int, reason: str, detail: str) -> TextResult:
        entry = self._close(number)
        return TextResult(entry.id, [], "failed", reason, detail, entry.seconds)

    def _close(self, number: int) -> _Open:
        """Forget a text, and those of its windows that still wait."""
        entry = self._open.pop(number)
        self.open_chars -= len(entry.shown.text)
        if entry.missing:
            self._waiting = [item for item in self._waiting if item[1].text != number]
            heapq.heapify(self._waiting)
            self._alone = deque(piece for piece in self._alone if piece.text != number)
            self.waiting_cost = sum(item[1].cost for item in self._waiting)
            self.waiting_cost += sum(piece.cost for piece in self._alone)
        return entry
