"""Lines of bytes, as JSONL and CSV are made of them.

Split at b"\\n" and nowhere else: `str.splitlines` also breaks at U+0085 and U+2028, which are characters
of a text, and tears records apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ner_pipeline.documents.sources import ByteSource

__all__ = ["Line", "split_lines"]

_KEPT_OF_A_LONG_LINE: Final = 256


class Line(NamedTuple):
    """One line with its line end, of which `raw` is only the beginning where it is `too_long`."""

    number: int
    offset: int
    """Bytes before it in the object."""
    raw: bytes
    too_long: bool


def split_lines(source: ByteSource, max_bytes: int) -> Iterator[Line]:
    """Yield the lines of what is left of `source`; a line over `max_bytes` is never held as a whole."""
    line = _Growing(1, source.position, max_bytes)
    for block in source.blocks():
        start = 0
        while (end := block.find(b"\n", start) + 1) > 0:
            line.grow(block[start:end])
            yield line.finished()
            line = _Growing(line.number + 1, line.offset + line.length, max_bytes)
            start = end
        line.grow(block[start:])
    if line.length:
        yield line.finished()


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
