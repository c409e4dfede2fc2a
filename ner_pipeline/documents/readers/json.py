""".json: one object, an array of them, or several values in a row; each is a document.

A string in the place of an object is a text without an id. The file is cut into its values before any is
parsed, so that no more than one is held, and a bad one costs itself where its end can be told. What is
wrapped, as in {"data": [ … ]}, is one object: what is meant is not guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError, excerpt
from ner_pipeline.documents.charsets import UTF8
from ner_pipeline.documents.decoding import Decoded, TextSource, open_text
from ner_pipeline.documents.document import Document, Warned
from ner_pipeline.documents.limits import ReadOptions
from ner_pipeline.documents.readers.jsonl import judge_record, parse_json, read_jsonl
from ner_pipeline.documents.sources import ByteSource
from ner_pipeline.documents.verdicts import reject

__all__ = ["read_json"]

_FIRST_LINE_BYTES: Final = 1024**2
_KEPT_OF_A_LONG_VALUE: Final = 256
_GAP: Final = re.compile(r"[ \t\n\r\ufeff]*")
_BRACKET_OR_QUOTE: Final = re.compile(r'[{}\[\]"]')
_QUOTE_OR_ESCAPE: Final = re.compile(r'"|\\')
_END_OF_SCALAR: Final = re.compile(r'[ \t\n\r,:{}\[\]"]')


def read_json(source: ByteSource, options: ReadOptions) -> Iterator[Document]:
    """Yield one document for each value; record numbers count them from 1, or are those of the lines."""
    if _holds_json_lines(source.peek(_FIRST_LINE_BYTES)):
        yield from read_jsonl(source, options)
        return
    text = open_text(source, *options.charsets)
    pieces = _Pieces(text)
    for number, value in enumerate(_split(pieces, options.limits.max_record_bytes), start=1):
        place = Document(record=number, had_bom=text.had_bom)
        try:
            yield _document(place, value, pieces, options)
        except BadInputError as fault:
            yield reject(place, BadInputError(fault.reason, f"record {number:,}: {fault.detail}"))


def _holds_json_lines(head: bytes) -> bool:
    """Tell whether the first line is a whole object: then a line that is broken ends where it ends."""
    line = head.lstrip().partition(b"\n")[0]
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _document(place: Document, value: _Value, pieces: _Pieces, options: ReadOptions) -> Document:
    if value.too_long:
        raise BadInputError(
            "too_large",
            f"more than {options.limits.max_record_bytes:,} characters, beginning with {excerpt(value.text)}",
        )
    record = _parse(value.text)
    if value.text.startswith('"'):
        record = {options.fields.text: record}
    decoded = pieces.decoded(value.text)
    return judge_record(place, record, decoded, options, where=f"record {place.record:,}")


def _parse(text: str) -> object:
    try:
        return parse_json(text)
    except BadInputError as fault:
        if text.count("{") < 2:
            raise
        # Where a bracket or a quote is left open, it goes on over those behind it.
        raise BadInputError(
            fault.reason, f"{fault.detail}; records that stand in it are lost with it"
        ) from fault


class _Pieces:
    """The decoded pieces of the file, and how a part of them was decoded."""

    def __init__(self, text: TextSource) -> None:
        self._text = text
        self._how: Decoded | None = None

    def __iter__(self) -> Iterator[str]:
        for piece in self._text.blocks():
            if piece.encoding != UTF8 or not piece.text.isascii():
                self._how = piece
            yield piece.text

    def decoded(self, part: str) -> Decoded:
        """Tell how `part` was decoded, by what stands in it: a piece may hold many values, or half a one."""
        is_wide = len(self._text.line_end) > 1
        if self._how is None or (part.isascii() and not is_wide):
            return Decoded(part, UTF8)
        notes: dict[Warned, str] = {}
        if replaced := part.count("\ufffd"):
            notes[Warned.BYTES_REPLACED] = (
                f"U+FFFD stands {replaced:,} times for bytes that are no character, or stood there already"
            )
        if Warned.ENCODING_UNCERTAIN in self._how.warnings:
            notes[Warned.ENCODING_UNCERTAIN] = f"nothing settles the encoding; {self._how.encoding} was taken"
        return Decoded(part, self._how.encoding, tuple(sorted(notes)), replaced, "; ".join(notes.values()))


class _Value:
    """One value, as it is spelled, as far as it has come: only the beginning of one that is `too_long`."""

    def __init__(self, first: str, max_chars: int) -> None:
        self.length = 0
        self._max_chars = max_chars
        self._parts: list[str] = []
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._end_in = self._end_of_scalar if first not in '{["' else self._end_of_nested

    @property
    def too_long(self) -> bool:
        """Whether it is longer than a record may be."""
        return self.length > self._max_chars

    @property
    def text(self) -> str:
        """What is held of it."""
        return "".join(self._parts)

    def grow(self, piece: str, start: int) -> int:
        """Take what belongs to the value from `piece`, and tell where it ended; -1 where it goes on."""
        end = self._end_in(piece, start)
        part = piece[start:] if end < 0 else piece[start:end]
        self.length += len(part)
        if not self.too_long:
            self._parts.append(part)
        else:
            beginnings = (held[:_KEPT_OF_A_LONG_VALUE] for held in (*self._parts, part))
            self._parts = ["".join(beginnings)[:_KEPT_OF_A_LONG_VALUE]]
        return end

    def _end_of_scalar(self, piece: str, start: int) -> int:
        found = _END_OF_SCALAR.search(piece, start)
        return found.start() if found else -1

    def _end_of_nested(self, piece: str, start: int) -> int:
        at = start
        while at < len(piece):
            if self._escaped:
                self._escaped, at = False, at + 1
                continue
            found = (_QUOTE_OR_ESCAPE if self._in_string else _BRACKET_OR_QUOTE).search(piece, at)
            if found is None:
                return -1
            at = found.end()
            if self._ends_with(found[0]):
                return at
        return -1

    def _ends_with(self, character: str) -> bool:
        if character == "\\":
            self._escaped = True
            return False
        if character == '"':
            self._in_string = not self._in_string
        else:
            self._depth += 1 if character in "{[" else -1
        return not self._in_string and self._depth == 0


def _split(pieces: Iterable[str], max_chars: int) -> Iterator[_Value]:
    """Yield the values in the order of the file; those of an array are let out of it."""
    structure, value, count = _Structure(), None, 0
    for piece in pieces:
        at = 0
        while at < len(piece):
            if value is None:
                at = structure.step_over(piece, at, count)
                if at == len(piece):
                    break
                value = _Value(piece[at], max_chars)
            at = value.grow(piece, at)
            if at < 0:
                break
            yield value
            value, count = None, count + 1
    if value is not None:
        yield value
    else:
        structure.check_is_closed()


class _Structure:
    """What stands between the values: blanks, the brackets of an array, and its commas."""

    def __init__(self) -> None:
        self._in_array = False
        self._comma_due = False

    def step_over(self, piece: str, start: int, count: int) -> int:
        """Tell where the next value begins in `piece`, which is behind its end if it does not."""
        at = _end_of_gap(piece, start)
        while at < len(piece) and self._is_taken(piece[at], count):
            at = _end_of_gap(piece, at + 1)
        if at < len(piece):
            if piece[at] in "}:" or (self._in_array and self._comma_due):
                raise _unexpected(piece[at], count)
            self._comma_due = self._in_array
        return at

    def check_is_closed(self) -> None:
        """Object to an array that goes on behind the end of the file."""
        if self._in_array:
            raise BadInputError(
                "invalid_json", "the file ends before its array does: it was not written to the end"
            )

    def _is_taken(self, character: str, count: int) -> bool:
        if character not in ("],[" if not self._in_array else "],"):
            return False
        if (character != "[" and not self._in_array) or (character == "," and not self._comma_due):
            raise _unexpected(character, count)
        self._in_array = character != "]"
        self._comma_due = False
        return True


def _end_of_gap(piece: str, start: int) -> int:
    found = _GAP.match(piece, start)
    return found.end() if found else start


def _unexpected(character: str, count: int) -> BadInputError:
    return BadInputError(
        "invalid_json",
        f"{character!r} after value {count:,}, where none can stand: the rest cannot be told",
    )
