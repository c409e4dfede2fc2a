"""Round the weights of a pipeline, so that git and a wheel keep it in less than half the space (int8).

    python scripts/precision.py training/slim/model-best training/slim/rounded int8

Only the values change. They stay float32: thinc computes in the type that it reads, and on a CPU its layers
take no other. So plain `spacy.load` reads the result, and it is as large and as fast as before; but the lower
bits of its numbers are zeros, which compression leaves out. Biases, gains and static vectors are not rounded.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import numpy as np
import spacy
from numpy.typing import NDArray
from spacy.language import Language
from spacy.pipeline import TrainablePipe

Floats = NDArray[np.float32]

ROUNDED = ("E", "W")
"""What thinc calls the rows of an embedding table and the weights of a layer: nearly all there is."""


def main(pipeline: str, output: str, precision: str) -> None:
    """Write the rounded pipeline, and say how large both are."""
    if precision not in PRECISIONS:
        sys.exit(f"precision: {precision} is none of {', '.join(PRECISIONS)}")
    nlp = spacy.load(pipeline)
    round_weights(nlp, precision)
    nlp.meta["version"] += f"+{precision}"
    nlp.meta.pop("performance", None)  # It was measured before rounding.
    nlp.to_disk(output)
    for folder in (pipeline, output):
        print(_sizes(Path(folder)))


def round_weights(nlp: Language, precision: str) -> None:
    """Round the tables and matrices of all components, in place."""
    rounded = PRECISIONS[precision]
    for _, component in nlp.pipeline:
        for layer in component.model.walk() if isinstance(component, TrainablePipe) else ():
            for name in filter(layer.has_param, ROUNDED):
                layer.set_param(name, rounded(layer.get_param(name)))


def _float16(weights: Floats) -> Floats:
    """Give the nearest numbers that float16 has: 11 significant bits."""
    return weights.astype(np.float16).astype(np.float32)


def _int8(weights: Floats) -> Floats:
    """Give each row (the last axis) as whole numbers from -127 to 127 times a power of two.

    Its largest number / 127 would be a finer step, but products with that fill the lower bits again.
    """
    largest = np.abs(weights).max(axis=-1, keepdims=True)
    steps = np.exp2(np.ceil(np.log2(np.where(largest, largest, 1) / 127)))
    return (np.rint(weights / steps) * steps).astype(np.float32)


PRECISIONS = {"float16": _float16, "int8": _int8}


def _sizes(folder: Path) -> str:
    """Say how large a folder is, and what zlib makes of its files, as wheels and git use it."""
    contents = [file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()]
    plain, compressed = sum(map(len, contents)), sum(len(zlib.compress(content)) for content in contents)
    return f"{folder}: {plain / 1e6:.1f} MB, {compressed / 1e6:.1f} MB compressed"


if __name__ == "__main__":
    main(*sys.argv[1:])
