""".csv and .tsv: a header, then one document per row; double quotes as RFC 4180 has them.

The separator is the first of comma, semicolon and tab under which the first line names the text column; for
.tsv the tab comes first. Nothing else is sniffed, and every cell is a string: "NA", "null" and 007 are texts
and ids like others.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError, listed
from ner_pipeline.documents.charsets import UTF8
from ner_pipeline.documents.decoding import Decoded, TextSource, join_decoded, open_text
from ner_pipeline.documents.document import Document
from ner_pipeline.documents.limits import Fields, ReadLimits, ReadOptions
from ner_pipeline.documents.readers.lines import split_at_returns, split_lines
from ner_pipeline.documents.sources import ByteSource
from ner_pipeline.documents.verdicts import judge, reject

__all__ = ["read_csv", "read_tsv"]

_COMMA_FIRST: Final = ",;\t"
_TAB_FIRST: Final = "\t,;"


@dataclass(frozen=True, slots=True)
class _Row:
    offset: int
    line: int
    cells: list[str]
    decoded: Decoded
    """Of all the lines of the row."""
    fault: BadInputError | None = None


@dataclass(frozen=True, slots=True)
class _Columns:
    count: int
    text: int
    id: int | None

    def record_id(self, cells: list[str]) -> str | None:
        """Give the id in a row; in one with too few or too many cells it nearly always is in place."""
        return None if self.id is None or self.id >= len(cells) else cells[self.id] or None


def read_csv(source: ByteSource, options: ReadOptions) -> Iterator[Document]:
    """Yield one document for each data row; record numbers count those from 1, blank lines left out."""
    return _read_table(open_text(source, *options.charsets), options, _COMMA_FIRST)


def read_tsv(source: ByteSource, options: ReadOptions) -> Iterator[Document]:
    """Read as `read_csv` does, the tab before the other separators."""
    return _read_table(open_text(source, *options.charsets), options, _TAB_FIRST)


def _read_table(text: TextSource, options: ReadOptions, separators: str) -> Iterator[Document]:
    limits, fields = options.limits, options.fields
    # The parser's own bound is one for the whole process, and 128 KiB at first. `_Lines` bounds whole rows.
    csv.field_size_limit(max(csv.field_size_limit(), limits.max_record_bytes))
    lines = _Lines(text, limits.max_record_bytes)
    rows = _rows(lines, _separator(lines.first(), fields, separators))
    header = next(rows, None)
    if header is None:
        return
    columns = _columns(header, fields)
    for number, row in enumerate(rows, start=1):
        if number > limits.max_records:
            raise BadInputError("too_many_records", f"it has more than {limits.max_records:,} rows; split it")
        yield _document(number, row, columns, text.had_bom, limits)


def _separator(first_line: str, fields: Fields, separators: str) -> str:
    for separator in separators:
        if any(fields.text in cells for cells in csv.reader([first_line], delimiter=separator)):
            return separator
    return separators[0]


def _columns(header: _Row, fields: Fields) -> _Columns:
    if header.fault is not None:
        raise BadInputError(header.fault.reason, f"header: {header.fault.detail}")
    names = header.cells
    if fields.text not in names:
        raise BadInputError(
            "no_text_field",
            f"no column {fields.text!r} (found {listed(names)}); rename the column or set NER_TEXT_FIELD",
        )
    if names.count(fields.text) > 1:
        raise BadInputError(
            "duplicate_column", f"the header names {fields.text!r} {names.count(fields.text)} times"
        )
    return _Columns(
        len(names), names.index(fields.text), names.index(fields.id) if fields.id in names else None
    )


def _document(number: int, row: _Row, columns: _Columns, had_bom: bool, limits: ReadLimits) -> Document:
    fault = row.fault
    if fault is None and len(row.cells) != columns.count:
        found = f"{len(row.cells):,} cells under {columns.count:,} column names"
        fault = BadInputError("wrong_cell_count", f"{found}; quote cells that hold separators")
    place = Document(
        record=number,
        record_id=columns.record_id(row.cells),
        byte_offset=row.offset,
        encoding=row.decoded.encoding,
        had_bom=had_bom,
    )
    if fault is not None:
        return reject(
            place, BadInputError(fault.reason, f"row {number:,} (line {row.line:,}): {fault.detail}")
        )
    return judge(place, row.decoded.with_text(row.cells[columns.text]), limits)


def _rows(lines: _Lines, separator: str) -> Iterator[_Row]:
    """Parse row by row; after a row with a quote out of place the parser goes on at the next line."""
    parser = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        lines.begin_row()
        line = parser.line_num + 1
        try:
            cells = next(parser)
        except StopIteration:
            return
        except csv.Error as error:
            fault = _misquoted(error, open_to_the_end=lines.ended, lines=parser.line_num - line + 1)
            yield _Row(lines.row_offset, line, [], lines.decoded(), fault)
        else:
            if cells:
                yield _Row(lines.row_offset, line, cells, lines.decoded())


def _misquoted(error: csv.Error, *, open_to_the_end: bool, lines: int) -> BadInputError:
    if open_to_the_end:
        return BadInputError(
            "invalid_csv", "a quote is never closed, and all that follows is lost in its cell"
        )
    more = f"; the {lines - 1:,} lines behind it that its quote holds are lost with it" if lines > 1 else ""
    return BadInputError("invalid_csv", f"{error}; quote the cell and double the quotes in it{more}")


class _Lines:
    """The lines that the parser asks for, decoded one by one, with a record of where each row begins."""

    def __init__(self, text: TextSource, max_row_bytes: int) -> None:
        self.max_row_bytes = max_row_bytes
        self.row_offset = self._offset = text.position
        self.ended = False
        self._text = text
        self._how: Decoded | None = None
        self._pieces: Iterator[bytes] = self._split(text)

    def first(self) -> str:
        """Return the first line that is not blank, without taking it; "" where there is none."""
        seen: list[bytes] = []
        line = ""
        while not line.strip("\r\n") and (raw := next(self._pieces, b"")):
            line = self._text.decode(raw, offset=self._offset).text
            seen.append(raw)
        self._pieces = chain(seen, self._pieces)
        return line

    def begin_row(self) -> None:
        self.row_offset = self._offset
        self._how = None

    def decoded(self) -> Decoded:
        """Say how the lines of this row were decoded. Their text is the parser's: it is not held twice."""
        return self._how or Decoded("", UTF8)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = next(self._pieces, None)
        if raw is None:
            self.ended = True
            raise StopIteration
        offset, self._offset = self._offset, self._offset + len(raw)
        if self._offset - self.row_offset > self.max_row_bytes:
            raise self._too_large()
        decoded = self._text.decode(raw, offset=offset)
        how = decoded.with_text("")
        self._how = how if self._how is None or self._how == how else join_decoded([self._how, how])
        # Where files with byte order marks were joined, one stands before a row in the middle.
        return decoded.text.removeprefix("\ufeff") if offset == self.row_offset else decoded.text

    def _split(self, text: TextSource) -> Iterator[bytes]:
        for line in split_lines(text, self.max_row_bytes):
            if line.too_long:
                raise self._too_large()
            yield from split_at_returns(line.raw, text.line_end)

    def _too_large(self) -> BadInputError:
        return BadInputError(
            "too_large",
            f"the row at byte {self.row_offset:,} has more than {self.max_row_bytes:,} bytes: a quote may be"
            " left open; where the next row begins cannot be told",
        )
