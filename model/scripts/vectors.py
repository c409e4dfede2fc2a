"""Word vectors from the raw texts of the corpora, for the full pipeline: word2vec's text format.

    python scripts/vectors.py CORPORA corpus/train assets/vectors.txt

They are trained on the texts of the training files and on the novels of `long_texts`, with subwords
(fastText, by gensim), and only whole words are kept: a table of them is what the compiled extractor reads.
One thread and fixed seeds: equal texts give equal vectors.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import spacy
from gensim.models import FastText
from spacy.tokens import DocBin
from training import set_tokenizer

WIDTH = 100
SEEN_AT_LEAST = 4
"""Rarer words get no vector."""
LINE_CHARS = 1000
NOVELS = "long_texts/*_*.txt"

_PIECE = re.compile(rf".{{1,{LINE_CHARS}}}(?:\s|$)|.{{1,{LINE_CHARS}}}")


def main(corpora: str, train: str, output: str) -> None:
    """Train the vectors and write them."""
    nlp = spacy.blank("xx")
    set_tokenizer(nlp)
    lines = list(_lines(nlp, Path(corpora), Path(train)))
    print(f"{len(lines)} lines, {sum(map(len, lines))} words")
    model = FastText(
        lines, vector_size=WIDTH, window=5, min_count=SEEN_AT_LEAST, sg=1, negative=5, epochs=5,
        min_n=3, max_n=5, bucket=200_000, workers=1, seed=0, hashfxn=_hash,
    )  # fmt: skip
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    model.wv.save_word2vec_format(output)
    print(f"{len(model.wv)} words of width {WIDTH} in {output}")


def _hash(word: str) -> int:
    """Python's own hash differs from process to process."""
    return int.from_bytes(word.encode()[:8], "little")


def _lines(nlp: spacy.Language, corpora: Path, train: Path) -> Iterator[list[str]]:
    for file in sorted(train.glob("*.spacy")):
        for doc in DocBin().from_disk(file).get_docs(nlp.vocab):
            yield _words(doc)
    for novel in sorted(corpora.glob(NOVELS)):
        text = re.sub(r"\s+", " ", _decoded(novel))
        yield from (_words(nlp.make_doc(piece)) for piece in _PIECE.findall(text))


def _words(doc: spacy.tokens.Doc) -> list[str]:
    return [token.text for token in doc if not token.is_space]


def _decoded(file: Path) -> str:
    content = file.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


if __name__ == "__main__":
    main(*sys.argv[1:])
