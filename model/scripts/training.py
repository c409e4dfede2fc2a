"""What spaCy loads beside a config while it trains: the tokenizer's rules, and the mixing of the corpora.

    python -m spacy train config_slim.cfg --code scripts/training.py …

A trained pipeline needs none of it: the tokenizer's rules are stored in the tokenizer, and the rest only
serves training. Which texts there are is for `corpora`, names that they do not hold are for `names`.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex, filter_spans
from thinc.api import NumpyOps

__all__ = ["mark_entities", "mixed_texts", "prepare", "set_tokenizer", "several_files"]

CJK_LETTERS = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
CJK_MARKS = "\u3000-\u3004\u3008-\u3020\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65“”‘…—·"
INFIXES = (
    f"[{CJK_LETTERS}]",
    f"[{CJK_MARKS}]",
    r"(?<=(?<!\w)[cdjlmnstCDJLMNST])['’](?=\w)",  # l'Allemagne
    r"(?<=(?<!\w)[qQ]u)['’](?=\w)",  # qu'Anne
    r"[()\[\]«»„\"/;]",
    r",(?=[^\W\d_])",
)
PREFIXES = (r"[-–—]+(?=[^\W\d_])",)
SUFFIXES = (r"(?<=\w)-+", r"(?<=[^\W\d_]{2})\.")  # UN-, BiH.
LETTER_AND_STOP = re.compile(r"[^\W\d_]\.")
"""A rule of its own for spaCy, which would also keep the end of `na NATO-a.` together."""

MOST_JOINED = 5
"""So many neighbouring texts at most make one document."""
OTHER_NAME = 0.6
"""In a text whose names are exchanged, this share of them is."""

Entity = tuple[int, int, str]
"""Start, end and label, in code points of a text."""
Names = dict[str, list[str]]
"""Names by label."""


class Text(NamedTuple):
    """A text and its entities."""

    text: str
    entities: list[Entity]


def set_tokenizer(nlp: Language) -> None:
    """Add what spaCy's multilingual tokenizer lacks, so that names begin and end where tokens do.

    Each Chinese and Japanese character becomes a token of its own, and each mark between them. An elided
    article stands apart from its name, and so do marks that touch one without a blank.
    """
    defaults, tokenizer = nlp.Defaults, nlp.tokenizer
    tokenizer.infix_finditer = compile_infix_regex([*defaults.infixes, *INFIXES]).finditer
    tokenizer.prefix_search = compile_prefix_regex([*defaults.prefixes, *PREFIXES]).search
    tokenizer.suffix_search = compile_suffix_regex([*defaults.suffixes, *SUFFIXES]).search
    rules = tokenizer.rules.items()
    tokenizer.rules = {text: rule for text, rule in rules if not LETTER_AND_STOP.fullmatch(text)}


def mark_entities(doc: Doc, entities: Iterable[Entity]) -> None:
    """Mark them on the tokens that the pipeline itself makes; one inside of a token gets all of it."""
    spans = (doc.char_span(*entity, alignment_mode="expand") for entity in entities)
    doc.ents = filter_spans([span for span in spans if span is not None and not span.text.isspace()])


@spacy.registry.callbacks("ner_pipeline.prepare.v1")
def prepare() -> Callable[[Language], None]:
    """Set the tokenizer, and let NumPy's BLAS multiply: the one that spaCy brings knows few CPUs."""

    def before_initialization(nlp: Language) -> None:
        set_tokenizer(nlp)
        for _, component in nlp.pipeline:
            for node in component.model.walk():
                if isinstance(node.ops, NumpyOps):
                    node.ops = NumpyOps(use_blis=False)

    return before_initialization


@spacy.registry.readers("ner_pipeline.several_files.v1")
def several_files(path: str, files: list[str], limit: int = 0) -> Callable[[Language], Iterator[Example]]:
    """Read the first `limit` texts of each of some files below `path`, or all."""

    def read(nlp: Language) -> Iterator[Example]:
        for name in files:
            for text in islice(_texts(nlp, Path(path) / f"{name}.spacy"), limit or None):
                yield _example(nlp, text)

    return read


@spacy.registry.readers("ner_pipeline.mixed_texts.v1")
def mixed_texts(
    path: str,
    weights: dict[str, float],
    names: str | None = None,
    other_names: float = 0.0,
    letter_case: float = 0.0,
    joined: float = 0.0,
    seed: int = 0,
) -> Callable[[Language], Iterator[Example]]:
    """Draw texts for ever, from each file below `path` as often as its weight says (so: `max_epochs = -1`).

    `names` is a JSON file of names by language and label; a file's name begins with its language, up to `_`.
    Each of the shares says how often it happens to a text that is drawn:

    other_names: names are exchanged for others with the same label, half of the time for names of that file
        and else for some of `names`. A network without vectors knows a name by its letters and its neighbours
        alone; so it learns what stands around a name, and the names too.
    letter_case: all is put into small letters or into capitals, as in messages and headlines.
    joined: it gets up to four neighbours, so that a name is also seen with another sentence beside it.
    """

    def read(nlp: Language) -> Iterator[Example]:
        chance = random.Random(seed)  # noqa: S311
        lists = json.loads(Path(names).read_text(encoding="utf-8")) if names else {}
        files = {name: list(_texts(nlp, Path(path) / f"{name}.spacy")) for name in weights}
        own = {name: _names_of(texts) for name, texts in files.items()}
        while True:
            [file] = chance.choices(list(weights), list(weights.values()))
            language = file.partition("_")[0]
            text = _draw(chance, files[file], joined, glue="" if language == "zh" else chance.choice(" \n"))
            if chance.random() < other_names:
                listed = lists.get(language, {}) if chance.random() < 0.5 else {}
                text = _with_other_names(chance, text, {**own[file], **listed})
            yield _example(nlp, _in_other_case(chance, text) if chance.random() < letter_case else text)

    return read


def _texts(nlp: Language, file: Path) -> Iterator[Text]:
    for doc in DocBin().from_disk(file).get_docs(nlp.vocab):
        yield Text(doc.text, [(e.start_char, e.end_char, e.label_) for e in doc.ents])


def _names_of(texts: Iterable[Text]) -> Names:
    names = defaultdict(list)
    for text, entities in texts:
        for start, end, label in entities:
            names[label].append(text[start:end])
    return dict(names)


def _draw(chance: random.Random, texts: list[Text], joined: float, glue: str) -> Text:
    first = chance.randrange(len(texts))
    count = chance.randint(2, MOST_JOINED) if chance.random() < joined else 1
    text, entities = "", []
    for one in texts[first : first + count]:
        shift = len(text) + len(glue) * bool(text)
        text = f"{text}{glue}{one.text}" if text else one.text
        entities += [(start + shift, end + shift, label) for start, end, label in one.entities]
    return Text(text, entities)


def _with_other_names(chance: random.Random, text: Text, names: Names) -> Text:
    parts, entities, read, written = [], [], 0, 0
    for start, end, label in text.entities:
        name = text.text[start:end]
        if names.get(label) and chance.random() < OTHER_NAME:
            name = chance.choice(names[label])
        parts += (text.text[read:start], name)
        begin = written + start - read
        read, written = end, begin + len(name)
        entities.append((begin, written, label))
    return Text("".join([*parts, text.text[read:]]), entities)


def _in_other_case(chance: random.Random, text: Text) -> Text:
    other = chance.choice((str.lower, str.upper))(text.text)
    return Text(other, text.entities) if len(other) == len(text.text) else text


def _example(nlp: Language, text: Text) -> Example:
    predicted = nlp.make_doc(text.text)
    reference = predicted.copy()
    mark_entities(reference, text.entities)
    return Example(predicted, reference)
