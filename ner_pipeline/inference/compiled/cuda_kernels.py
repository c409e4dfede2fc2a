"""The fused passes on an NVIDIA GPU, through CuPy. See `kernels` for what they compute.

One block of threads for each row. A thread takes every `blockDim.x`-th unit of the width; sums over the width
go through shared memory. Nothing is compiled before the first call, and CuPy keeps what it has compiled.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from ner_pipeline.inference.compiled.kernels import EPSILON, Array
from ner_pipeline.inference.compiled.weights import Maxout

__all__ = ["CudaKernels"]

THREADS = 128
"""A power of two, as the sums need it: the usual widths of 96 and 128 take one step, 256 takes two."""

_SOURCE = r"""
// Sum `mine` over the threads of a block.
__device__ float total(float mine, float* shared) {
    shared[threadIdx.x] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    float sum = shared[0];
    __syncthreads();
    return sum;
}

// Norm the row in `vector`, add the residual, and write it into all windows that row t stands in.
__device__ void finish(float* vector, float* shared, const float* gain, const float* shift,
                       const float* residual, float* out, int t, int rows, int places, int width) {
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum += vector[i];
    float mean = total(sum, shared) / width;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float centred = vector[i] - mean;
        squares += centred * centred;
    }
    float scale = 1.0f / sqrtf(total(squares, shared) / width + EPSILON);
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float value = (vector[i] - mean) * scale * gain[i] + shift[i] + residual[i];
        for (int place = 0; place < places; place++) {
            int row = t - place;
            if (row >= 0 && row < rows) out[((long long) row * places + place) * width + i] = value;
        }
    }
}

extern "C" __global__ void fused_norm(const float* products, const float* bias, const float* gain,
                                const float* shift, const float* residual, float* out,
                                int rows, int places, int width, int pieces, int residual_width) {
    extern __shared__ float memory[];
    float* vector = memory + blockDim.x;
    long long t = blockIdx.x;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float best = products[t * pieces * width + i] + bias[i];
        for (int piece = 1; piece < pieces; piece++)
            best = fmaxf(best, products[(t * pieces + piece) * width + i] + bias[piece * width + i]);
        vector[i] = best;
    }
    int middle = residual_width / width / 2 * width;
    finish(vector, memory, gain, shift, residual + t * residual_width + middle, out, t, rows, places, width);
}

extern "C" __global__ void fused_gathered_norm(const float* projected, const float* table, const int* slots,
                                         const float* bias, const float* gain, const float* shift, float* out,
                                         int rows, int places, int width, int pieces, int window) {
    extern __shared__ float memory[];
    float* vector = memory + blockDim.x;
    int t = blockIdx.x, seen = 2 * window + 1;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float best = 0;
        for (int piece = 0; piece < pieces; piece++) {
            float sum = bias[piece * width + i];
            for (int place = 0; place < seen; place++) {
                long long row = (long long) slots[t + place] * seen + place;
                sum += projected[(row * pieces + piece) * width + i];
            }
            best = piece == 0 ? sum : fmaxf(best, sum);
        }
        vector[i] = best;
    }
    const float* residual = table + (long long) slots[t + window] * width;
    finish(vector, memory, gain, shift, residual, out, t, rows, places, width);
}
"""


class CudaKernels:
    """The passes on the current GPU."""

    def __init__(self) -> None:
        module = cupy.RawModule(code=_SOURCE, options=(f"-DEPSILON={EPSILON}f",))
        self._norm = module.get_function("fused_norm")
        self._gathered_norm = module.get_function("fused_gathered_norm")

    def norm(self, products: Array, layer: Maxout, residual: Array, out: Array) -> None:
        """See `kernels.Kernels`."""
        width = len(layer.gain)
        sizes = (len(out), out.shape[1] // width, width, len(layer.bias) // width, residual.shape[1])
        arrays = (products, layer.bias, layer.gain, layer.shift, residual, out)
        self._launch(self._norm, len(products), width, (*arrays, *map(np.int32, sizes)))

    def gathered_norm(
        self, projected: Array, rows: Array, slots: Array, layer: Maxout, window: int, out: Array
    ) -> None:
        """See `kernels.Kernels`."""
        width, count = len(layer.gain), len(slots) - 2 * window
        sizes = (len(out), out.shape[1] // width, width, len(layer.bias) // width, window)
        arrays = (projected, rows, slots, layer.bias, layer.gain, layer.shift, out)
        self._launch(self._gathered_norm, count, width, (*arrays, *map(np.int32, sizes)))

    @staticmethod
    def _launch(kernel: Any, rows: int, width: int, arguments: tuple[Any, ...]) -> None:
        shared = 4 * (THREADS + width)
        kernel((rows,), (THREADS,), arguments, shared_mem=shared)
