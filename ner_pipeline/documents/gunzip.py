"""gzip, member by member, in bounded memory, keeping every byte before a break.

The standard `gzip.GzipFile` reads ahead through a buffer and loses what it had unpacked when it meets
the break, and with it good records.
"""

from __future__ import annotations

import zlib
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError
from ner_pipeline.documents.sources import ByteSource

__all__ = ["GZIP_MAGIC", "Gunzip"]

GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WBITS: Final = 31
_PACKED_BLOCK_BYTES: Final = 64 * 1024


class Gunzip:
    """Unpacks all members of a gzip object; zero bytes after the last are padding, as for `gzip` itself."""

    def __init__(self, packed: ByteSource) -> None:
        self._packed = packed
        self._member = zlib.decompressobj(_GZIP_WBITS)
        self._pending = b""
        self._fault: BadInputError | None = None

    def read(self, count: int) -> bytes:
        """Return at most `count` unpacked bytes, b"" only at the end of the last member."""
        while self._fault is None:
            if self._member.eof and not self._begin_member():
                return b""
            packed = self._pending or self._packed.read(_PACKED_BLOCK_BYTES)
            unpacked = self._inflate(packed, count)
            if unpacked:
                return unpacked
            if not packed and not self._member.eof:
                self._fault = BadInputError(
                    "invalid_gzip", "the gzip data end too early: upload the file again"
                )
        raise self._fault

    def _begin_member(self) -> bool:
        rest = self._pending.lstrip(b"\0")
        while not rest and (block := self._packed.read(_PACKED_BLOCK_BYTES)):
            rest = block.lstrip(b"\0")
        if rest:
            self._member = zlib.decompressobj(_GZIP_WBITS)
        self._pending = rest
        return bool(rest)

    def _inflate(self, packed: bytes, count: int) -> bytes:
        before = self._member.copy()
        try:
            unpacked = self._member.decompress(packed, count)
        except zlib.error as error:
            self._fault = BadInputError(
                "invalid_gzip",
                f"the gzip data are damaged here or before ({error}): upload the file again",
            )
            return _salvage(before, packed)
        self._pending = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        return unpacked


def _salvage(member: zlib._Decompress, packed: bytes) -> bytes:
    """Unpack byte by byte up to the break: a call that fails gives nothing of what it had unpacked."""
    unpacked = b""
    try:
        for index in range(len(packed)):
            unpacked += member.decompress(packed[index : index + 1])
    except zlib.error:
        pass
    return unpacked
