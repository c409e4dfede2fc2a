"""What one object may unpack to: one budget for all packings in one another and all members of archives.

A level or a member that is within its own bounds can still be part of a bomb, so all count together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError
from ner_pipeline.documents.limits import ReadLimits
from ner_pipeline.documents.sources import ByteSource

__all__ = ["Budget", "ObjectFaultError", "capped"]

_HARMLESS_BYTES: Final = 16 * 1024**2
"""A page of blanks packs a thousand to one and is no bomb: the ratio counts from here on."""


class ObjectFaultError(BadInputError):
    """A fault that ends the reading of the whole object, also where only one member of an archive has it."""


class Budget:
    """Counts what comes out of the object `stored`, whose `size` is that as stored, if known."""

    def __init__(self, limits: ReadLimits, stored: ByteSource, size: int | None = None) -> None:
        self._limits = limits
        self._stored = stored
        self._size = size
        self._unpacked = 0

    def spend(self, blocks: Iterator[bytes]) -> ByteSource:
        """Give the unpacked `blocks` to be read, each paid for."""
        return ByteSource(self._paid(blocks))

    def count(self, size: int) -> None:
        """Count what has come out of a packing that is part of a format."""
        self._unpacked += size
        self._check_total(self._unpacked)
        self._check_expansion(self._unpacked, self._stored.position)

    def announce(self, declared_bytes: int) -> None:
        """Refuse what declares of itself that it will not fit, before any of it is unpacked."""
        total = self._unpacked + declared_bytes
        self._check_total(total)
        stored = self._stored.position if self._stored.ended else self._size
        if stored is not None:
            self._check_expansion(total, stored)

    def descend(self, level: int) -> int:
        """Enter one packing more; `level` of them are around it."""
        if level == self._limits.max_nesting:
            raise ObjectFaultError(
                "nested_too_deep",
                f"more than {level} packings lie in one another; pack the texts once",
            )
        return level + 1

    def _paid(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        for block in blocks:
            left = self._limits.max_unpacked_bytes - self._unpacked
            if 0 < left < len(block):
                yield block[:left]
            self._unpacked += len(block)
            self._check_total(self._unpacked)
            # What was taken, not what was fetched: the latter depends on how the stream's blocks fall.
            self._check_expansion(self._unpacked, self._stored.position)
            yield block

    def _check_total(self, unpacked: int) -> None:
        if unpacked > self._limits.max_unpacked_bytes:
            raise ObjectFaultError(
                "too_large", f"unpacked it has more than {self._limits.max_unpacked_bytes:,} bytes; split it"
            )

    def _check_expansion(self, unpacked: int, stored: int) -> None:
        if unpacked > max(_HARMLESS_BYTES, self._limits.max_expansion * stored):
            raise ObjectFaultError(
                "expands_too_much",
                f"{stored:,} bytes unpack to {unpacked:,} or more, as only a bomb does"
                f" (over {self._limits.max_expansion:,} to one); upload the texts unpacked",
            )


def capped(blocks: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    """Yield the first `max_bytes` bytes of `blocks`, and refuse to go on if there are more."""
    left = max_bytes
    for block in blocks:
        if left:
            yield block[:left]
        if len(block) > left:
            raise ObjectFaultError(
                "too_large", f"it has more than {max_bytes:,} bytes; split it into several files"
            )
        left -= len(block)
