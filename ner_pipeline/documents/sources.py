"""The bytes of one object, front to back: a look ahead, then bounded reads.

What the bytes mean is not known here. A fault of the stream itself (S3 does not answer) passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError

__all__ = ["BLOCK_BYTES", "ByteSource"]

BLOCK_BYTES: Final = 256 * 1024


class ByteSource:
    """Reads through `fetch`, which like `BinaryIO.read` may return less than it is asked for, b"" at the end.

    All bytes before a fault are handed out before the fault is raised, also where a look ahead came
    upon it first: what a reader gets never depends on the size of the blocks that arrive.
    """

    def __init__(self, fetch: Callable[[int], bytes], *, max_bytes: int) -> None:
        self._fetch = fetch
        self._max_bytes = max_bytes
        self._fetched = 0
        self._ahead = b""
        self._fault: BadInputError | None = None
        self.position = 0
        """Bytes handed out so far."""

    def peek(self, count: int) -> bytes:
        """Return the next `count` bytes without taking them; fewer only where the source ends before."""
        while len(self._ahead) < count and self._fault is None:
            try:
                block = self._next(BLOCK_BYTES)
            except BadInputError as fault:
                self._fault = fault
            else:
                if not block:
                    break
                self._ahead += block
        return self._ahead[:count]

    def read(self, count: int = BLOCK_BYTES) -> bytes:
        """Return at most `count` bytes, b"" only at the end."""
        if self._ahead:
            block, self._ahead = self._ahead[:count], self._ahead[count:]
        elif self._fault is not None:
            raise self._fault
        else:
            block = self._next(count)
        self.position += len(block)
        return block

    def blocks(self) -> Iterator[bytes]:
        """Yield what is left."""
        while block := self.read():
            yield block

    def _next(self, count: int) -> bytes:
        left = self._max_bytes - self._fetched
        block = self._fetch(min(count, left) or 1)
        if block and not left:
            raise BadInputError(
                "too_large", f"it has more than {self._max_bytes:,} bytes; split it into several files"
            )
        self._fetched += len(block)
        return block
