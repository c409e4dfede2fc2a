"""Lines of bytes, as JSONL and CSV are made of them.

Split where U+000A is stored and nowhere else: `str.splitlines` also breaks at U+0085 and U+2028, which are
characters of a text, and tears records apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from ner_pipeline.documents.decoding import TextSource

__all__ = ["Line", "split_at_returns", "split_lines"]

_KEPT_OF_A_LONG_LINE: Final = 256


class Line(NamedTuple):
    """One line with its line end, of which `raw` is only the beginning where it is `too_long`."""

    number: int
    offset: int
    """Bytes before it in the object."""
    raw: bytes
    too_long: bool


def split_lines(text: TextSource, max_bytes: int) -> Iterator[Line]:
    """Yield the lines of what is left of `text`; a line over `max_bytes` is never held as a whole."""
    line = _Growing(1, text.position, max_bytes)
    for block in text.stored_blocks():
        start = 0
        for end in _ends(block, text.line_end):
            line.grow(block[start:end])
            yield line.finished()
            line = _Growing(line.number + 1, line.offset + line.length, max_bytes)
            start = end
        line.grow(block[start:])
    if line.length:
        yield line.finished()


def split_at_returns(raw: bytes, line_end: bytes) -> list[bytes]:
    """Split a line where U+000D without U+000A behind it ends it; CSV files know such line ends."""
    if len(line_end) == 1:
        # Of bytes, splitlines breaks at \n, \r\n and \r alone.
        return raw.splitlines(keepends=True)
    returns = _ends(raw, line_end.replace(b"\n", b"\r"))
    ends = [end for end in returns if raw[end : end + len(line_end)] != line_end]
    bounds = [0, *(end for end in ends if end < len(raw)), len(raw)]
    return [raw[start:end] for start, end in pairwise(bounds)]


def _ends(block: bytes, mark: bytes) -> Iterator[int]:
    """Yield where each `mark` ends that has a multiple of its length before it."""
    unit, start = len(mark), 0
    while (at := block.find(mark, start)) >= 0:
        start = at + unit if at % unit == 0 else at + 1
        if at % unit == 0:
            yield start


class _Growing:
    def __init__(self, number: int, offset: int, max_bytes: int) -> None:
        self.number, self.offset, self.length = number, offset, 0
        self._max_bytes = max_bytes
        self._held = bytearray()

    def grow(self, piece: bytes) -> None:
        self.length += len(piece)
        if self.length <= self._max_bytes:
            self._held += piece
        else:
            del self._held[_KEPT_OF_A_LONG_LINE:]
            self._held += piece[: _KEPT_OF_A_LONG_LINE - len(self._held)]

    def finished(self) -> Line:
        return Line(self.number, self.offset, bytes(self._held), self.length > self._max_bytes)
