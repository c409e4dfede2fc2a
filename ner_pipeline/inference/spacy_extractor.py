"""The extractor that runs a spaCy pipeline, any pipeline, through spaCy itself.

What it gives is what `nlp(text).ents` gives with the inactive components left out. It cuts nothing: which
stretch of a document is a text is decided by `windows`. It never uses spaCy's `n_process`, which ships
whole Docs between processes and waits for ever when one of them is killed; `pool` does that work.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path

from spacy.language import Language

from ner_pipeline.inference.components import (
    ENTITY_WRITERS,
    ActiveComponents,
    active_components,
    cut_rule,
    leaks_in_batches,
)
from ner_pipeline.inference.device import Device, activate
from ner_pipeline.inference.extractor import ModelCard
from ner_pipeline.inference.loading import load_pipeline
from ner_pipeline.inference.model_version import is_unchanged, model_version
from ner_pipeline.inference.pipeline_files import PipelineFiles, read_pipeline
from ner_pipeline.inference.scripts import model_scripts
from ner_pipeline.inference.spans import Span, spans_of

__all__ = ["SpacyExtractor"]

BATCH_TEXTS = 16
"""Texts that go through the network together. More gain nothing on a CPU and cost memory."""
NEW_STRINGS = 400_000
"""After so many new words the pipeline is loaded anew: about 150 MB, and minutes of computing."""


class SpacyExtractor:
    """A loaded spaCy pipeline. Use it in the thread that made it: thinc's device belongs to a thread."""

    def __init__(
        self,
        directory: Path,
        components: str,
        device: Device,
        *,
        not_compiled: str = "",
        new_strings: int = NEW_STRINGS,
    ) -> None:
        """Load the pipeline. `not_compiled` is why the compiled extractor does not run it, for the card."""
        self._directory, self._components = directory, components
        self._pipeline = read_pipeline(directory)
        self._active = active_components(self._pipeline, components)
        self._new_strings = new_strings
        self._batch_texts = 1 if leaks_in_batches(self._pipeline, self._active.names) else BATCH_TEXTS
        activate(device)
        self._load()
        self.card = ModelCard(
            model=self._pipeline.name,
            version=model_version(directory, components),
            labels=_labels(self._nlp, self._pipeline),
            device=device.name,
            extractor="spacy",
            why=_why(self._pipeline, self._active, device, not_compiled),
            scripts=model_scripts(self._pipeline),
        )

    def extract(self, texts: Sequence[str]) -> list[list[Span]]:
        """Give the entities of each text."""
        docs = self._nlp.pipe(texts, batch_size=self._batch_texts)
        found = [spans_of(doc) for doc in docs]
        if self.words_held > self._new_strings:
            self._forget_words()
        return found

    @property
    def words_held(self) -> int:
        """How many strings spaCy holds beyond those of the model."""
        return len(self._nlp.vocab.strings) - self._strings_at_first

    def _load(self) -> None:
        self._nlp = load_pipeline(self._pipeline, self._active.names)
        self._strings_at_first = len(self._nlp.vocab.strings)

    def _forget_words(self) -> None:
        """Keep memory bounded: spaCy keeps every word it has ever seen.

        `nlp.memory_zone` would forget after each batch, but inside it the tokenizer caches nothing, and
        components that keep strings of their own are left with dangling ones. A fresh pipeline is the
        same pipeline, as long as its files are: if they are not, the old one goes on.
        """
        if is_unchanged(self._directory, self._components, self.card.version):
            self._load()
            gc.collect()


def _labels(nlp: Language, pipeline: PipelineFiles) -> tuple[str, ...]:
    writers = [name for name in nlp.pipe_names if pipeline.factory(name) in ENTITY_WRITERS]
    return tuple(sorted({str(label) for name in writers for label in nlp.pipe_labels[name]}))


def _why(pipeline: PipelineFiles, active: ActiveComponents, device: Device, not_compiled: str) -> str:
    parts = [
        f"{device.name} ({device.why})",
        f"spaCy runs {', '.join(active.names)} ({active.why})",
        cut_rule(pipeline, active.names).why,
    ]
    return "; ".join([*parts, f"not compiled: {not_compiled}"] if not_compiled else parts)
