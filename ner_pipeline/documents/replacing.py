"""Decoding in which bytes that are no character cost themselves only: they become U+FFFD, and are counted.

As with Python's own `errors="replace"`, a character that breaks off is one U+FFFD however many of its bytes
are there. So is, other than there, half a surrogate pair in the three bytes that Java and Oracle give it
(CESU-8). Which charset the bytes are in is not known here.
"""

from __future__ import annotations

import codecs
import re
import threading
from dataclasses import dataclass
from typing import Final

__all__ = ["Damage", "ReplacingDecoder"]

_LEAST_FIRST_BYTE: Final = 0xC2
"""Of a long character in UTF-8: what is smaller, above ASCII, only goes on."""
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_BEGUN_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf]?\Z")
_HANDLER: Final = "ner_pipeline.replacing"


@dataclass(slots=True)
class Damage:
    """What was replaced in one piece."""

    byte_count: int = 0
    stretches: int = 0
    """Each became one U+FFFD."""
    torn_bytes: int = 0
    """Of these bytes, those that follow the first one of a long character whose end is not there."""
    cut_off: bool = False
    """Whether the last stretch is the last of all, as in a file that was not written to its end."""
    first_offset: int = 0
    first_byte: int = 0

    def add(self, offset: int, raw: bytes, *, at_the_end: bool) -> None:
        """Count one more stretch."""
        if not self.stretches:
            self.first_offset, self.first_byte = offset, raw[0]
        self.byte_count += len(raw)
        self.stretches += 1
        self.cut_off = at_the_end and raw[0] >= _LEAST_FIRST_BYTE
        if at_the_end or len(raw) > 2:
            self.torn_bytes += len(raw) - 1


class ReplacingDecoder:
    """Decodes piece by piece; what comes out does not depend on where the pieces are cut."""

    def __init__(self, name: str, *, offset: int = 0) -> None:
        self.damage = Damage()
        """That of the last piece."""
        self._decoder = codecs.getincrementaldecoder(name)(_HANDLER)
        self._has_surrogates = codecs.lookup(name).name == "utf-8"
        self._held = b""
        self._offset = offset

    def decode(self, raw: bytes, *, final: bool) -> str:
        """Decode one more piece; of an unfinished character at its end nothing comes out before the next."""
        if self._has_surrogates:
            raw = self._whole_surrogates(raw, final=final)
        self.damage = _under_way.damage = Damage()
        _under_way.offset = self._offset - len(self._decoder.getstate()[0])
        self._offset += len(raw)
        return self._decoder.decode(raw, final)

    def _whole_surrogates(self, raw: bytes, *, final: bool) -> bytes:
        """Hold back the beginning of what may be half a pair: the decoder would give it up at once."""
        joined, self._held = self._held + raw, b""
        begun = None if final else _BEGUN_SURROGATE.search(joined)
        if begun is None:
            return joined
        self._held = begun[0]
        return joined[: begun.start()]


_under_way: Final = threading.local()
"""The damage counted by the decoder at work in this thread: an error handler is not told who decodes."""


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    surrogate = _SURROGATE.match(error.object, error.start) if error.encoding == "utf-8" else None
    end = surrogate.end() if surrogate else error.end
    _under_way.damage.add(
        _under_way.offset + error.start, error.object[error.start : end], at_the_end=end == len(error.object)
    )
    return "\ufffd", end


codecs.register_error(_HANDLER, _replace)
