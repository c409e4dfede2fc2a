"""Files with a token and its tag on each line, to sentences: CoNLL, IOB, and the files of Universal NER.

What is a column is told by the first line that holds a token. Its columns stand between tabs, else between
blanks. The tag is the last and the token the first, but where tokens are numbered (`1 Folha B-ORG …`, with
tabs): there they are the third and the second. What the tags mean is for `tags`, what the text is for
`alignment`.

No line that cannot be read is skipped: scores on gold data that was half understood are worth nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Self

from ner_pipeline.errors import GoldError
from ner_pipeline.evaluation.tags import is_tag

__all__ = ["Sentence", "read_sentences"]

LINE_SHOWN = 60
"""A message quotes so many characters of a line that cannot be read."""

_DOCUMENT_START = "-DOCSTART-"
_KEY_VALUE = re.compile(r"#\s*(\w[\w ]*?)\s*=\s?(.*)")
_BLANKS = re.compile(" +")
_COLUMN_END = re.compile("[\t ]")
_NUMBERED = 4
"""So many columns at least has a line with a number, a token, its tag and more."""


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
    parser = _Parser(name)
    numbered = enumerate((line.rstrip("\r\n") for line in lines), start=1)
    for separates, block in groupby(numbered, key=lambda item: _separates(item[1])):
        if not separates and (sentence := parser.sentence(block)).tokens:
            yield sentence


class _Parser:
    """Reads the sentences of one file, all in the layout of its first token."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._layout: _Layout | None = None

    def sentence(self, block: Iterable[tuple[int, str]]) -> Sentence:
        """Read the lines of one sentence, each with its number."""
        sentence = Sentence()
        for number, line in block:
            key_value = None if sentence.tokens else _KEY_VALUE.fullmatch(line)
            if key_value and key_value[1] == "text":
                sentence.text = key_value[2]
            elif not key_value and not _is_comment(line):
                sentence.add(number, *self._token_and_tag(number, line))
        return sentence

    def _token_and_tag(self, number: int, line: str) -> tuple[str, str]:
        self._layout = self._layout or _Layout.of(line)
        try:
            return self._layout.parse(line)
        except ValueError as error:
            raise GoldError(f"{self._name}:{number}: {error}, in {line[:LINE_SHOWN]!r}") from error


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which columns a file has."""

    tabs: bool
    columns: int
    token: int = 0
    tag: int = -1

    @classmethod
    def of(cls, line: str) -> Self:
        """Tell it from a line."""
        tabs = "\t" in line
        columns = _split(line, tabs)
        if tabs and len(columns) >= _NUMBERED and columns[0] == "1" and is_tag(columns[2]):
            return cls(tabs, len(columns), token=1, tag=2)
        return cls(tabs, max(2, len(columns)))

    def parse(self, line: str) -> tuple[str, str]:
        """Give the token of a line and its tag; a ValueError says what is wrong."""
        columns = self._columns(line)
        token, tag = columns[self.token].strip(), columns[self.tag].strip()
        if not is_tag(tag):
            raise ValueError(f"{tag!r} is no tag such as O, B-PER or I-PER")
        if not token and tag != "O":
            raise ValueError("there is an entity without a token")
        return token, tag

    def _columns(self, line: str) -> list[str]:
        columns = _split(line, self.tabs)
        if not self.tabs and len(columns) > self.columns:
            # Blanks stand between the columns, and some files have them in a token as well.
            own = len(columns) - self.columns + 1
            columns = [" ".join(columns[:own]), *columns[own:]]
        # What follows the tag of a numbered token is said of some tokens only.
        if len(columns) != self.columns and not len(columns) > self.tag > 0:
            raise ValueError(f"the number of columns is {len(columns)} and should be {self.columns}")
        return columns


def _separates(line: str) -> bool:
    return not line.strip() or line.startswith(_DOCUMENT_START)


def _is_comment(line: str) -> bool:
    """Tell a comment from a token that begins with the same sign, such as a hashtag."""
    return line.startswith("#") and not is_tag(_COLUMN_END.split(line.rstrip())[-1])


def _split(line: str, tabs: bool) -> list[str]:
    # Not at any white space: there are tokens made of a no-break space.
    return line.split("\t") if tabs else _BLANKS.split(line.strip(" "))
