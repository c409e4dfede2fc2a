"""The protocol of all extractors, and the choice between them.

Importing this module loads nothing heavy: spaCy comes with the extractor that needs it, when it is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from ner_pipeline.errors import ModelError
from ner_pipeline.inference.spans import Span

if TYPE_CHECKING:
    from pathlib import Path

    from ner_pipeline.inference.device import Device
    from ner_pipeline.inference.pool.shared_network import Network

__all__ = ["DEFAULT_LOADER", "LOADERS", "Extractor", "ModelCard", "load_extractor", "load_spacy_extractor"]

LOADERS = {
    "auto": f"{__name__}:load_extractor",
    "spacy": f"{__name__}:load_spacy_extractor",
}
"""Our extractors by the names that `NER_EXTRACTOR` gives them, as functions that a worker can import."""
DEFAULT_LOADER = LOADERS["auto"]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is to be known of a loaded model, in plain values: it goes into tables and manifests."""

    model: str
    """Name and version as the model's meta.json has them, such as `en_core_web_sm 3.8.0`."""
    version: str
    """The model version: a hash of all that can change a span."""
    labels: tuple[str, ...]
    """Every label that the model can give, sorted."""
    device: str
    """`cpu`, or `gpu:N`."""
    extractor: str
    """Which extractor computes: `compiled` or `spacy`."""
    why: str
    """Why this device and this extractor were chosen, in words."""
    scripts: tuple[str, ...] = ()
    """The scripts that the model reads, as ISO 15924 codes such as `Latn`, sorted; empty: nobody knows."""


class Extractor(Protocol):
    """Turns texts into spans."""

    card: ModelCard

    def extract(self, texts: Sequence[str]) -> list[list[Span]]:
        """Give the spans of each text, in the order of the texts; within a text by start."""
        ...


def load_extractor(
    model: str,
    device: str = "auto",
    components: str = "ner",
    prefer: Literal["compiled", "spacy"] = "compiled",
    *,
    network: Network | None = None,
    block_tokens: int = 0,
) -> Extractor:
    """Load the extractor for a model, in this process and this thread.

    `model`, `device` and `components` are the values of `NER_MODEL`, `NER_DEVICE` and `NER_COMPONENTS`. A
    pipeline that the compiled extractor does not cover is run by spaCy, and the card says why. A callable
    that takes the first three arguments is also how another extractor is put in (`pool.ExtractionPool`).
    With a `network`, which stands in another process, nothing but tokens is computed here. `block_tokens` is
    how many tokens are encoded at a time on a CPU; 0 is what suits most.

    Raises:
        ModelError: there is no such model or device, or spaCy cannot load it; or there is a network, but the
            pipeline is not compiled.
    """
    from ner_pipeline.inference.device import choose_device
    from ner_pipeline.inference.pipeline_files import find_pipeline

    chosen = choose_device(device)
    directory = find_pipeline(model)
    if prefer == "spacy":
        return _spacy_extractor(directory, components, chosen, "the spaCy extractor was asked for")

    from ner_pipeline.inference.compiled.coverage import NotCovered
    from ner_pipeline.inference.compiled.extractor import CompiledExtractor

    try:
        return CompiledExtractor(directory, components, chosen, network=network, block_tokens=block_tokens)
    except NotCovered as obstacle:
        if network is not None:
            raise ModelError(f"{directory}: {obstacle}; set NER_EXTRACTOR=spacy") from obstacle
        return _spacy_extractor(directory, components, chosen, str(obstacle))


def load_spacy_extractor(model: str, device: str = "auto", components: str = "ner") -> Extractor:
    """Load the extractor that lets spaCy compute: the loader behind `NER_EXTRACTOR=spacy`."""
    return load_extractor(model, device, components, prefer="spacy")


def _spacy_extractor(directory: Path, components: str, device: Device, not_compiled: str) -> Extractor:
    from ner_pipeline.inference.spacy_extractor import SpacyExtractor

    return SpacyExtractor(directory, components, device, not_compiled=not_compiled)
