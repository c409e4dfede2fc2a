"""Gold data: texts with the entities that people have marked in them, from files of any usual form.

`read_gold` is the door. A file that ends in `.spacy` is a DocBin; any other has a token and its tag on each
line, in UTF-8. What the lines of such a file look like is for `columns`, which scheme the tags are of for
`tags`. Nothing is scored here, and no label is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ner_pipeline.errors import GoldError
from ner_pipeline.evaluation.alignment import align, join
from ner_pipeline.evaluation.columns import Sentence, read_sentences
from ner_pipeline.evaluation.docbin import read_docbin
from ner_pipeline.evaluation.tags import token_spans
from ner_pipeline.inference.spans import Span

__all__ = ["GoldText", "parse_gold", "read_gold"]


class GoldText(NamedTuple):
    """A text and its entities: a sentence or a document, as the file has it."""

    text: str
    spans: tuple[Span, ...]
    """By start, in code points of the text."""
    name: str
    """Where it stands: the file and the line of its first token, or the number of the Doc in it."""


def read_gold(path: Path) -> Iterator[GoldText]:
    """Give the texts of a file, in order.

    Raises:
        GoldError: there is no such file, a line or a Doc of it cannot be read, or it marks no entity.
    """
    marked = False
    try:
        for gold in _read(path):
            marked = marked or bool(gold.spans)
            yield gold
    except (OSError, UnicodeDecodeError) as error:
        raise GoldError(f"{path}: {_reason(error)}") from error
    if not marked:
        raise GoldError(f"{path}: there is no entity in it, so nothing can be scored or learnt")


def parse_gold(lines: Iterable[str], name: str) -> Iterator[GoldText]:
    """Give the texts that stand in the lines of a file; `name` is what messages and texts call it.

    Raises:
        GoldError: a line cannot be read.
    """
    for sentence in read_sentences(lines, name):
        yield _gold_text(sentence, f"{name}:{sentence.line}")


def _read(path: Path) -> Iterator[GoldText]:
    if path.suffix == ".spacy":
        for number, (text, spans) in enumerate(read_docbin(path), start=1):
            yield GoldText(text, spans, f"{path.name}:{number}")
        return
    # Other characters that end a line for Python may stand in a token.
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        yield from parse_gold(lines, path.name)


def _gold_text(sentence: Sentence, name: str) -> GoldText:
    """Put the entities where the tokens stand in the text, else in one that the tokens make."""
    text = sentence.text or ""
    places = align(text, sentence.tokens)
    if places is None:
        text, places = join(sentence.tokens)
    found = token_spans(sentence.tags)
    spans = (Span(places[first][0], places[end - 1][1], label) for first, end, label in found)
    return GoldText(text, tuple(spans), name)


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"neither UTF-8 (byte {error.start}) nor, by its name, a DocBin, which ends in .spacy"
