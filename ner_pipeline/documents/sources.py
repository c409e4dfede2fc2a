"""The bytes of one file, front to back: a look ahead, then bounded reads.

What the bytes mean is not known here, nor how many may come: `unpacking.budget` counts them. A fault of
the stream itself (S3 does not answer) passes through.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, Final

from ner_pipeline.documents.bad_input import BadInputError

__all__ = ["BLOCK_BYTES", "ByteSource", "spooled", "stream_blocks"]

BLOCK_BYTES: Final = 256 * 1024
_SPOOL_MEMORY_BYTES: Final = 8 * 1024**2


class ByteSource:
    """Reads from `blocks`, none of which is empty.

    All bytes before a fault are handed out before the fault is raised, also where a look ahead came
    upon it first: what a reader gets never depends on the size of the blocks that arrive.
    """

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._ahead = bytearray()
        self._taken = 0
        self._fault: BadInputError | None = None
        self.position = 0
        """Bytes handed out so far."""
        self.ended = False
        """Whether the last block has arrived."""

    def peek(self, count: int) -> bytes:
        """Return the next `count` bytes without taking them; fewer only where the source ends before."""
        while len(self._ahead) - self._taken < count and self._fetch():
            pass
        return bytes(self._ahead[self._taken : self._taken + count])

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes; fewer only where the source ends before, or is at fault behind."""
        self.peek(count)
        return self.read(count)

    def read(self, count: int = BLOCK_BYTES) -> bytes:
        """Return at most `count` bytes, b"" only at the end."""
        block = self.peek(1) and bytes(self._ahead[self._taken : self._taken + count])
        if not block and self._fault is not None:
            raise self._fault
        self._taken += len(block)
        self.position += len(block)
        return block

    def blocks(self) -> Iterator[bytes]:
        """Yield what is left."""
        while block := self.read():
            yield block

    def _fetch(self) -> bool:
        if self.ended or self._fault is not None:
            return False
        del self._ahead[: self._taken]
        self._taken = 0
        try:
            block = next(self._blocks, b"")
        except BadInputError as fault:
            self._fault = fault
            return False
        self._ahead += block
        self.ended = not block
        return bool(block)


def stream_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the blocks of a stream, which like any `BinaryIO` may give less than it is asked for."""
    while block := stream.read(BLOCK_BYTES):
        yield block


@contextmanager
def spooled(source: ByteSource, max_bytes: int) -> Iterator[IO[bytes]]:
    """Give what is left of `source` as a file to be read in any order: in memory, or on disk if large."""
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_MEMORY_BYTES) as file:
        for block in source.blocks():
            if source.position > max_bytes:
                raise BadInputError("too_large", f"unpacked it has more than {max_bytes:,} bytes; split it")
            file.write(block)
        file.seek(0)
        yield file
