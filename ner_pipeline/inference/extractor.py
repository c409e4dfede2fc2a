"""The protocol of all extractors, and the choice between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ner_pipeline.inference.spans import Span

__all__ = ["Extractor", "ModelCard"]


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
    """Which extractor computes: `spacy`."""
    why: str
    """Why this device and this extractor were chosen, in words."""


class Extractor(Protocol):
    """Turns texts into spans."""

    card: ModelCard

    def extract(self, texts: Sequence[str]) -> list[list[Span]]:
        """Give the spans of each text, in the order of the texts; within a text by start."""
        ...
