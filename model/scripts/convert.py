"""Write the corpora as spaCy reads them: one .spacy file for each corpus and split.

    python scripts/convert.py CORPORA corpus
    python scripts/convert.py own.iob corpus/train/own.spacy

CORPORA is the folder of `NER_CORPORA`. What a corpus is and how it is split is for `corpora`; how the texts
of a file are mixed while a pipeline learns is for `training`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import spacy
from corpora import CORPORA, SPLITS, read_part
from spacy.tokens import Doc, DocBin
from training import mark_entities, set_tokenizer

from ner_pipeline.errors import NerPipelineError
from ner_pipeline.evaluation.gold import GoldText, read_gold


def main(source: str, output: str) -> None:
    """Convert all corpora below a folder, or one file of any other origin."""
    nlp = spacy.blank("xx")
    set_tokenizer(nlp)
    if Path(source).is_file():
        _write(Path(output), (_doc(nlp, text) for text in read_gold(Path(source))))
    elif source and Path(source).is_dir():
        _convert_all(nlp, Path(source), Path(output))
    else:
        sys.exit(f"convert: NER_CORPORA={source}: it must be the folder of the corpora that README.md lists")


def _convert_all(nlp: spacy.Language, corpora: Path, output: Path) -> None:
    for corpus in CORPORA:
        for split in SPLITS:
            texts = [text for part in getattr(corpus, split) for text in read_part(corpora, part)]
            doc = _exact_doc if split == "test" else _doc
            if texts:
                _write(output / split / f"{corpus.name}.spacy", (doc(nlp, text) for text in texts))


def _doc(nlp: spacy.Language, gold: GoldText) -> Doc:
    doc = nlp.make_doc(gold.text)
    mark_entities(doc, ((span.start, span.end, span.label) for span in gold.spans))
    return doc


def _exact_doc(nlp: spacy.Language, gold: GoldText) -> Doc:
    """Mark the entities on single characters, so that no tokenizer changes what a pipeline is scored on."""
    doc = Doc(nlp.vocab, words=list(gold.text), spaces=[False] * len(gold.text))
    doc.ents = [doc.char_span(s.start, s.end, s.label) for s in gold.spans]
    return doc


def _write(path: Path, docs: Iterable[Doc]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = DocBin(docs=list(docs), attrs=["ENT_IOB", "ENT_TYPE"])
    stored.to_disk(path)
    print(f"{path}: {len(stored)} texts")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (NerPipelineError, FileNotFoundError) as error:
        sys.exit(f"convert: {error}")
