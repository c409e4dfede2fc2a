"""Which processes compute, how dear a character is there, how texts are cut: decided before any is started.

Here alone is asked whether a pipeline is compiled. No model is loaded for it, and no GPU looked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from ner_pipeline.inference.compiled.coverage import uncovered
from ner_pipeline.inference.components import active_components, cut_rule
from ner_pipeline.inference.extractor import DEFAULT_LOADER, LOADERS
from ner_pipeline.inference.pipeline_files import find_pipeline, read_pipeline
from ner_pipeline.inference.windows import CutRule

__all__ = ["COMPILED_NETWORK", "Topology", "choose_topology", "cut_of", "is_compiled"]

COMPILED_NETWORK = "ner_pipeline.inference.compiled.extractor:load_network"
SPACY_COST = 8
"""How dear a character is that spaCy computes on a core, against one that is compiled, or computed by a GPU:
for sizing batches only. Of another extractor the same is assumed."""


@dataclass(frozen=True, slots=True)
class Topology:
    """The processes of a pool."""

    workers: int
    """How many workers there may be."""
    network: str
    """What a device process loads for all of them, as `"module:function"`; empty: each computes by itself."""
    cost: int
    """How dear a character is, against one that is compiled."""


def choose_topology(*, gpu: bool, compiled: bool, network: str, workers: int) -> Topology:
    """Choose the processes. `network` is one of the caller's own, `workers` how many there may be."""
    network = network or (COMPILED_NETWORK if gpu and compiled else "")
    # Where tokenizing and computing cannot be parted, each worker would have the whole model on the GPU.
    workers = 1 if gpu and not network else workers
    return Topology(workers, network, 1 if compiled or gpu else SPACY_COST)


def is_compiled(loader: str, model: str, components: str) -> bool:
    """Tell from its files whether a pipeline is computed by the compiled extractor."""
    return loader == DEFAULT_LOADER and not uncovered(find_pipeline(model), components)


def cut_of(loader: str, model: str, components: str) -> CutRule:
    """Tell from its files how texts are cut for a pipeline; another extractor gets what most can do."""
    if loader not in LOADERS.values():
        return CutRule()
    pipeline = read_pipeline(find_pipeline(model))
    return cut_rule(pipeline, active_components(pipeline, components).names)
