"""Text to spans: the extractors, the windows, the worker pool, and the rules for a valid span."""

from ner_pipeline.inference.extractor import Extractor, ModelCard, load_extractor
from ner_pipeline.inference.spans import Span

__all__ = ["Extractor", "ModelCard", "Span", "load_extractor"]
