"""Token vectors. Residual maxout windows over blocks that stay in the cache.

    x[t] <- x[t] + norm(maxout(W (x[t-w] … x[t+w]) + b))        for each layer

A block is computed with a halo of `reach` tokens on each side. Each layer uses up `window` of them, so the
vectors that are left are exact: those of the whole text. At a document's ends stand `reach` rows of zeros,
which evolve like tokens, as in spaCy (`MaxoutWindowEncoder`, `with_array(pad=…)`): after them nothing of
another document reaches in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ner_pipeline.inference.compiled.embedding import RowTable
from ner_pipeline.inference.compiled.kernels import Array, kernels_for
from ner_pipeline.inference.compiled.weights import NetworkWeights

__all__ = ["Encoder"]


class Encoder:
    """Turns slots of a `RowTable` into token vectors. Its buffers are its own: use it from one thread."""

    def __init__(self, weights: NetworkWeights, table: RowTable, xp: Any = np, *, block: int) -> None:
        self._table, self._xp = table, xp
        self._kernels = kernels_for(xp)
        self._first, *self._layers = weights.layers
        self._window, self._width, self.reach = weights.window, weights.width, weights.reach
        places, longest = 2 * weights.window + 1, block + 2 * weights.reach
        self._products = xp.empty((longest, len(self._first.bias)), dtype=np.float32)
        # Two, since a layer reads the windows of the one before while it writes those of the next.
        self._windows = [xp.empty(longest * places * weights.width, dtype=np.float32) for _ in range(2)]

    def vectors(self, slots: Array, out: Array) -> None:
        """Write the vectors of the tokens in the middle of `slots`.

        slots: (n + 2 * reach,) int32, n at most a block; out: (n, width) float32.
        """
        count = len(slots) - 2 * self._window
        windows = out if not self._layers else self._next_windows(0, count)
        table = self._table
        self._kernels.gathered_norm(table.projected, table.rows, slots, self._first, self._window, windows)
        for number, layer in enumerate(self._layers, 1):
            count -= 2 * self._window
            products = self._products[: len(windows)]
            self._xp.matmul(windows, layer.weights, out=products)
            target = out if number == len(self._layers) else self._next_windows(number, count)
            self._kernels.norm(products, layer, windows, target)
            windows = target

    def _next_windows(self, number: int, count: int) -> Array:
        """Give room for the windows that fit into `count` tokens: (count - 2 * window, places * width)."""
        rows, columns = count - 2 * self._window, (2 * self._window + 1) * self._width
        return self._windows[number % 2][: rows * columns].reshape(rows, columns)
