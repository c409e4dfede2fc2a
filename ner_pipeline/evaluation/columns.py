"""Files with a token and its tag on each line, to sentences: CoNLL, IOB, and the files of Universal NER.

What is a column is for `layout`, what the tags mean for `tags`, what the text is for `alignment`.

No line that cannot be read is skipped: scores on gold data that was half understood are worth nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, groupby

from ner_pipeline.errors import GoldError
from ner_pipeline.evaluation.layout import Layout

__all__ = ["Sentence", "read_sentences"]

LINE_SHOWN = 60
"""A message quotes so many characters of a line that cannot be read."""

_DOCUMENT_START = "-DOCSTART-"
_KEY_VALUE = re.compile(r"#\s*(\w[\w ]*?)\s*=\s?(.*)")

_Block = list[tuple[int, str]]
"""Lines without an empty one between them, each with its number."""


@dataclass(slots=True)
class Sentence:
    """What stands between two empty lines."""

    line: int = 0
    """That of the first token."""
    text: str | None = None
    """The text itself, where a comment gives it."""
    tokens: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)

    def add(self, line: int, token: str, tag: str) -> None:
        """Put a token at the end, if there is anything to be seen of it."""
        if token:
            self.line = self.line or line
            self.tokens.append(token)
            self.tags.append(tag)


def read_sentences(lines: Iterable[str], name: str) -> Iterator[Sentence]:
    """Give the sentences of a file; `name` is what messages call it.

    Raises:
        GoldError: a line cannot be read.
    """
    blocks, seen = _blocks(lines), list[_Block]()
    layout = Layout.of(_sentences(blocks, seen))
    for block in chain(seen, blocks):
        if (sentence := _sentence(block, layout, name)).tokens:
            yield sentence


def _blocks(lines: Iterable[str]) -> Iterator[_Block]:
    numbered = enumerate((line.rstrip("\r\n") for line in lines), start=1)
    for separates, block in groupby(numbered, key=lambda item: _separates(item[1])):
        if not separates:
            yield list(block)


def _sentences(blocks: Iterable[_Block], seen: list[_Block]) -> Iterator[list[str]]:
    """Give the lines of each block, and keep in `seen` those that were taken."""
    for block in blocks:
        seen.append(block)
        yield [line for _, line in block if not _KEY_VALUE.fullmatch(line)]


def _sentence(block: _Block, layout: Layout, name: str) -> Sentence:
    sentence = Sentence()
    for number, line in block:
        key_value = None if sentence.tokens else _KEY_VALUE.fullmatch(line)
        if key_value and key_value[1] == "text":
            sentence.text = key_value[2]
        elif not key_value and not layout.is_comment(line):
            sentence.add(number, *_token_and_tag(number, line, layout, name))
    return sentence


def _token_and_tag(number: int, line: str, layout: Layout, name: str) -> tuple[str, str]:
    try:
        return layout.parse(line)
    except ValueError as error:
        raise GoldError(f"{name}:{number}: {error}, in {line[:LINE_SHOWN]!r}") from error


def _separates(line: str) -> bool:
    return not line.strip() or line.startswith(_DOCUMENT_START)
