"""The formula for the arithmetic of a model, against numbers counted by hand."""

import numpy as np

from benchmarks import flops
from benchmarks.ways import load_pruned


def test_the_layers_of_a_published_model_are_those_counted_by_hand():
    width, pieces, hidden, places, labels = 96, 3, 64, 3, 74
    layers = flops.products(load_pruned())
    assert sorted(layers) == sorted(
        [
            *[flops.Product("encoder", 3 * width, width * pieces)] * 4,
            flops.Product("linear", width, hidden),
            flops.Product("decoder", hidden, places * hidden * 2),
            flops.Product("linear", hidden, labels),
        ]
    )
    assert flops.flops_per_token(layers) == 4 * 165_888 + 12_288 + 49_152 + 9_472


def test_bare_products_are_done_for_every_token(monkeypatch):
    rows = []
    monkeypatch.setattr(np, "matmul", lambda inputs, weights, out: rows.append((*inputs.shape, *out.shape)))
    flops.multiply([flops.Product("linear", 4, 2)], 2_300)
    assert rows == [(1_000, 4, 1_000, 2), (1_000, 4, 1_000, 2), (300, 4, 300, 2)]
