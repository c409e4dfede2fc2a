"""Bytes to characters: a text source over a byte source, whole or record by record.

Which charset it is in is told in `recognition`. As long as only ASCII has come, that is left open: it reads
the same in all that may follow. Nothing here translates line ends or normalises: offsets count the characters
that were stored. Bytes that are no character become U+FFFD and are counted, never left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError, excerpt
from ner_pipeline.documents.charsets import UTF8, codec_name, declared_charsets
from ner_pipeline.documents.document import Warned
from ner_pipeline.documents.recognition import Recognised, recognise_head, recognise_sample
from ner_pipeline.documents.replacing import Damage, ReplacingDecoder
from ner_pipeline.documents.sources import ByteSource

__all__ = [
    "Decoded",
    "TextSource",
    "declared_charsets",
    "decode_utf8",
    "join_decoded",
    "open_text",
    "too_many_chars",
]

_HEAD_BYTES: Final = 64 * 1024
_SAMPLE_BYTES: Final = 256 * 1024
_BEFORE_BYTES: Final = 32
"""ASCII before a sample that goes with it: the beginning of a word says much about its end."""
_NO_DAMAGE: Final = Damage()
_ABOVE_ASCII: Final = re.compile(rb"[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Characters, and how they were got from bytes."""

    text: str
    encoding: str
    """Name of the codec that reads these bytes: "utf-8" for all that is ASCII."""
    warnings: tuple[Warned, ...] = ()
    replaced_bytes: int = 0
    note: str = ""
    """A sentence for the uploader, wherever there is a warning or a declaration that did not fit."""

    def with_text(self, text: str) -> Decoded:
        """Return what was got for a part of the text, or for what was made of it."""
        return Decoded(text, self.encoding, self.warnings, self.replaced_bytes, self.note)


def open_text(source: ByteSource, *declared: str | None) -> TextSource:
    """Begin to read text: step over a byte order mark, and tell the charset as far as the first bytes do.

    `declared` are charsets in any spelling; the first one that fits the bytes is followed.
    """
    labels = tuple(filter(None, declared))
    recognised = recognise_head(source.peek(_HEAD_BYTES), labels)
    if recognised is not None and recognised.mark:
        source.read(len(recognised.mark))
    return TextSource(source, recognised, labels)


def decode_utf8(raw: bytes, *, offset: int = 0) -> Decoded:
    """Decode the whole of bytes that are to be UTF-8 by the rules of their format."""
    return _decode(raw, Recognised(UTF8), offset)


class TextSource:
    """The text in the bytes of one object.

    It is read in one of three ways: `read_text`, `blocks`, or `stored_blocks` and `decode` for each record in
    them. What comes out does not depend on the size of the blocks that arrive.
    """

    def __init__(self, source: ByteSource, recognised: Recognised | None, labels: Sequence[str]) -> None:
        self.had_bom = recognised is not None and bool(recognised.mark)
        self.position = source.position
        """Bytes handed out so far, a byte order mark included."""
        self.line_end: Final = "\n".encode(recognised.name) if recognised else b"\n"
        """How U+000A is stored; only where a multiple of its length stands before it, these bytes are one."""
        self._source = source
        self._recognised = recognised
        self._ascii_is_ascii = recognised is None or recognised.name == UTF8
        self._ascii = _as_ascii(labels)
        self._labels = labels
        self._before = b""

    def stored_blocks(self) -> Iterator[bytes]:
        """Yield what is left as it is stored, in blocks that cut no code unit of UTF-16 or UTF-32."""
        for block in self._aligned_blocks():
            if self._recognised is None and not block.isascii():
                start = _first_above_ascii(block)
                yield from self._hand_out(block[:start])
                self._recognised = recognise_sample(self._sample(block[start:]), self._labels)
                yield from self._hand_out(block[start:])
            else:
                yield from self._hand_out(block)

    def decode(self, raw: bytes, *, offset: int) -> Decoded:
        """Decode the whole of `raw`, a record that begins at byte `offset` of the object."""
        if self._ascii_is_ascii and raw.isascii():
            return self._ascii.with_text(raw.decode("ascii"))
        if self._recognised is None:
            self._recognised = recognise_sample(raw, self._labels)
        if self._recognised.is_guess:
            # Files are joined from several: what is UTF-8 is nothing else by chance.
            with suppress(UnicodeDecodeError):
                return Decoded(raw.decode(UTF8), UTF8)
        return _decode(raw, self._recognised, offset)

    def blocks(self) -> Iterator[Decoded]:
        """Decode what is left piece by piece: `join_decoded` makes of the pieces what `read_text` returns."""
        decoder: ReplacingDecoder | None = None
        for block in self.stored_blocks():
            if self._recognised is None:
                yield self._ascii.with_text(block.decode("ascii"))
                continue
            if decoder is None:
                decoder = ReplacingDecoder(self._recognised.name, offset=self.position - len(block))
            text = decoder.decode(block, final=False)
            yield _decoded(text, self._recognised, decoder.damage)
        if self._recognised is not None and decoder is not None:
            yield _decoded(decoder.decode(b"", final=True), self._recognised, decoder.damage)

    def read_text(self, max_chars: int) -> Decoded:
        """Decode all that is left; more characters than `max_chars` are refused as soon as they are seen."""
        pieces: list[Decoded] = []
        chars = 0
        for piece in self.blocks():
            chars += len(piece.text)
            if chars > max_chars:
                raise too_many_chars(max_chars)
            pieces.append(piece)
        return join_decoded(pieces)

    def _aligned_blocks(self) -> Iterator[bytes]:
        unit, rest = len(self.line_end), b""
        for block in self._source.blocks():
            joined = rest + block
            whole = len(joined) - len(joined) % unit
            yield joined[:whole]
            rest = joined[whole:]
        yield rest

    def _hand_out(self, block: bytes) -> Iterator[bytes]:
        if block:
            self.position += len(block)
            self._before = (self._before + block[-_BEFORE_BYTES:])[-_BEFORE_BYTES:]
            yield block

    def _sample(self, block: bytes) -> bytes:
        following = self._source.peek(max(0, _SAMPLE_BYTES - len(block)))
        return self._before + (block + following)[:_SAMPLE_BYTES]


def join_decoded(pieces: Sequence[Decoded]) -> Decoded:
    """Make one of the pieces of one text, or of one record."""
    if len(pieces) == 1:
        return pieces[0]
    told = [piece for piece in pieces if piece.replaced_bytes] or [piece for piece in pieces if piece.note]
    return Decoded(
        "".join(piece.text for piece in pieces),
        next((piece.encoding for piece in pieces if piece.encoding != UTF8), UTF8),
        tuple(sorted({warned for piece in pieces for warned in piece.warnings})),
        sum(piece.replaced_bytes for piece in pieces),
        told[0].note if told else "",
    )


def too_many_chars(max_chars: int) -> BadInputError:
    """Say that a text is too long, without having read it to its end."""
    return BadInputError(
        "too_large", f"the text has more than {max_chars:,} characters; split it into several"
    )


def _as_ascii(labels: Sequence[str]) -> Decoded:
    """Tell how bytes below 0x80 are read; where what was declared is unknown, they may mean others."""
    unknown = [label for label in labels if codec_name(label) is None]
    if not unknown or len(unknown) < len(labels):
        return Decoded("", UTF8)
    note = f"the declared charset {excerpt(unknown[0])} is none that is read; all is ASCII and was read so"
    return Decoded("", UTF8, (Warned.ENCODING_UNCERTAIN,), note=note)


def _first_above_ascii(block: bytes) -> int:
    found = _ABOVE_ASCII.search(block)
    return found.start() if found else len(block)


def _decode(raw: bytes, recognised: Recognised, offset: int) -> Decoded:
    try:
        text = raw.decode(recognised.name)
    except UnicodeDecodeError:
        decoder = ReplacingDecoder(recognised.name, offset=offset)
        return _decoded(decoder.decode(raw, final=True), recognised, decoder.damage)
    return _decoded(text, recognised, _NO_DAMAGE)


def _decoded(text: str, recognised: Recognised, damage: Damage) -> Decoded:
    warnings, notes = [], []
    if damage.byte_count:
        warnings.append(Warned.BYTES_REPLACED)
        where = f"byte {damage.first_offset:,} (0x{damage.first_byte:02x})"
        notes.append(f"{where} is not {recognised.name} and became U+FFFD, as did any others like it")
    if recognised.uncertain:
        warnings.append(Warned.ENCODING_UNCERTAIN)
    note = "; ".join(filter(None, (*notes, recognised.note)))
    return Decoded(text, recognised.name, tuple(warnings), damage.byte_count, note)
