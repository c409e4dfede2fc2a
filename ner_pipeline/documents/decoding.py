"""Bytes to characters: which encoding an object has, and its strict decoding.

UTF-8 with or without a byte order mark is read; all else is refused with a reason. `recognise` is the
one place that decides, so another encoding is another `Encoding` that it may return. Nothing here
translates line ends, normalises or replaces: offsets count the characters that were stored.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError
from ner_pipeline.documents.sources import ByteSource

__all__ = ["Encoding", "begin_text", "recognise"]

_HEAD_BYTES: Final = 4096
_MAX_NUL_SHARE: Final = 0.1
"""UTF-16 without a mark is nearly half NUL bytes in Latin scripts; real texts have none."""

# The mark of UTF-32-LE begins with that of UTF-16-LE, so the order matters.
_REFUSED_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the characters of an object are stored."""

    name: str
    bom: bytes = b""

    @property
    def had_bom(self) -> bool:
        """Whether the object begins with a byte order mark, which is no part of its text."""
        return bool(self.bom)

    def decode(self, raw: bytes, *, offset: int) -> str:
        """Decode the whole of `raw`, which begins at byte `offset` of the object."""
        try:
            return raw.decode(self.name)
        except UnicodeDecodeError as error:
            raise self._undecodable(error, offset) from error

    def decode_blocks(self, source: ByteSource) -> Iterator[str]:
        """Decode what is left of `source`; the characters before a bad byte come out before it is refused."""
        decoder = codecs.getincrementaldecoder(self.name)("strict")
        final = False
        while not final:
            offset = source.position - len(decoder.getstate()[0])
            block = source.read()
            final = not block
            try:
                text = decoder.decode(block, final)
            except UnicodeDecodeError as error:
                yield error.object[: error.start].decode(self.name)
                raise self._undecodable(error, offset) from error
            yield text

    def _undecodable(self, error: UnicodeDecodeError, offset: int) -> BadInputError:
        at, byte = offset + error.start, error.object[error.start]
        return BadInputError(
            "undecodable", f"byte {at:,} (0x{byte:02x}) is not {self.name.upper()}; save it as UTF-8"
        )


def recognise(head: bytes) -> Encoding:
    """Tell the encoding from the first bytes of an object, or refuse it."""
    for mark, name in _REFUSED_MARKS:
        if head.startswith(mark):
            raise BadInputError("unsupported_encoding", f"it is {name} (byte order mark); save it as UTF-8")
    if head.count(0) > _MAX_NUL_SHARE * len(head):
        raise BadInputError(
            "unsupported_encoding",
            "many of its first bytes are NUL, as in UTF-16 without a byte order mark; save it as UTF-8",
        )
    return Encoding("utf-8", codecs.BOM_UTF8 if head.startswith(codecs.BOM_UTF8) else b"")


def begin_text(source: ByteSource) -> Encoding:
    """Recognise the encoding of `source` and step over its byte order mark."""
    encoding = recognise(source.peek(_HEAD_BYTES))
    if encoding.had_bom:
        source.read(len(encoding.bom))
    return encoding
