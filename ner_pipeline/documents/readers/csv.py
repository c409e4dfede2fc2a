""".csv: a header, then one document per row; comma and double quote, as RFC 4180 has it.

Every cell is a string: "NA", "null" and 007 are texts and ids like others. Nothing is sniffed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from ner_pipeline.documents.bad_input import BadInputError, listed
from ner_pipeline.documents.decoding import Encoding, begin_text
from ner_pipeline.documents.document import Document
from ner_pipeline.documents.limits import Fields, ReadLimits, ReadOptions
from ner_pipeline.documents.readers.lines import split_lines
from ner_pipeline.documents.sources import ByteSource
from ner_pipeline.documents.verdicts import judge, reject

__all__ = ["read_csv"]


@dataclass(frozen=True, slots=True)
class _Row:
    offset: int
    line: int
    cells: list[str]
    fault: BadInputError | None = None


@dataclass(frozen=True, slots=True)
class _Columns:
    count: int
    text: int
    id: int | None


def read_csv(source: ByteSource, options: ReadOptions) -> Iterator[Document]:
    """Yield one document for each data row; record numbers count those from 1, blank lines left out."""
    limits, fields = options.limits, options.fields
    encoding = begin_text(source)
    rows = _rows(_Lines(source, encoding, limits.max_record_bytes))
    header = next(rows, None)
    if header is None:
        return
    columns = _columns(header, fields)
    for number, row in enumerate(rows, start=1):
        if number > limits.max_records:
            raise BadInputError("too_many_records", f"it has more than {limits.max_records:,} rows; split it")
        yield _document(number, row, columns, encoding, limits)


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


def _document(number: int, row: _Row, columns: _Columns, encoding: Encoding, limits: ReadLimits) -> Document:
    fault = row.fault
    if fault is None and len(row.cells) != columns.count:
        fault = BadInputError(
            "wrong_cell_count", f"{len(row.cells):,} cells under {columns.count:,} column names"
        )
    record_id = None if fault is not None or columns.id is None else row.cells[columns.id] or None
    place = Document(
        record=number,
        record_id=record_id,
        byte_offset=row.offset,
        encoding=encoding.name,
        had_bom=encoding.had_bom,
    )
    if fault is not None:
        return reject(
            place, BadInputError(fault.reason, f"row {number:,} (line {row.line:,}): {fault.detail}")
        )
    return judge(place, row.cells[columns.text], limits)


def _rows(lines: _Lines) -> Iterator[_Row]:
    """Parse row by row; after a row with a quote out of place the parser goes on at the next line."""
    # The parser's own bound is one for the whole process, and 128 KiB at first. `_Lines` bounds whole rows.
    csv.field_size_limit(max(csv.field_size_limit(), lines.max_row_bytes))
    parser = csv.reader(lines, strict=True)
    while True:
        lines.begin_row()
        line = parser.line_num + 1
        try:
            cells = next(parser)
        except StopIteration:
            return
        except csv.Error as error:
            yield _Row(lines.row_offset, line, [], _misquoted(error, open_to_the_end=lines.ended))
        else:
            if cells:
                yield _Row(lines.row_offset, line, cells, lines.fault)


def _misquoted(error: csv.Error, *, open_to_the_end: bool) -> BadInputError:
    if open_to_the_end:
        return BadInputError(
            "invalid_csv", "a quote is never closed, and all that follows is lost in its cell"
        )
    return BadInputError("invalid_csv", f"{error}; quote the cell and double the quotes in it")


class _Lines:
    """The lines that the parser asks for, decoded one by one, so that a bad byte costs one row.

    A line with bad bytes still goes to the parser, with surrogates in their place: where the row ends
    is decided by ASCII characters. The row is rejected afterwards.
    """

    def __init__(self, source: ByteSource, encoding: Encoding, max_row_bytes: int) -> None:
        self.max_row_bytes = max_row_bytes
        self.row_offset = source.position
        self.fault: BadInputError | None = None
        self.ended = False
        self._encoding = encoding
        self._offset = source.position
        self._pieces = self._split(source)

    def begin_row(self) -> None:
        self.row_offset = self._offset
        self.fault = None

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
        try:
            return self._encoding.decode(raw, offset=offset)
        except BadInputError as fault:
            self.fault = self.fault or fault
            return raw.decode(self._encoding.name, "surrogateescape")

    def _split(self, source: ByteSource) -> Iterator[bytes]:
        for line in split_lines(source, self.max_row_bytes):
            if line.too_long:
                raise self._too_large()
            # Of bytes, splitlines breaks at \n, \r\n and \r alone: the line ends of a CSV file.
            yield from line.raw.splitlines(keepends=True)

    def _too_large(self) -> BadInputError:
        return BadInputError(
            "too_large",
            f"the row at byte {self.row_offset:,} has more than {self.max_row_bytes:,} bytes: a quote may be"
            " left open; where the next row begins cannot be told",
        )
