"""The fused pass over rows: bias, maximum over pieces, layer norm, residual, and the next layer's windows.

It is the only computation that is written for each device: NumPy takes eight passes over memory for what
Numba and CUDA do in one. All give the same numbers but for rounding. Everything else is plain array code.

    v[t] = norm(max over pieces of (products[t] + bias)) + residual[t]

and v[t] is written to every window that it stands in: into row t - p at place p, for each place p of `out`.
The layer norm is thinc's (`layers/layernorm.py`): variance + 1e-8, over the width.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import numba
import numpy as np

from ner_pipeline.inference.compiled.weights import Maxout

__all__ = ["Array", "Kernels", "NumbaKernels", "NumpyKernels", "kernels_for", "warm_up"]

Array = Any
"""An array of NumPy or CuPy: which, says the `xp` that it is computed with."""

EPSILON = 1e-8


class Kernels(Protocol):
    """The fused passes on one device."""

    def norm(self, products: Array, layer: Maxout, residual: Array, out: Array) -> None:
        """One pass over rows.

        products: (n, pieces * width), without bias. residual: (n, places * width), of which the middle place
        counts. out: (n - places' + 1, places' * width), C-contiguous, written whole.
        """
        ...

    def gathered_norm(
        self, projected: Array, rows: Array, slots: Array, layer: Maxout, window: int, out: Array
    ) -> None:
        """The first layer: its products are sums of projected rows, one for each place.

        projected: (slots, places, pieces * width); rows: (slots, width), the residual; slots: int32,
        (n + 2 * window,); out as above.
        """
        ...


class NumpyKernels:
    """The passes as array code. Slow on a CPU, and the text against which the others are tested."""

    def __init__(self, xp: Any = np) -> None:
        self._xp = xp

    def norm(self, products: Array, layer: Maxout, residual: Array, out: Array) -> None:
        """See `Kernels`."""
        width = len(layer.gain)
        middle = residual.shape[1] // width // 2 * width
        self._finish(products, layer, residual[:, middle : middle + width], out)

    def gathered_norm(
        self, projected: Array, rows: Array, slots: Array, layer: Maxout, window: int, out: Array
    ) -> None:
        """See `Kernels`."""
        count = len(slots) - 2 * window
        products = sum(projected[slots[place : place + count], place] for place in range(2 * window + 1))
        self._finish(products, layer, rows[slots[window : window + count]], out)

    def _finish(self, products: Array, layer: Maxout, residual: Array, out: Array) -> None:
        xp, width = self._xp, len(layer.gain)
        pieces = (products + layer.bias).reshape(len(products), -1, width)
        best = pieces.max(axis=1)
        centred = best - best.mean(axis=1, keepdims=True)
        scale = 1 / xp.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(EPSILON))
        vectors = centred * scale * layer.gain + layer.shift + residual
        for place in range(out.shape[1] // width):
            out[:, place * width : (place + 1) * width] = vectors[place : place + len(out)]


class NumbaKernels:
    """The passes for one core, each compiled once and kept on disk by Numba."""

    def norm(self, products: Array, layer: Maxout, residual: Array, out: Array) -> None:
        """See `Kernels`."""
        _norm(products, layer.bias, layer.gain, layer.shift, residual, out)

    def gathered_norm(
        self, projected: Array, rows: Array, slots: Array, layer: Maxout, window: int, out: Array
    ) -> None:
        """See `Kernels`."""
        _gathered_norm(projected, rows, slots, layer.bias, layer.gain, layer.shift, window, out)


def _compiled(function: Callable[..., None]) -> Callable[..., None]:
    """Let Numba compile a pass when it is first called, and keep it on disk if it can."""
    # Sums may be taken in any order, which is what lets the compiler use vector instructions.
    options: dict[str, Any] = {"nogil": True, "fastmath": True, "error_model": "numpy"}
    try:
        compiled: Callable[..., None] = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        # There is no folder that can be written, as in a container that is read only.
        compiled = numba.njit(**options)(function)
    return compiled


@_compiled
def _maximum(product, bias, best):  # type: ignore[no-untyped-def]
    width = len(best)
    if len(bias) == 3 * width:
        # What nearly all networks have. Written out, since the compiler vectorises no loop within a loop.
        for i in range(width):
            second, third = product[width + i] + bias[width + i], product[2 * width + i] + bias[2 * width + i]
            best[i] = max(max(product[i] + bias[i], second), third)
        return
    best[:] = product[:width] + bias[:width]
    for piece in range(width, len(bias), width):
        for i in range(width):
            best[i] = max(best[i], product[piece + i] + bias[piece + i])


@_compiled
def _write(vector, gain, shift, residual, t, out):  # type: ignore[no-untyped-def]
    width = len(gain)
    mean = np.float32(0)
    for i in range(width):
        mean += vector[i]
    mean /= width
    variance = np.float32(0)
    for i in range(width):
        variance += (vector[i] - mean) * (vector[i] - mean)
    scale = np.float32(1) / np.sqrt(variance / np.float32(width) + np.float32(EPSILON))
    for i in range(width):
        vector[i] = (vector[i] - mean) * scale * gain[i] + shift[i] + residual[i]
    for place in range(out.shape[1] // width):
        row = t - place
        if 0 <= row < out.shape[0]:
            windows = out[row, place * width : (place + 1) * width]
            for i in range(width):
                windows[i] = vector[i]


@_compiled
def _norm(products, bias, gain, shift, residual, out):  # type: ignore[no-untyped-def]
    width = len(gain)
    middle = residual.shape[1] // width // 2 * width
    vector = np.empty(width, np.float32)
    for t in range(products.shape[0]):
        _maximum(products[t], bias, vector)
        _write(vector, gain, shift, residual[t, middle : middle + width], t, out)


@_compiled
def _gathered_norm(projected, rows, slots, bias, gain, shift, window, out):  # type: ignore[no-untyped-def]
    vector = np.empty(len(gain), np.float32)
    product = np.empty(len(bias), np.float32)
    for t in range(len(slots) - 2 * window):
        product[:] = projected[slots[t], 0]
        for place in range(1, 2 * window + 1):
            at_place = projected[slots[t + place], place]
            for i in range(len(bias)):
                product[i] += at_place[i]
        _maximum(product, bias, vector)
        _write(vector, gain, shift, rows[slots[t + window]], t, out)


def warm_up() -> None:
    """Let Numba compile the passes and keep them on disk: some seconds that no first document need wait."""
    rows, slots = np.zeros((3, 3), dtype=np.float32), np.zeros(3, dtype=np.int32)
    layer = Maxout(rows, np.zeros(3, dtype=np.float32), *np.zeros((2, 1), dtype=np.float32))
    kernels = NumbaKernels()
    kernels.norm(rows, layer, rows, np.zeros((3, 1), dtype=np.float32))
    kernels.gathered_norm(rows.reshape(1, 3, 3), rows[:, :1].copy(), slots, layer, 1, rows[:1, :1].copy())


@cache
def kernels_for(xp: Any) -> Kernels:
    """Give the passes for the arrays of `xp`."""
    if xp is np:
        return NumbaKernels()
    cuda = importlib.import_module("ner_pipeline.inference.compiled.cuda_kernels")
    kernels: Kernels = cuda.CudaKernels()
    return kernels
