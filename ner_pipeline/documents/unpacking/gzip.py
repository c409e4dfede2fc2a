"""gzip, member by member, keeping every byte before a break.

The standard `gzip.GzipFile` reads ahead through a buffer and loses what it had unpacked when it meets
the break, and with it good records.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError
from ner_pipeline.documents.sources import BLOCK_BYTES, ByteSource

__all__ = ["gunzip"]

_GZIP_WBITS: Final = 31
_PACKED_BLOCK_BYTES: Final = 16 * 1024
"""Small, since the rest of a block is copied at the end of each member, and a block may hold a thousand."""

_PADDING: Final = b"\0\r\n"


def gunzip(packed: ByteSource) -> Iterator[bytes]:
    """Yield what all members unpack to; zero bytes and line ends after the last are padding."""
    rest = packed.take(_PACKED_BLOCK_BYTES)
    while rest:
        rest = yield from _unpack_member(rest, packed)
        rest = rest.lstrip(_PADDING)
        while not rest and (block := packed.take(_PACKED_BLOCK_BYTES)):
            rest = block.lstrip(_PADDING)


def _unpack_member(rest: bytes, packed: ByteSource) -> Generator[bytes, None, bytes]:
    """Yield what one member unpacks to, and return the bytes that were read and follow it."""
    member = zlib.decompressobj(_GZIP_WBITS)
    while not member.eof:
        rest = rest or packed.take(_PACKED_BLOCK_BYTES)
        before = member.copy()
        try:
            unpacked = member.decompress(rest, BLOCK_BYTES)
        except zlib.error as error:
            yield from _salvage(before, rest)
            raise _invalid(f"are damaged here or before ({error})") from error
        if unpacked:
            yield unpacked
        elif not rest and not member.eof:
            raise _invalid("end too early")
        rest = member.unconsumed_tail
    return member.unused_data


def _salvage(member: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """Unpack byte by byte up to the break: a call that fails gives nothing of what it had unpacked."""
    try:
        for index in range(len(packed)):
            if unpacked := member.decompress(packed[index : index + 1]):
                yield unpacked
    except zlib.error:
        pass


def _invalid(what: str) -> BadInputError:
    return BadInputError("invalid_gzip", f"the gzip data {what}: upload the file again")
