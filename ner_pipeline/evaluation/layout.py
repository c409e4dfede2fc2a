"""Which columns the lines of a gold file have, told from its first sentences. Sentences are for `columns`.

Columns stand between tabs, else between blanks. The token is the first of them and the tag the last, but
where tokens are numbered (`1 Folha B-ORG …`): there the token is the second, and the tag the third, or the
last where the third is none. A file is numbered whose first sentence counts up by one. A sentence of a
single token proves nothing, since the token may itself be a 1: then the next one decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from ner_pipeline.evaluation.tags import is_tag

__all__ = ["Layout"]

_BLANKS = re.compile(" +")
_COLUMN_END = re.compile("[\t ]")
_TELLS_NOTHING = re.compile(r"#|\d+[-.]\d+[\t ]")
"""A comment or a hashtag; and what in treebanks counts on as a range (`3-4`) or as an empty node (`5.1`)."""
_NUMBERED = 3
"""So many columns at least has a line with a number, a token and its tag."""
_FIRST_NUMBERS = ("0", "1")


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns a file has."""

    tabs: bool = True
    columns: int = 2
    numbered: bool = False
    tag: int = -1

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> Self:
        """Tell it from sentences, given as their lines; takes no more of them than it needs."""
        found = cls()
        for lines in sentences:
            telling = [line for line in lines if not _TELLS_NOTHING.match(line)]
            if telling := telling or [line for line in lines if _ends_with_tag(line)]:
                found = cls._of_sentence(telling)
                if not (found.numbered and len(telling) == 1):
                    break
        return found

    @classmethod
    def _of_sentence(cls, lines: Sequence[str]) -> Self:
        tabs = "\t" in lines[0]
        rows = [_split(line, tabs) for line in lines]
        columns = max(2, len(rows[0]))
        if min(map(len, rows)) < _NUMBERED or not _counts_up([row[0] for row in rows]):
            return cls(tabs, columns)
        return cls(tabs, columns, numbered=True, tag=2 if all(is_tag(row[2].strip()) for row in rows) else -1)

    def parse(self, line: str) -> tuple[str, str]:
        """Give the token of a line and its tag; a ValueError says what is wrong."""
        columns = self._columns(line)
        if self.numbered and not columns[0].isdecimal():
            raise ValueError(f"the tokens of this file are numbered, and {columns[0]!r} is no number")
        token, tag = columns[1 if self.numbered else 0].strip(), columns[self.tag].strip()
        if not is_tag(tag):
            raise ValueError(f"{tag!r} is no tag such as O, B-PER or I-PER")
        if not token and tag != "O":
            raise ValueError("there is an entity without a token")
        return token, tag

    def is_comment(self, line: str) -> bool:
        """Tell a comment from a token that begins with the same sign, such as a hashtag.

        A hashtag has a tag, or something in its place: it must not get lost because that is a bad one.
        """
        if not line.startswith("#"):
            return False
        has_columns = not self.numbered and len(_split(line, self.tabs)) == self.columns
        return not _ends_with_tag(line) and (line.startswith("# ") or not has_columns)

    def _columns(self, line: str) -> list[str]:
        columns = _split(line, self.tabs)
        if not self.tabs and not self.numbered and len(columns) > self.columns:
            # Blanks stand between the columns, and some files have them in a token as well.
            own = len(columns) - self.columns + 1
            columns = [" ".join(columns[:own]), *columns[own:]]
        # What follows the tag of a numbered token is said of some tokens only.
        if len(columns) != self.columns and not len(columns) > self.tag > 0:
            raise ValueError(f"the number of columns is {len(columns)} and should be {self.columns}")
        return columns


def _counts_up(column: Sequence[str]) -> bool:
    """Tell whether numbers of tokens stand in a column; a single one is that of a first token."""
    if len(column) == 1:
        return column[0] in _FIRST_NUMBERS
    first = int(column[0]) if column[0].isdecimal() else 0
    return list(column) == [str(first + place) for place in range(len(column))]


def _ends_with_tag(line: str) -> bool:
    return is_tag(_COLUMN_END.split(line.rstrip())[-1])


def _split(line: str, tabs: bool) -> list[str]:
    # Not at any white space: there are tokens made of a no-break space.
    return line.split("\t") if tabs else _BLANKS.split(line.strip(" "))
