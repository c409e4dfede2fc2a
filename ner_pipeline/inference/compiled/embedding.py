"""Rows of token types, embedded and mixed once per type, projected for the first layer, looked up.

All that the network reads of a token is a row of attribute values: the token's *type*. A text of a million
tokens has some ten thousand types, so the embedding is computed ten thousand times and not a million. The
first window layer is linear before its maximum, so its product is a sum over places of what stands there:
that too depends on types alone, and is kept beside the row.

A type's attributes are uint64: the values of `EmbeddingWeights.attributes`, the key of its static vector if
the network has such, and whether it is white space.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from thinc.api import NumpyOps

from ner_pipeline.inference.compiled.kernels import Array, kernels_for
from ner_pipeline.inference.compiled.weights import EmbeddingWeights, HashTable, NetworkWeights, VectorTable

__all__ = ["PAD", "Embedding", "RowTable"]

PAD = 0
"""The slot of the padding: a row of zeros, at which every document begins and ends."""

HASHES = 4
"""How many rows of a table make up the vector of a key (thinc 8.3, `layers/hashembed.py`)."""

_hash = NumpyOps().hash


class Embedding:
    """Turns attributes into rows."""

    def __init__(self, weights: EmbeddingWeights, xp: Any = np) -> None:
        self._weights, self._xp = weights, xp
        self._kernels = kernels_for(xp)

    def rows(self, attributes: NDArray[np.uint64]) -> Array:
        """Give the row of each type: (n, columns) uint64 on the host -> (n, width) float32 on the device."""
        xp, weights = self._xp, self._weights
        parts = [self._hashed(table, attributes[:, column]) for column, table in enumerate(weights.tables)]
        if weights.vectors is not None:
            parts.append(self._static(weights.vectors, attributes[:, len(weights.tables)]))
        products = xp.concatenate(parts, axis=1) @ weights.mixer.weights
        rows = xp.empty((len(attributes), len(weights.mixer.gain)), dtype=np.float32)
        self._kernels.norm(products, weights.mixer, xp.zeros_like(rows), rows)
        return rows

    def _hashed(self, table: HashTable, keys: NDArray[np.uint64]) -> Array:
        buckets = _hash(np.ascontiguousarray(keys), table.seed) % np.uint32(len(table.rows))
        buckets = self._xp.asarray(buckets)
        return sum(table.rows[buckets[:, hashed]] for hashed in range(HASHES))

    def _static(self, table: VectorTable, keys: NDArray[np.uint64]) -> Array:
        """A key without a vector has zeros."""
        row_of = table.row_of_key
        found = self._xp.asarray([row_of.get(key, -1) for key in keys.tolist()], dtype=np.int64)
        projected = table.vectors[found] @ table.projection
        return projected * (found >= 0)[:, None]


class RowTable:
    """The rows of the types in use, in a bounded number of slots.

    When it is full it is emptied, and filled again by what is asked for next.
    """

    def __init__(self, weights: NetworkWeights, xp: Any = np, *, max_bytes: int) -> None:
        self._xp = xp
        self._embedding = Embedding(weights.embedding, xp)
        places = 2 * weights.window + 1
        first = weights.layers[0].weights
        self._places = first.reshape(places, weights.width, -1)
        self.slots = max_bytes // (4 * (weights.width + first.shape[1] * places))
        """How many types it holds at most, the padding being one."""
        self.rows = xp.zeros((self.slots, weights.width), dtype=np.float32)
        """(slots, width): what the first layer adds its result to."""
        self.projected = xp.zeros((self.slots, places, first.shape[1]), dtype=np.float32)
        """(slots, places, pieces * width): what a type adds to the first layer's product at each place."""
        self._columns = weights.embedding.columns
        self.forget()

    def forget(self) -> None:
        """Forget all types."""
        self._attributes = np.empty((0, self._columns), dtype=np.uint64)
        self._slot_of = np.empty(0, dtype=np.int32)
        self._types, self._used = 0, PAD + 1

    def add(self, attributes: NDArray[np.uint64]) -> None:
        """Get to know new types, by their attributes; their numbers follow those of the ones before."""
        needed = self._types + len(attributes)
        if needed > len(self._attributes):
            self._grow(max(needed, 2 * len(self._attributes)))
        self._attributes[self._types : needed] = attributes
        self._types = needed

    def space(self, types: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell which types are white space."""
        space: NDArray[np.bool_] = self._attributes[types, -1] != 0
        return space

    def slot_of(self, types: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give the slot of each type, none of which is dropped before the next call: at most `slots` - 1."""
        slots = self._slot_of[types]
        if (slots < 0).any():
            self._fill(types)
            slots = self._slot_of[types]
        return slots

    def _fill(self, types: NDArray[np.int32]) -> None:
        wanted = np.unique(types)
        missing = wanted[self._slot_of[wanted] < 0]
        if self._used + len(missing) > self.slots:
            self._slot_of.fill(-1)
            self._used, missing = PAD + 1, wanted
        fresh = slice(self._used, self._used + len(missing))
        self.rows[fresh] = self._embedding.rows(self._attributes[missing])
        for place, weights in enumerate(self._places):
            self.projected[fresh, place] = self.rows[fresh] @ weights
        self._slot_of[missing] = np.arange(fresh.start, fresh.stop, dtype=np.int32)
        self._used = fresh.stop

    def _grow(self, size: int) -> None:
        attributes = np.zeros((size, self._columns), dtype=np.uint64)
        attributes[: self._types] = self._attributes[: self._types]
        slot_of = np.full(size, -1, dtype=np.int32)
        slot_of[: self._types] = self._slot_of[: self._types]
        self._attributes, self._slot_of = attributes, slot_of
