"""The compiled extractor: a reader in front, the network behind it, and a bound on what both keep."""

from __future__ import annotations

import gc
import importlib
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokenizer import Tokenizer
from thinc.api import use_ops

from ner_pipeline.errors import ModelError
from ner_pipeline.inference.compiled.coverage import NotCovered, check_coverage
from ner_pipeline.inference.compiled.joints import Joints
from ner_pipeline.inference.compiled.lexicon import Lexicon
from ner_pipeline.inference.compiled.network import CPU, DOUBT, Network
from ner_pipeline.inference.compiled.referee import settle
from ner_pipeline.inference.compiled.token_types import TokenTypes
from ner_pipeline.inference.compiled.tokens import DocReader, Reader, Tokens
from ner_pipeline.inference.compiled.weights import NetworkWeights, read_weights
from ner_pipeline.inference.components import active_components
from ner_pipeline.inference.device import Device, choose_device
from ner_pipeline.inference.extractor import ModelCard
from ner_pipeline.inference.loading import load_pipeline
from ner_pipeline.inference.model_version import is_unchanged, model_version
from ner_pipeline.inference.pipeline_files import PipelineFiles, find_pipeline, read_pipeline
from ner_pipeline.inference.scripts import model_scripts
from ner_pipeline.inference.spans import Span, spans_of

if TYPE_CHECKING:
    from spacy.language import Language

    from ner_pipeline.inference.pool.shared_network import Network as AnyNetwork

__all__ = ["CompiledExtractor", "load_network"]

HELD_TOKENS = 1_000_000
"""So many tokens of known pieces are kept, with what belongs to them some 200 MB, before all is forgotten."""
HELD_TYPES = 400_000
"""And so many token types."""


class CompiledExtractor:
    """A pipeline's entity recognizer, computed by arrays. Threads take turns: it uses one core at a time."""

    def __init__(
        self,
        directory: Path,
        components: str,
        device: Device,
        *,
        network: AnyNetwork | None = None,
        block_tokens: int = 0,
        held_tokens: int = HELD_TOKENS,
        held_types: int = HELD_TYPES,
    ) -> None:
        """Load the pipeline and read its numbers. `network` is one that stands already, in another process;
        `block_tokens` overrides how many tokens are encoded at a time on a CPU.

        Raises:
            NotCovered: it is not of the kind that is compiled.
        """
        self._turn = threading.Lock()
        self._directory, self._components = directory, components
        self._pipeline = read_pipeline(directory)
        self._held_tokens, self._held_types = held_tokens, held_types
        ner = check_coverage(self._pipeline, components)
        active = active_components(self._pipeline, components)
        self._names = active.names
        self._nlp = _load(self._pipeline, self._names)
        weights = read_weights(self._nlp, ner)
        self._network = network or _network(weights, device, block_tokens)
        self._types = TokenTypes(weights.embedding)
        self._labels = weights.decoder.labels
        self._reader = _reader(self._nlp, self._types)
        self.card = ModelCard(
            model=self._pipeline.name,
            version=model_version(directory, components),
            labels=tuple(sorted(weights.decoder.labels)),
            device=device.name,
            extractor="compiled",
            why=f"{device.name} ({device.why}); {ner} is compiled ({active.why}); "
            + _how_read(self._reader, self._nlp.tokenizer),
            scripts=model_scripts(self._pipeline),
        )

    def extract(self, texts: Sequence[str]) -> list[list[Span]]:
        """Give the entities of each text."""
        with self._turn:
            try:
                return self._extract(texts)
            except BaseException:
                # What is known of types here and in the network need not be the same any more.
                self._clear()
                raise

    def _extract(self, texts: Sequence[str]) -> list[list[Span]]:
        tokens = self._reader.tokens(texts)
        self._network.add_types(self._types.new())
        found = self._network.find(tokens.types, tokens.lengths)
        sure = found[:, 3] != DOUBT
        spans = _spans(tokens, found[sure], self._labels)
        for text, ties in _ties(tokens, found[~sure]).items():
            spans[text] = settle(self._nlp, texts[text], spans[text], ties)
        for text in tokens.marked:
            spans[text] = spans_of(self._nlp(texts[text]))
        if self._reader.held > self._held_tokens or len(self._types) > self._held_types:
            self._forget()
        return spans

    @property
    def held(self) -> dict[str, int]:
        """How much is kept of the texts that were seen."""
        return {"tokens of known pieces": self._reader.held, "types": len(self._types)}

    def _forget(self) -> None:
        """Keep memory bounded: begin again with empty tables and, since spaCy keeps words, a fresh pipeline.

        If the pipeline's files have changed meanwhile, the old one goes on.
        """
        self._clear()
        if is_unchanged(self._directory, self._components, self.card.version):
            vectors = self._nlp.vocab.vectors
            self._nlp = _load(self._pipeline, self._names)
            # The network holds these: a second copy may be hundreds of megabytes. With them would come all
            # words that the old pipeline had seen.
            vectors.strings = self._nlp.vocab.strings
            self._nlp.vocab.vectors = vectors
            self._reader = _reader(self._nlp, self._types)
            gc.collect()

    def _clear(self) -> None:
        self._reader.forget()
        self._types.forget()
        self._network.forget_types()


def load_network(model: str, device: str = "auto", components: str = "ner") -> Network:
    """Load only what is behind the reader, for a process that computes for several readers.

    Raises:
        ModelError: the pipeline is not of the kind that is compiled.
    """
    pipeline = read_pipeline(find_pipeline(model))
    try:
        ner = check_coverage(pipeline, components)
        nlp = _load(pipeline, active_components(pipeline, components).names)
        return _network(read_weights(nlp, ner), choose_device(device), 0)
    except NotCovered as obstacle:
        raise ModelError(f"{pipeline.directory}: {obstacle}; set NER_EXTRACTOR=spacy") from obstacle


def _load(pipeline: PipelineFiles, names: tuple[str, ...]) -> Language:
    """Load a pipeline to memory, even where spaCy has been told to compute on a GPU: it is to be read."""
    with use_ops("numpy"):
        return load_pipeline(pipeline, names)


def _network(weights: NetworkWeights, device: Device, block_tokens: int) -> Network:
    sizes = replace(CPU, block=block_tokens) if block_tokens and device.gpu is None else None
    return Network(weights, _array_module(device), sizes=sizes)


def _array_module(device: Device) -> Any:
    """Give the module whose arrays live on the device: NumPy, or CuPy with the GPU chosen."""
    if device.gpu is None:
        return np
    cupy = importlib.import_module("cupy")
    cupy.cuda.Device(device.gpu).use()
    return cupy


def _reader(nlp: Language, types: TokenTypes) -> Reader:
    """Give the lexicon if the tokenizer's pieces can be told apart, else spaCy."""
    tokenizer = nlp.tokenizer
    if type(tokenizer) is Tokenizer and not (joints := Joints(tokenizer)).crosses_space:
        return Lexicon(tokenizer, types, joints)
    return DocReader(nlp, types)


def _how_read(reader: Reader, tokenizer: Any) -> str:
    if isinstance(reader, Lexicon):
        return "tokens are looked up"
    return f"spaCy tokenizes: {type(tokenizer).__name__} does not split at white space alone"


def _spans(tokens: Tokens, found: NDArray[np.int32], labels: tuple[str, ...]) -> list[list[Span]]:
    """Turn entities in tokens into spans of each text."""
    text, first, end, label = found.T
    starts = tokens.starts[tokens.begins[text] + first].tolist()
    ends = tokens.ends[tokens.begins[text] + end - 1].tolist()
    spans: list[list[Span]] = [[] for _ in tokens.lengths]
    for of, start, stop, number in zip(text.tolist(), starts, ends, label.tolist(), strict=True):
        spans[of].append(Span(start, stop, labels[number], ""))
    return spans


def _ties(tokens: Tokens, found: NDArray[np.int32]) -> dict[int, list[int]]:
    """Give the characters at which each text is in doubt."""
    characters = tokens.starts[tokens.begins[found[:, 0]] + found[:, 1]]
    ties: dict[int, list[int]] = {}
    for text, character in zip(found[:, 0].tolist(), characters.tolist(), strict=True):
        ties.setdefault(text, []).append(character)
    return ties
