"""Token types: every distinct row of what the network reads of a token, numbered as they turn up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IS_SPACE, SPACY

from ner_pipeline.inference.compiled.weights import EmbeddingWeights

if TYPE_CHECKING:
    from spacy.tokens import Doc

__all__ = ["TokenTypes"]


class TokenTypes:
    """The types that have been seen, and the numbers that they have."""

    def __init__(self, weights: EmbeddingWeights) -> None:
        key = () if weights.vector_attribute is None else (weights.vector_attribute,)
        self._columns = [*weights.attributes, *key, IS_SPACE]
        self.followed = weights.attributes.index(SPACY) if SPACY in weights.attributes else None
        """The column that says whether a single space follows the token, if the network reads that."""
        self._row_bytes = 8 * len(self._columns)
        self._number: dict[bytes, int] = {}
        self._fresh: list[bytes] = []

    def __len__(self) -> int:
        return len(self._number)

    def rows(self, doc: Doc) -> NDArray[np.uint64]:
        """Give the attributes of each token of a spaCy Doc: (tokens, columns)."""
        return np.ascontiguousarray(doc.to_array(self._columns), dtype=np.uint64)

    def of(self, rows: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Give the type of each row: (n, columns) -> (n,). New ones get the next numbers."""
        data, size = rows.tobytes(), self._row_bytes
        types = (self._type(data[at : at + size]) for at in range(0, len(data), size))
        return np.fromiter(types, dtype=np.int32, count=len(rows))

    def _type(self, key: bytes) -> int:
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = len(self._number)
            self._fresh.append(key)
        return number

    def new(self) -> NDArray[np.uint64]:
        """Give the attributes of the types that have come since the last call, by their numbers."""
        fresh, self._fresh = b"".join(self._fresh), []
        return np.frombuffer(fresh, dtype=np.uint64).reshape(-1, len(self._columns))

    def forget(self) -> None:
        """Forget all types."""
        self._number.clear()
        self._fresh.clear()
