"""Step 3: entities. All tokens at once, then all open entities at once, then one sweep from left to right.

spaCy goes through a text token by token and scores a state at each. A state's features are the token; the
first token of the open entity; the token before, if an entity is open. So where none is open the move
depends on the token alone, and all tokens are scored in one product. Every entity that would begin anywhere
is then followed, all together, one token a step, choosing between going on and ending. At last the sweep
keeps those that begin where no other is open: what spaCy would have come to.

Which moves are allowed, after spaCy 3.8, `pipeline/_parser_internals/ner.pyx`: no entity begins on white
space, none of several tokens on the last one, and an entity that reaches the last token ends there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ner_pipeline.inference.compiled.kernels import Array
from ner_pipeline.inference.compiled.weights import DecoderWeights

__all__ = ["Decoder"]

STEPS = 32
"""So many tokens all entities are followed together; a longer one goes on alone, if it counts at all."""
ALONE = 256
"""So many tokens a lone entity is followed at a time."""

_TOKEN, _FIRST, _BEFORE = range(3)


@dataclass(frozen=True, slots=True)
class _Scored:
    """A stretch of tokens, and what they add to a state."""

    hidden: Array
    """(tokens, hidden)."""
    tokens: Array
    """(tokens, pieces * units): what each adds as the token of a state."""
    last: Array
    """(tokens,): whether it is the last one of its text."""


@dataclass(frozen=True, slots=True)
class _Open:
    """An entity on its way through a stretch."""

    line: int
    """The line of its first token, counted through all stretches."""
    label: int
    base: Array
    """(pieces * units,): what its first token adds to each of its states, and the bias."""
    before: Array
    """(hidden,): the token before the next one."""


class Decoder:
    """Turns token vectors into entities, a stretch at a time.

    It remembers the entity that is open at the end of a stretch: give it the stretches in order, and let
    the last one end with a text.
    """

    def __init__(self, weights: DecoderWeights, xp: Any = np) -> None:
        self._weights, self._xp = weights, xp
        closed = list(weights.closed)
        self._closed_bias = weights.bias + weights.absent[_FIRST] + weights.absent[_BEFORE]
        self._closed = weights.scores.weights[:, closed], weights.scores.bias[closed]
        self._begins = np.array([weights.begins.get(move, -1) for move in closed])
        self._units = np.array([weights.units.get(move, -1) for move in closed])
        self._inside, self._last = list(weights.inside), list(weights.last)
        self._forbidden = self._penalties()
        self._open: _Open | None = None

    def entities(
        self, vectors: Array, free: NDArray[np.bool_], last: NDArray[np.bool_], line: int
    ) -> NDArray[np.int64]:
        """Give the entities that end in a stretch, by line.

        vectors: (tokens, width) on the device; free: (tokens,), where an entity may begin; last: (tokens,),
        the last tokens of texts; line: where the stretch begins. Gives (entities, 3): the line of the first
        token, the line behind the last, the label.
        """
        weights = self._weights
        hidden = vectors @ weights.hidden.weights + weights.hidden.bias
        scored = _Scored(hidden, hidden @ weights.features[_TOKEN], self._xp.asarray(last))
        moves = self._closed_moves(scored, free, last)
        begins, units = self._begins[moves], self._units[moves]
        first = np.flatnonzero((begins >= 0) | (units >= 0))
        labels = np.maximum(begins[first], units[first])
        ends = first + 1
        several = begins[first] >= 0
        ends[several] = self._follow(scored, first[several], labels[several])
        return np.array(self._sweep(scored, first, ends, labels, line), dtype=np.int64).reshape(-1, 3)

    def _closed_moves(self, scored: _Scored, free: Any, last: Any) -> NDArray[np.int64]:
        """Give the best allowed move of each token as if no entity were open, as an index into `closed`."""
        weights, bias = self._closed
        scores = self._units_of(scored.tokens + self._closed_bias) @ weights + bias
        scores += self._forbidden[self._xp.asarray(np.where(free, last.astype(np.int64), 2))]
        return _to_host(scores.argmax(axis=1))

    def _penalties(self) -> Array:
        """What is added to the scores of a token where an entity may begin; on a last token; elsewhere."""
        penalties = np.zeros((3, len(self._begins)), dtype=np.float32)
        penalties[1, self._begins >= 0] = -np.inf
        penalties[2, (self._begins >= 0) | (self._units >= 0)] = -np.inf
        return self._xp.asarray(penalties)

    def _follow(
        self, scored: _Scored, first: NDArray[np.int64], labels: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Follow entities together; gives the line behind each, -1 where that is not known yet."""
        ends = np.full(len(first), -1, dtype=np.int64)
        alive = np.arange(len(first))
        bases = self._bases(scored, first)
        for step in range(1, STEPS + 1):
            alive = alive[first[alive] + step < len(scored.last)]
            if not len(alive):
                break
            at, chosen = self._xp.asarray(first[alive] + step), self._xp.asarray(alive)
            states = (
                scored.tokens[at] + bases[chosen] + scored.hidden[at - 1] @ self._weights.features[_BEFORE]
            )
            closes = _to_host(self._closes(states, self._xp.asarray(labels[alive]), scored.last[at]))
            ends[alive[closes]] = first[alive[closes]] + step + 1
            alive = alive[~closes]
        return ends

    def _sweep(
        self,
        scored: _Scored,
        first: NDArray[np.int64],
        ends: NDArray[np.int64],
        labels: NDArray[np.int64],
        line: int,
    ) -> list[tuple[int, int, int]]:
        """Keep the entities that begin where no other is open."""
        found: list[tuple[int, int, int]] = []
        free_from = 0
        if self._open is not None:
            open_entity, self._open = self._open, None
            free_from = self._finish(scored, open_entity, 0)
            if free_from >= 0:
                found.append((open_entity.line, line + free_from, open_entity.label))
        for start, end, label in zip(first.tolist(), ends.tolist(), labels.tolist(), strict=True):
            if not 0 <= free_from <= start:
                continue
            if end < 0:
                opened = _Open(line + start, label, self._bases(scored, start), scored.hidden[start])
                end = self._finish(scored, opened, start + 1)
            free_from = end
            if end >= 0:
                found.append((line + start, line + end, label))
        return found

    def _finish(self, scored: _Scored, entity: _Open, start: int) -> int:
        """Follow one entity from `start` on; gives the line behind it, -1 if the stretch ends first."""
        before = entity.before
        for at in range(start, len(scored.last), ALONE):
            here = slice(at, at + ALONE)
            hidden = scored.hidden[here]
            shifted = self._xp.concatenate([before[None], hidden[:-1]])
            states = scored.tokens[here] + entity.base + shifted @ self._weights.features[_BEFORE]
            labels = self._xp.full(len(hidden), entity.label)
            closes = np.flatnonzero(_to_host(self._closes(states, labels, scored.last[here])))
            if len(closes):
                return at + int(closes[0]) + 1
            before = hidden[-1]
        self._open = _Open(entity.line, entity.label, entity.base, before.copy())
        return -1

    def _bases(self, scored: _Scored, first: Any) -> Array:
        added = scored.hidden[self._xp.asarray(first)] @ self._weights.features[_FIRST]
        return added + self._weights.bias

    def _closes(self, states: Array, labels: Array, last: Array) -> Array:
        """Tell which entities end with their token. Of equal scores spaCy takes the move that comes first."""
        scores = self._units_of(states) @ self._weights.scores.weights + self._weights.scores.bias
        rows = self._xp.arange(len(scores))
        inside, ends = self._xp.asarray(self._inside)[labels], self._xp.asarray(self._last)[labels]
        on, off = scores[rows, inside], scores[rows, ends]
        return last | (off > on) | ((off == on) & (ends < inside))

    def _units_of(self, states: Array) -> Array:
        """Give the maximum over pieces: (n, pieces * units) -> (n, units)."""
        units = states.shape[1] // self._weights.pieces
        best = states[:, :units]
        for piece in range(1, self._weights.pieces):
            best = self._xp.maximum(best, states[:, piece * units : (piece + 1) * units])
        return best


def _to_host(array: Array) -> NDArray[Any]:
    return array if isinstance(array, np.ndarray) else array.get()
