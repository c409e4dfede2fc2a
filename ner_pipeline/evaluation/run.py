"""A model reads the texts of gold data, and what it finds is scored.

The texts go through the same worker pool as documents do, and what comes back is judged by the same rules
(`inference.validation`), so that what is scored is what would be published. Gold entities are judged by them
too. How the counting is done is for `scores`, how it is shown for `report`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import mean

from spacy.tokens import Doc

from ner_pipeline.errors import ModelError
from ner_pipeline.evaluation.gold import GoldText, read_gold
from ner_pipeline.evaluation.labels import LabelChoice
from ner_pipeline.evaluation.scores import Scores
from ner_pipeline.inference.extractor import ModelCard
from ner_pipeline.inference.loading import load_pipeline
from ner_pipeline.inference.pipeline_files import find_pipeline, read_pipeline
from ner_pipeline.inference.pool import ExtractionPool
from ner_pipeline.inference.spans import Span
from ner_pipeline.inference.validation import Validated, validate
from ner_pipeline.settings import Settings

__all__ = ["Evaluation", "FileScores", "TokenCount", "evaluate", "score_files"]

FAILURES_SHOWN = 5

Tokenize = Callable[[str], Doc]


@dataclass(frozen=True, slots=True)
class TokenCount:
    """What the model's tokenizer makes of gold data."""

    tokens: int
    off_edges: int
    """Gold entities that begin or end within a token: the model can never find them."""


@dataclass(frozen=True, slots=True)
class FileScores:
    """How a model did on one file."""

    path: Path
    sha256: str
    texts: int
    tokens: TokenCount | None
    """None where the extractor is none of ours: nobody knows what its tokens are."""
    gold_changed: int
    """Gold entities with an edge that is not seen: they were tightened as found ones are, or left out."""
    scores: Scores


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a model did on all files."""

    card: ModelCard
    choice: LabelChoice
    left_out: Sequence[str]
    """Labels, after renaming, that do not count."""
    files: Sequence[FileScores]

    @property
    def micro(self) -> Scores:
        """All entities of all files counted together."""
        return sum((file.scores for file in self.files), Scores())

    @property
    def mean_f1(self) -> float:
        """The mean of the files' F1, each of the same weight."""
        return mean(file.scores.total.f1 for file in self.files)


def evaluate(paths: Sequence[Path], settings: Settings, choice: LabelChoice) -> Evaluation:
    """Score the model of `settings` on gold files.

    Raises:
        GoldError: a file cannot be read.
        ModelError: the model cannot be loaded, or gave no result for some texts.
    """
    with ExtractionPool(**settings.pool_options) as pool:
        return score_files(paths, pool, choice, _tokenizer(settings))


def score_files(
    paths: Sequence[Path], pool: ExtractionPool, choice: LabelChoice, tokenize: Tokenize | None = None
) -> Evaluation:
    """Score what a pool finds in the texts of gold files."""
    gold = [list(read_gold(path)) for path in paths]
    labels = {span.label for texts in gold for text in texts for span in text.spans}
    left_out = choice.left_out(labels.union(pool.card.labels))
    found = iter(_extract(pool, list(chain.from_iterable(gold))))
    files = [
        _score(path, texts, [choice.apply(next(found)) for _ in texts], choice, tokenize)
        for path, texts in zip(paths, gold, strict=True)
    ]
    return Evaluation(pool.card, choice, left_out, files)


def _extract(pool: ExtractionPool, texts: Sequence[GoldText]) -> list[list[Span]]:
    """Give the valid spans of each text, in the order of the texts, which a pool does not keep."""
    found: list[list[Span]] = [[] for _ in texts]
    failures = []
    for result in pool.extract((str(number), gold.text) for number, gold in enumerate(texts)):
        gold = texts[int(result.id)]
        if result.outcome == "failed":
            failures.append(f"{gold.name} ({result.reason}: {result.detail})")
        found[int(result.id)] = validate(gold.text, result.spans, pool.card.labels).spans
    if failures:
        shown = "; ".join(failures[:FAILURES_SHOWN])
        raise ModelError(f"{pool.card.model} gave no result for {len(failures)} of the texts: {shown}")
    return found


def _score(
    path: Path,
    texts: Sequence[GoldText],
    found: Iterable[list[Span]],
    choice: LabelChoice,
    tokenize: Tokenize | None,
) -> FileScores:
    # By the rules for what is found: of two entities with other edges neither could ever be the other.
    valid = [validate(text.text, choice.apply(text.spans)) for text in texts]
    scores = Scores()
    for gold, spans in zip(valid, found, strict=True):
        scores.add(gold.spans, spans)
    return FileScores(
        path,
        _sha256(path),
        len(texts),
        _count_tokens(tokenize, texts, valid) if tokenize else None,
        sum(gold.trimmed + gold.dropped for gold in valid),
        scores,
    )


def _tokenizer(settings: Settings) -> Tokenize | None:
    if not settings.runs_pipeline:
        return None
    tokenize: Tokenize = load_pipeline(read_pipeline(find_pipeline(settings.model)), ()).make_doc
    return tokenize


def _count_tokens(tokenize: Tokenize, texts: Iterable[GoldText], valid: Iterable[Validated]) -> TokenCount:
    tokens = off_edges = 0
    for text, gold in zip(texts, valid, strict=True):
        doc = tokenize(text.text)
        tokens += len(doc)
        off_edges += sum(doc.char_span(span.start, span.end) is None for span in gold.spans)
    return TokenCount(tokens, off_edges)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
