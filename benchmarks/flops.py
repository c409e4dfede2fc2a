"""The arithmetic that a model asks for, and how fast this machine can do bare arithmetic of that shape.

Counted are the matrix products that every token needs, from the dimensions of the loaded layers: a product of
`(tokens, nI)` with `(nI, nO * nP)` is `2 * nI * nO * nP` operations for each token. These are the window
layers of the encoder, the linear layer to the decoder's width, the decoder's lower layer (for each of its nF
places) and its upper one. The embedding and its mixer are not counted: they depend on the word alone, and a
store of words needs them once for each. Counting them would lower the bound, and flatter the share of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

BLOCK_TOKENS = 1_000
"""Rows of one product: what stays in the cache of a core, and is enough for full speed."""


class Product(NamedTuple):
    """The matrix product of one layer, for each token."""

    layer: str
    inputs: int
    outputs: int

    @property
    def flops(self) -> int:
        return 2 * self.inputs * self.outputs


def products(nlp: Any) -> list[Product]:
    """List the products that a pruned pipeline needs for each token."""
    return [product for _, pipe in nlp.pipeline for product in _products(pipe.model, sees_window=False)]


def flops_per_token(layers: Sequence[Product]) -> int:
    return sum(layer.flops for layer in layers)


def multiply(layers: Sequence[Product], tokens: int) -> None:
    """Do the products for so many tokens, and nothing else."""
    random = np.random.default_rng(0)
    pairs = [
        (
            random.random((BLOCK_TOKENS, layer.inputs), dtype=np.float32),
            random.random((layer.inputs, layer.outputs), dtype=np.float32),
            np.empty((BLOCK_TOKENS, layer.outputs), dtype=np.float32),
        )
        for layer in layers
    ]
    for first in range(0, tokens, BLOCK_TOKENS):
        rows = min(BLOCK_TOKENS, tokens - first)
        for inputs, weights, outputs in pairs:
            np.matmul(inputs[:rows], weights, out=outputs[:rows])


def _products(model: Any, *, sees_window: bool) -> Iterator[Product]:
    if model.name == "maxout" and sees_window:
        yield Product("encoder", model.get_dim("nI"), model.get_dim("nO") * model.get_dim("nP"))
    elif model.name == "linear":
        yield Product("linear", model.get_dim("nI"), model.get_dim("nO"))
    elif model.name == "precomputable_affine":
        places = model.get_dim("nF") * model.get_dim("nO") * model.get_dim("nP")
        yield Product("decoder", model.get_dim("nI"), places)
    window = sees_window or any(layer.name == "expand_window" for layer in model.layers)
    for layer in model.layers:
        yield from _products(layer, sees_window=window)
