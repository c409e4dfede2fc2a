"""Entities. All tokens at once, then all open entities at once, then one sweep from left to right.

spaCy goes through a text token by token and scores a state at each. A state's features are the token; the
first token of the open entity; the token before, if an entity is open. So where none is open the move
depends on the token alone, and all tokens are scored in one product. Every entity that would begin anywhere
is then followed, all together, one token a step, choosing between going on and ending. At last the sweep
keeps those that begin where no other is open: what spaCy would have come to.

Two moves may score so nearly the same that rounding decides between them, and spaCy rounds otherwise than we
do. Such ties are reported, and spaCy decides them.

Which moves are allowed, after spaCy 3.8, `pipeline/_parser_internals/ner.pyx`: no entity begins on white
space, none of several tokens on the last one, and an entity that reaches the last token ends there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ner_pipeline.inference.compiled.kernels import Array
from ner_pipeline.inference.compiled.weights import DecoderWeights

__all__ = ["Decoder", "Found"]

STEPS = 32
"""So many tokens all entities are followed together; a longer one goes on alone, if it counts at all."""
ALONE = 256
"""So many tokens a lone entity is followed at a time."""
TIE = 5e-6
"""Scores that differ by less than this share of the largest are a tie. Each of ours was seen to be off by up
to a quarter of it, in networks of 4 layers of 128; so large, some six decisions in a million are ties."""

_TOKEN, _FIRST, _BEFORE = range(3)


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in a stretch."""

    entities: NDArray[np.int64]
    """(entities, 3): the line of the first token, the line behind the last, the label."""
    ties: NDArray[np.int64]
    """(ties,): lines of tokens at which rounding decided."""


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
    tie: bool = False


@dataclass(slots=True)
class _Candidates:
    """The entities that would begin in a stretch if no other were open, by line."""

    first: NDArray[np.int64]
    labels: NDArray[np.int64]
    ends: NDArray[np.int64]
    """The line behind each; -1 where it is not known yet."""
    ties: NDArray[np.bool_]
    """Whether rounding decided where it ends."""


class Decoder:
    """Turns token vectors into entities, a stretch at a time.

    It remembers the entity that is open at the end of a stretch: call `begin`, then give it the stretches in
    order, the last of which ends with a text.
    """

    def __init__(self, weights: DecoderWeights, xp: Any = np) -> None:
        self._weights, self._xp = weights, xp
        closed = list(weights.closed)
        self._closed_bias = weights.bias + weights.absent[_FIRST] + weights.absent[_BEFORE]
        self._closed = weights.scores.weights[:, closed], weights.scores.bias[closed]
        self._begins = np.array([weights.begins.get(move, -1) for move in closed])
        self._singles = np.array([weights.singles.get(move, -1) for move in closed])
        self._inside, self._last = xp.asarray(weights.inside), xp.asarray(weights.last)
        self._forbidden = self._penalties()
        self._open: _Open | None = None
        self._near: Array = 0
        """How much alike two scores of the stretch are that are a tie."""

    def begin(self) -> None:
        """Begin with the first stretch."""
        self._open = None

    def entities(self, vectors: Array, free: NDArray[np.bool_], last: NDArray[np.bool_], line: int) -> Found:
        """Give the entities that end in a stretch, by line.

        vectors: (tokens, width) on the device; free: (tokens,), where an entity may begin; last: (tokens,),
        the last tokens of texts; line: where the stretch begins.
        """
        weights = self._weights
        hidden = vectors @ weights.hidden.weights + weights.hidden.bias
        scored = _Scored(hidden, hidden @ weights.features[_TOKEN], self._xp.asarray(last))
        moves, ties = self._closed_moves(scored, free, last)
        kept = self._sweep(scored, self._candidates(scored, moves), line)
        for start, end, _, tie in kept:
            ties[max(0, start + 1 - line) : end - line] = False
            ties[max(0, start - line)] |= tie
        if self._open is not None:
            ties[max(0, self._open.line + 1 - line) :] = False
        found = np.array([row[:3] for row in kept], dtype=np.int64).reshape(-1, 3)
        return Found(found, line + np.flatnonzero(ties))

    def _closed_moves(
        self, scored: _Scored, free: NDArray[np.bool_], last: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Give the best allowed move of each token as if no entity were open, and whether it is a tie.

        Moves are given as positions in `closed`.
        """
        xp, (weights, bias) = self._xp, self._closed
        scores = self._units_of(scored.tokens + self._closed_bias) @ weights + bias
        self._near = TIE * xp.abs(scores).max()
        scores += self._forbidden[xp.asarray(np.where(free, last.astype(np.int64), 2))]
        rows, best = xp.arange(len(scores)), scores.argmax(axis=1)
        highest = scores[rows, best]
        scores[rows, best] = -np.inf
        return _to_host(best), _to_host(highest - scores.max(axis=1) < self._near)

    def _penalties(self) -> Array:
        """What is added to the scores of a token where an entity may begin; on a last token; elsewhere."""
        penalties = np.zeros((3, len(self._begins)), dtype=np.float32)
        penalties[1, self._begins >= 0] = -np.inf
        penalties[2, (self._begins >= 0) | (self._singles >= 0)] = -np.inf
        return self._xp.asarray(penalties)

    def _candidates(self, scored: _Scored, moves: NDArray[np.int64]) -> _Candidates:
        begins, singles = self._begins[moves], self._singles[moves]
        first = np.flatnonzero((begins >= 0) | (singles >= 0))
        labels = np.maximum(begins[first], singles[first])
        found = _Candidates(first, labels, first + 1, np.zeros(len(first), dtype=np.bool_))
        self._follow(scored, found, np.flatnonzero(begins[first] >= 0))
        return found

    def _follow(self, scored: _Scored, found: _Candidates, alive: NDArray[np.int64]) -> None:
        """Follow those entities that have several tokens, together, and enter where they end."""
        found.ends[alive] = -1
        bases = self._bases(scored, found.first)
        for step in range(1, STEPS + 1):
            alive = alive[found.first[alive] + step < len(scored.last)]
            if not len(alive):
                return
            at, chosen = self._xp.asarray(found.first[alive] + step), self._xp.asarray(alive)
            before = scored.hidden[at - 1] @ self._weights.features[_BEFORE]
            states = scored.tokens[at] + bases[chosen] + before
            closes, ties = self._closes(states, self._xp.asarray(found.labels[alive]), scored.last[at])
            found.ties[alive] |= ties
            found.ends[alive[closes]] = found.first[alive[closes]] + step + 1
            alive = alive[~closes]

    def _sweep(self, scored: _Scored, found: _Candidates, line: int) -> list[tuple[int, int, int, bool]]:
        """Keep the entities that begin where no other is open: first line, line behind, label, tie."""
        kept: list[tuple[int, int, int, bool]] = []
        behind = 0
        if self._open is not None:
            behind = self._finish(scored, self._open, 0, line, kept)
        columns = (found.first, found.ends, found.labels, found.ties)
        for start, end, label, tie in zip(*(column.tolist() for column in columns), strict=True):
            if start < behind:
                continue
            if end < 0:
                base, before = self._bases(scored, start), scored.hidden[start]
                behind = self._finish(scored, _Open(line + start, label, base, before), start + 1, line, kept)
            else:
                kept.append((line + start, line + end, label, tie))
                behind = end
        return kept

    def _finish(
        self, scored: _Scored, entity: _Open, start: int, line: int, kept: list[tuple[int, int, int, bool]]
    ) -> int:
        """Follow one entity from `start` on; gives what lies behind it. It may be open at the end."""
        for at in range(start, len(scored.last), ALONE):
            here = slice(at, at + ALONE)
            hidden = scored.hidden[here]
            before = (
                self._xp.concatenate([entity.before[None], hidden[:-1]]) @ self._weights.features[_BEFORE]
            )
            labels = self._xp.full(len(hidden), entity.label)
            closes, ties = self._closes(scored.tokens[here] + entity.base + before, labels, scored.last[here])
            end = int(closes.argmax()) + 1 if closes.any() else 0
            entity = replace(entity, before=hidden[-1], tie=entity.tie or bool(ties[: end or None].any()))
            if end:
                self._open = None
                kept.append((entity.line, line + at + end, entity.label, entity.tie))
                return at + end
        self._open = entity
        return len(scored.last)

    def _bases(self, scored: _Scored, first: Any) -> Array:
        added = scored.hidden[self._xp.asarray(first)] @ self._weights.features[_FIRST]
        return added + self._weights.bias

    def _closes(
        self, states: Array, labels: Array, last: Array
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell which entities end with their token, and where that is a tie.

        Of equal scores spaCy takes the move that comes first.
        """
        scores = self._units_of(states) @ self._weights.scores.weights + self._weights.scores.bias
        rows, inside, ends = self._xp.arange(len(scores)), self._inside[labels], self._last[labels]
        on, off = scores[rows, inside], scores[rows, ends]
        closes = last | (off > on) | ((off == on) & (ends < inside))
        ties = ~last & (self._xp.abs(off - on) < self._near)
        return _to_host(closes), _to_host(ties)

    def _units_of(self, states: Array) -> Array:
        """Give the maximum over pieces: (n, pieces * units) -> (n, units)."""
        units = states.shape[1] // self._weights.pieces
        best = states[:, :units]
        for piece in range(1, self._weights.pieces):
            best = self._xp.maximum(best, states[:, piece * units : (piece + 1) * units])
        return best


def _to_host(array: Array) -> NDArray[Any]:
    return array if isinstance(array, np.ndarray) else array.get()
