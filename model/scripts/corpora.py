"""The open corpora that the pipelines are trained on: where each lies, and which texts are for what.

Nothing of them belongs to this project; the folder that holds them is named by `NER_CORPORA`, and README.md
says where they are published. All are read as texts with entities labelled PER, LOC and ORG; what has
another label is no entity. No test file is ever read for training, and what a corpus itself calls dev only
chooses, with one exception: of Norwegian there are dev and test files alone, so three quarters of its dev
files train.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path

from ner_pipeline.evaluation.gold import GoldText, parse_gold
from ner_pipeline.evaluation.tags import is_tag
from ner_pipeline.inference.spans import Span

__all__ = ["CORPORA", "LABELS", "SPLITS", "Corpus", "Part", "read_part"]

SPLITS = ("train", "dev", "test")
LABELS = {
    "PER": "PER",
    "LOC": "LOC",
    "ORG": "ORG",
    # LeNER-Br
    "PESSOA": "PER",
    "LOCAL": "LOC",
    "ORGANIZACAO": "ORG",
    # factRuEval; a LocOrg is a place that acts, such as a country that signs a treaty
    "Person": "PER",
    "Location": "LOC",
    "LocOrg": "LOC",
    "Org": "ORG",
    # a slip in Europeana
    "PEr": "PER",
}
"""What is read as what."""

PIECE_CHARS = 350
"""Longer texts are cut in front of a token: a network that sees a few tokens learns nothing of more."""

_NAMES_IN = {
    "PER": {"name", "surname", "patronymic", "nickname"},
    "LOC": {"loc_name"},
    "ORG": {"org_name"},
}
"""Which of factRuEval's spans are part of a name: `Business NZ`, but not the word company beside it."""


@dataclass(frozen=True, slots=True)
class Part:
    """Files of a corpus, and which share of their texts, in order: all, or from one fraction to another."""

    files: str
    """A pattern of paths below `NER_CORPORA`."""
    first: float = 0.0
    last: float = 1.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus under a short name that begins with its language."""

    name: str
    train: tuple[Part, ...] = ()
    dev: tuple[Part, ...] = ()
    test: tuple[Part, ...] = ()


def _universal(name: str, folder: str) -> Corpus:
    """Name the three files of a treebank that Universal NER has annotated."""
    prefix = f"UNER_{folder}/{name}-ud"
    splits = {split: (Part(f"{prefix}-{split}.iob2"),) for split in SPLITS}
    return Corpus(name, **splits)


def _norwegian(name: str) -> Corpus:
    prefix = f"UNER_Norwegian-NDT/{name}-ud"
    dev = f"{prefix}-dev.iob2"
    return Corpus(name, (Part(dev, 0, 0.75),), (Part(dev, 0.75),), (Part(f"{prefix}-test.iob2"),))


def _newspapers(language: str, files: str) -> Corpus:
    """Keep a tenth of the old newspapers for the test; they come without a split."""
    path = f"europeana_newspapers/{files}/*.bio"
    return Corpus(f"{language}_europeana", train=(Part(path, 0, 0.9),), test=(Part(path, 0.9),))


_ENGLISH = "UNER_English-EWT"
_TWEETS = "btc/{}.conll"
_WIKIGOLD = "wikigold/CONLL-format/data/wikigold.conll.txt"
_FILINGS = "sec_filings/CONLL-format/data/"

CORPORA = (
    Corpus(
        "en_ewt",
        # The first version, a little noisier than the final one: the shipped scores are of this.
        train=(Part(f"{_ENGLISH}/early_commit_0c7ce0d/en_ewt-ud-train.iob2"),),
        dev=(Part(f"{_ENGLISH}/en_ewt-ud-dev.iob2"),),
        test=(Part(f"{_ENGLISH}/en_ewt-ud-test.iob2"),),
    ),
    _universal("zh_gsdsimp", "Chinese-GSDSIMP"),
    _universal("pt_bosque", "Portuguese-Bosque"),
    _universal("hr_set", "Croatian-SET"),
    _universal("sr_set", "Serbian-SET"),
    _universal("da_ddt", "Danish-DDT"),
    _universal("sk_snk", "Slovak-SNK"),
    _universal("sv_talbanken", "Swedish-Talbanken"),
    _norwegian("nob_norne"),
    _norwegian("nno_norne"),
    Corpus(
        "en_btc",
        train=(*(Part(_TWEETS.format(part)) for part in "abeg"), Part(_TWEETS.format("h"), 0, 0.5)),
        dev=(Part(_TWEETS.format("h"), 0.5),),
        test=(Part(_TWEETS.format("f")),),
    ),
    Corpus("en_wikigold", train=(Part(_WIKIGOLD, 0, 0.9),), test=(Part(_WIKIGOLD, 0.9),)),
    Corpus("en_sec", train=(Part(f"{_FILINGS}train/FIN5.txt"),), test=(Part(f"{_FILINGS}test/FIN3.txt"),)),
    Corpus(
        "pt_lener",
        train=(Part("lener_br/train/train.conll"),),
        test=(Part("lener_br/test/test.conll"),),
    ),
    _newspapers("de", "enp_DE.*"),
    _newspapers("fr", "enp_FR.*"),
    _newspapers("nl", "enp_NL.*"),
    Corpus("fi_turku", *((Part(f"turku_ner/data/conll/{split}.tsv"),) for split in SPLITS)),
    Corpus(
        "ru_factrueval",
        train=(Part("factrueval2016/devset/*[!7].txt"),),
        test=(Part("factrueval2016/devset/*7.txt"),),
    ),
)


def read_part(folder: Path, part: Part) -> list[GoldText]:
    """Give the texts of a part, cut to pieces and with our three labels.

    Raises:
        FileNotFoundError: `folder` holds no such file.
        GoldError: a line of a file cannot be read.
    """
    files = sorted(folder.glob(part.files))
    if not files:
        raise FileNotFoundError(f"{folder} holds no {part.files}")
    texts: list[GoldText] = []
    for file in files:
        own = [piece for gold in _read(file) for piece in _pieces(_labelled(gold))]
        texts += own[round(part.first * len(own)) : round(part.last * len(own))]
    return texts


def _read(file: Path) -> Iterable[GoldText]:
    if file.suffix == ".txt" and file.with_suffix(".objects").exists():
        return _fact_ru_eval(file)
    with file.open(encoding="utf-8-sig", newline="\n") as lines:
        texts = list(parse_gold(map(_mended, lines) if file.suffix == ".bio" else lines, file.name))
    return map(_handles_whole, texts) if file.parent.name == "btc" else texts


def _mended(line: str) -> str:
    """Give a tag to the few lines of Europeana without one: a token alone, or a word in its place."""
    if line.startswith("#") or not line.strip():
        return line
    token, *tags = line.split()
    return line if tags and is_tag(tags[-1]) else f"{token} O\n"


def _handles_whole(gold: GoldText) -> GoldText:
    """Put `@ name` together, which the Broad Twitter Corpus has as two tokens, and two entities if any.

    An `@` outside of the entity behind it, which has several words, is no part of a handle but means "at".
    """
    spans = {start: (end, label) for start, end, label, _ in gold.spans}
    seams = []
    for match in re.finditer(r"(?<!\S)@ (?=\w)", gold.text):
        sign, seam = match.span()
        end = spans[seam][0] if seam in spans else seam
        if sign in spans or " " not in gold.text[seam:end]:
            seams.append(seam)
            spans.update({sign: spans.pop(seam)} if seam in spans else {})

    def moved(place: int) -> int:
        return place - sum(seam <= place for seam in seams)

    parts = zip([0, *seams], [*(seam - 1 for seam in seams), len(gold.text)], strict=True)
    text = "".join(gold.text[start:end] for start, end in parts)
    kept = (Span(moved(start), moved(end), label) for start, (end, label) in sorted(spans.items()))
    return GoldText(text, tuple(kept), gold.name)


def _labelled(gold: GoldText) -> GoldText:
    spans = (span._replace(label=LABELS[span.label]) for span in gold.spans if span.label in LABELS)
    return gold._replace(spans=tuple(spans))


def _pieces(gold: GoldText) -> Iterator[GoldText]:
    """Cut a long text where a blank stands outside of every entity."""
    start, inside = 0, list(gold.spans)
    for match in re.finditer(r"\s+", gold.text):
        place = match.start()
        if place - start >= PIECE_CHARS and not any(s.start < place < s.end for s in inside):
            yield _cut(gold, start, place)
            start, inside = match.end(), [span for span in inside if span.start >= place]
    if start < len(gold.text):
        yield _cut(gold, start, len(gold.text))


def _cut(gold: GoldText, start: int, end: int) -> GoldText:
    own = (span for span in gold.spans if start <= span.start and span.end <= end)
    spans = (span._replace(start=span.start - start, end=span.end - start) for span in own)
    return GoldText(gold.text[start:end], tuple(spans), gold.name)


def _fact_ru_eval(file: Path) -> Iterator[GoldText]:
    """Read the paragraphs of a text whose objects and their spans stand in two files beside it."""
    text = file.read_text(encoding="utf-8")
    found = sorted(_objects(file), key=lambda span: (span.start, -span.end))
    ends = chain([0], accumulate((span.end for span in found), max))
    apart = tuple(span for span, end in zip(found, ends, strict=False) if span.start >= end)
    whole = GoldText(text, apart, file.name)
    for line in re.finditer(r"[^\r\n]+", text):
        yield _cut(whole, *line.span())


def _objects(file: Path) -> Iterator[Span]:
    spans = {number: fields for number, *fields in _rows(file.with_suffix(".spans"))}
    for _, kind, *numbers in _rows(file.with_suffix(".objects")):
        names = _NAMES_IN.get(LABELS.get(kind, ""), set())
        parts = [
            (int(start), int(length)) for what, start, length, *_ in map(spans.get, numbers) if what in names
        ]
        if parts:
            yield Span(min(s for s, _ in parts), max(s + length for s, length in parts), kind)


def _rows(file: Path) -> Iterator[list[str]]:
    """Give the fields of each line in front of its comment."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if fields := line.partition("#")[0].split():
            yield fields
