"""Which packing a file has: by its first bytes, and by what its name claims."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["PACKING_HEAD_BYTES", "Packing", "packing_of", "split_name"]


class Packing(StrEnum):
    """The packings that are taken off."""

    GZIP = "gzip"
    ZSTD = "zstd"
    ZIP = "zip"


_SUFFIXES: Final = {"gz": Packing.GZIP, "zst": Packing.ZSTD, "zip": Packing.ZIP}
_MAGICS: Final = {
    b"\x1f\x8b": Packing.GZIP,
    b"\x28\xb5\x2f\xfd": Packing.ZSTD,
    b"PK\x03\x04": Packing.ZIP,
    # An empty archive, and one that was split into parts.
    b"PK\x05\x06": Packing.ZIP,
    b"PK\x07\x08": Packing.ZIP,
    # Frames to be skipped may come first in zstd.
    **{bytes([0x50 + number]) + b"\x2a\x4d\x18": Packing.ZSTD for number in range(16)},
}
PACKING_HEAD_BYTES: Final = max(map(len, _MAGICS))


def packing_of(head: bytes) -> Packing | None:
    """Tell the packing of a file that begins with `head`."""
    return next((packing for magic, packing in _MAGICS.items() if head.startswith(magic)), None)


def split_name(name: str) -> tuple[str, Packing | None]:
    """Give the extension of `name` in small letters, packings left out, and the packing that it claims."""
    parts = name.rpartition("/")[2].lower().split(".")
    claimed = None
    while len(parts) > 1 and parts[-1] in _SUFFIXES:
        packing = _SUFFIXES[parts.pop()]
        claimed = claimed or packing
    return parts[-1] if len(parts) > 1 else "", claimed
