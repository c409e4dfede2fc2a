"""Texts as tokens: what a reader gives, and the reader for tokenizers that are not spaCy's rule tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IDX, LENGTH

from ner_pipeline.inference.compiled.token_types import TokenTypes

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

__all__ = ["DocReader", "Reader", "Tokens", "bounds"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of some texts, one text behind the other."""

    types: NDArray[np.int32]
    """(tokens,)."""
    starts: NDArray[np.int32]
    """(tokens,): the token's first character, a code point of its text."""
    ends: NDArray[np.int32]
    """(tokens,): the character behind its last."""
    lengths: NDArray[np.int32]
    """(texts,): how many tokens each text has."""
    marked: tuple[int, ...] = ()
    """Texts whose tokenizer has marked sentences or entities too, which a recognizer heeds."""

    @property
    def begins(self) -> NDArray[np.int64]:
        """(texts,): where the tokens of each text begin."""
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths


class Reader(Protocol):
    """Turns texts into tokens."""

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Give the tokens that the pipeline's tokenizer makes of the texts."""
        ...

    @property
    def held(self) -> int:
        """How much it keeps of the texts that it has seen, in tokens."""
        ...

    def forget(self) -> None:
        """Forget all that it keeps."""
        ...


class DocReader:
    """Lets spaCy tokenize, at the tokenizer's own speed."""

    def __init__(self, nlp: Language, types: TokenTypes) -> None:
        self._nlp, self._types = nlp, types
        self._words_at_first = len(nlp.vocab.strings)

    @property
    def held(self) -> int:
        """How many words spaCy has kept."""
        return len(self._nlp.vocab.strings) - self._words_at_first

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """See `Reader`."""
        docs = [self._nlp.tokenizer(text) for text in texts]
        places = np.concatenate([np.empty((0, 2), dtype=np.uint64), *(bounds(doc) for doc in docs)])
        types = [self._types.of(self._types.rows(doc)) for doc in docs]
        return Tokens(
            types=np.concatenate([np.empty(0, dtype=np.int32), *types]),
            starts=places[:, 0].astype(np.int32),
            ends=places.sum(axis=1).astype(np.int32),
            lengths=np.array([len(doc) for doc in docs], dtype=np.int32),
            marked=tuple(number for number, doc in enumerate(docs) if _is_marked(doc)),
        )

    def forget(self) -> None:
        """It keeps nothing itself."""


def bounds(doc: Doc) -> NDArray[np.uint64]:
    """Give the first character of each token, and how many it has: (tokens, 2)."""
    return np.asarray(doc.to_array([IDX, LENGTH]), dtype=np.uint64)


def _is_marked(doc: Doc) -> bool:
    return bool(doc.has_annotation("SENT_START") or doc.has_annotation("ENT_IOB"))
