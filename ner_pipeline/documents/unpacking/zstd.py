"""zstd, block by block, keeping every byte before a break.

The stream readers of `zstandard` lose what a call had unpacked when it fails, give no error for a file
that ends too early, and may unpack gigabytes in one call. Fed with one block of the format at a time
(RFC 8878, section 3.1.1), its decompressor gives back at most 128 KiB and fails where the data do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import zstandard

from ner_pipeline.documents.bad_input import BadInputError
from ner_pipeline.documents.sources import BLOCK_BYTES, ByteSource
from ner_pipeline.documents.unpacking.budget import Budget

__all__ = ["unzstd"]

_MAX_WINDOW_BYTES: Final = 128 * 1024**2
"""What `zstd -d` takes unasked; a frame may declare that it needs terabytes."""
_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_MAGIC: Final = b"\x2a\x4d\x18"
_MAX_HEADER_BYTES: Final = 18
_RLE_BLOCK: Final = 1
_CHECKSUM_BYTES: Final = 4


def unzstd(packed: ByteSource, budget: Budget) -> Iterator[bytes]:
    """Yield what all frames unpack to; zero bytes after the last are padding, as they are for gzip."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
    while head := packed.peek(4):
        if _is_skippable(head):
            _skip(packed)
        elif head == _MAGIC:
            yield from _unpack_frame(packed, decompressor, budget)
        else:
            _step_over_padding(packed)
    packed.read()  # Where the packed bytes themselves broke off, this says so.


def _is_skippable(head: bytes) -> bool:
    return head[1:4] == _SKIPPABLE_MAGIC and head[0] >> 4 == 5


def _step_over_padding(packed: ByteSource) -> None:
    ahead = packed.peek(BLOCK_BYTES)
    zeros = len(ahead) - len(ahead.lstrip(b"\0"))
    if not zeros:
        raise _invalid("are followed by something else")
    packed.take(zeros)


def _skip(packed: ByteSource) -> None:
    left = int.from_bytes(_exactly(8, packed)[4:], "little")
    while left:
        left -= len(_exactly(min(left, BLOCK_BYTES), packed))


def _unpack_frame(
    packed: ByteSource, decompressor: zstandard.ZstdDecompressor, budget: Budget
) -> Iterator[bytes]:
    parameters, header = _frame_header(packed)
    if parameters.content_size != zstandard.CONTENTSIZE_UNKNOWN:
        budget.announce(parameters.content_size)
    frame = decompressor.decompressobj()
    _feed(frame, header)
    is_last = False
    while not is_last:
        block, is_last = _block(packed)
        if unpacked := _feed(frame, block):
            yield unpacked
    if parameters.has_checksum:
        _feed(frame, _exactly(_CHECKSUM_BYTES, packed))


def _frame_header(packed: ByteSource) -> tuple[zstandard.FrameParameters, bytes]:
    head = packed.peek(_MAX_HEADER_BYTES)
    try:
        parameters = zstandard.get_frame_parameters(head)
        header = packed.take(zstandard.frame_header_size(head))
    except zstandard.ZstdError as error:
        raise _invalid(f"are damaged ({error})") from error
    if parameters.window_size > _MAX_WINDOW_BYTES:
        raise BadInputError(
            "too_large",
            f"its zstd window takes {parameters.window_size:,} bytes of memory, more than"
            f" {_MAX_WINDOW_BYTES:,}; pack it without --long or --ultra",
        )
    return parameters, header


def _block(packed: ByteSource) -> tuple[bytes, bool]:
    """Take one block of a frame, and tell whether it is the last."""
    header = _exactly(3, packed)
    fields = int.from_bytes(header, "little")
    is_last, kind, size = bool(fields & 1), fields >> 1 & 3, fields >> 3
    return header + _exactly(1 if kind == _RLE_BLOCK else size, packed), is_last


def _feed(frame: zstandard.ZstdDecompressionObj, piece: bytes) -> bytes:
    try:
        return frame.decompress(piece)
    except zstandard.ZstdError as error:
        raise _invalid(f"are damaged here or before ({error})") from error


def _exactly(count: int, packed: ByteSource) -> bytes:
    piece = packed.take(count)
    if len(piece) < count:
        packed.read()  # Where the packed bytes themselves broke off, this says so.
        raise _invalid("end too early")
    return piece


def _invalid(what: str) -> BadInputError:
    return BadInputError("invalid_zstd", f"the zstd data {what}: upload the file again")
