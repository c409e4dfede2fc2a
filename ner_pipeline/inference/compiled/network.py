"""The network behind the tokenizer: token types in, token spans out.

It belongs to one process and one device. Texts are laid out one behind the other on *lines*: one line for
each token, and `reach` lines of padding before, between and behind the texts. Long texts cost no more memory
than short ones: lines are encoded and decoded a stretch at a time, and an entity that is open at the end of a
stretch goes on in the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ner_pipeline.inference.compiled.decoder import Decoder
from ner_pipeline.inference.compiled.embedding import PAD, RowTable
from ner_pipeline.inference.compiled.encoder import Encoder
from ner_pipeline.inference.compiled.weights import NetworkWeights, on_device

__all__ = ["CPU", "DOUBT", "GPU", "Network", "Sizes"]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is computed and kept at a time."""

    block: int
    """So many tokens are encoded at a time."""
    stretch: int
    """So many tokens are decoded at a time."""
    table_bytes: int
    """How much memory the rows of types may take."""


CPU = Sizes(block=600, stretch=16_000, table_bytes=256 << 20)
"""What a layer reads and writes of a block fits into a core's cache."""
GPU = Sizes(block=32_000, stretch=64_000, table_bytes=2 << 30)
"""A block is many times what a GPU computes at once, so that starting its kernels counts for little."""
DOUBT = -1
"""In the place of a label: at this token rounding decided."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """Texts laid out for the encoder."""

    types: NDArray[np.int32]
    """(lines,): the type of each line's token; -1 for padding."""
    first: NDArray[np.int64]
    """(texts,): the line of each text's first token."""

    last: NDArray[np.bool_]
    """(lines,): whether it is the last token of a text."""


class Network:
    """A network on its device."""

    def __init__(
        self,
        weights: NetworkWeights,
        xp: Any = np,
        *,
        sizes: Sizes | None = None,
    ) -> None:
        sizes = sizes or (CPU if xp is np else GPU)
        weights = on_device(weights, xp)
        self._xp = xp
        self._table = RowTable(weights, xp, max_bytes=sizes.table_bytes)
        self._stretch = min(sizes.stretch, self._table.slots - 2 * weights.reach - 1)
        self._block = min(sizes.block, self._stretch)
        self._encoder = Encoder(weights, self._table, xp, block=self._block)
        self._decoder = Decoder(weights.decoder, xp)
        self._vectors = xp.empty((self._stretch, weights.width), dtype=np.float32)
        self.labels = weights.decoder.labels

    def add_types(self, attributes: NDArray[np.uint64]) -> None:
        """Get to know new token types: (n, columns). They are numbered on, from 0."""
        self._table.add(attributes)

    def forget_types(self) -> None:
        """Forget all types; the next ones are numbered from 0."""
        self._table.forget()

    def find(self, types: NDArray[np.int32], lengths: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give the entities of texts.

        types: (tokens,), the texts one behind the other; lengths: (texts,), the tokens of each. Gives
        (entities, 4): text, first token, token behind the last, label; by text and token. Rows with the
        label `DOUBT` are no entities but tokens at which rounding decided.
        """
        if not len(types):
            return np.empty((0, 4), dtype=np.int32)
        lines = _lay_out(types, lengths, self._encoder.reach)
        self._decoder.begin()
        found = [
            self._decode(lines, start, min(start + self._stretch, len(lines.types)))
            for start in range(0, len(lines.types), self._stretch)
        ]
        return _by_text(np.concatenate(found), lines.first)

    def _decode(self, lines: _Lines, start: int, stop: int) -> NDArray[np.int64]:
        """Give the entities that end on lines `start` to `stop`: (entities, 3), line, line behind, label."""
        types = lines.types[start:stop]
        free = types >= 0
        free[free] = ~self._table.space(types[free])
        found = self._decoder.entities(self._encode(lines, start, stop), free, lines.last[start:stop], start)
        ties = np.column_stack([found.ties, found.ties + 1, np.full(len(found.ties), DOUBT)])
        return np.concatenate([found.entities, ties])

    def _encode(self, lines: _Lines, start: int, stop: int) -> Any:
        """Give the vectors of lines `start` to `stop`, in a buffer that the next call writes over."""
        reach, slots = self._encoder.reach, self._xp.asarray(self._slots(lines.types, start, stop))
        for at in range(0, stop - start, self._block):
            count = min(self._block, stop - start - at)
            self._encoder.vectors(slots[at : at + count + 2 * reach], self._vectors[at : at + count])
        return self._vectors[: stop - start]

    def _slots(self, types: NDArray[np.int32], start: int, stop: int) -> NDArray[np.int32]:
        """Give the slots of lines `start` to `stop`, and of the halo on both sides."""
        reach = self._encoder.reach
        seen = types[max(0, start - reach) : stop + reach]
        tokens = seen >= 0
        slots = np.full(stop - start + 2 * reach, PAD, dtype=np.int32)
        at = max(0, reach - start)
        slots[at : at + len(seen)][tokens] = self._table.slot_of(seen[tokens])
        return slots


def _lay_out(types: NDArray[np.int32], lengths: NDArray[np.int32], reach: int) -> _Lines:
    ends = np.cumsum(lengths, dtype=np.int64)
    first = ends - lengths + reach * np.arange(1, len(lengths) + 1)
    lines = np.full(len(types) + reach * (len(lengths) + 1), -1, dtype=np.int32)
    shift = np.repeat(reach * np.arange(1, len(lengths) + 1), lengths)
    lines[np.arange(len(types)) + shift] = types
    last = np.zeros(len(lines), dtype=np.bool_)
    last[(first + lengths - 1)[lengths > 0]] = True
    return _Lines(lines, first, last)


def _by_text(found: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.int32]:
    """Turn lines into tokens of their texts."""
    text = np.searchsorted(first, found[:, 0], side="right") - 1
    start, end = found[:, 0] - first[text], found[:, 1] - first[text]
    rows = np.column_stack([text, start, end, found[:, 2]]).astype(np.int32)
    return rows[np.lexsort((start, text))]
