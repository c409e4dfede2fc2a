""".parquet: one document per row; only the columns of text and id are read.

Parquet is read from its end, so the object is spooled first: a few megabytes in memory, more on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from ner_pipeline.documents.bad_input import BadInputError, excerpt, listed
from ner_pipeline.documents.decoding import decode_utf8
from ner_pipeline.documents.document import Document
from ner_pipeline.documents.limits import Fields, ReadLimits, ReadOptions
from ner_pipeline.documents.sources import ByteSource, spooled
from ner_pipeline.documents.unpacking.budget import Budget
from ner_pipeline.documents.verdicts import judge, reject

__all__ = ["read_parquet"]

_BATCH_BYTES: Final = 32 * 1024**2
_BATCH_ROWS: Final = 16
"""So few because one dictionary entry of 50 MB can stand for every row of a batch; a batch costs 20 µs."""
_READ_BUFFER_BYTES: Final = 1024**2


def read_parquet(source: ByteSource, options: ReadOptions) -> Iterator[Document]:
    """Yield one document for each row; record numbers count the rows from 1."""
    limits, fields = options.limits, options.fields
    with spooled(source, limits.max_object_bytes) as file:
        if not source.position:
            return
        with _opened(file) as table:
            _check_columns(table.schema_arrow, fields)
            if table.metadata.num_rows > limits.max_records:
                raise BadInputError(
                    "too_many_records", f"it has more than {limits.max_records:,} rows; split it"
                )
            budget = Budget(limits, source, source.position)
            for number, (text, record_id, note) in enumerate(_rows(table, fields), start=1):
                # One entry of a dictionary can stand for the text of every row.
                budget.count(len(text or b""))
                yield _document(Document(record=number, record_id=record_id), text, limits, fields, note)


@contextmanager
def _opened(file: IO[bytes]) -> Iterator[pq.ParquetFile]:
    """Open the file, and translate what Arrow raises over bad bytes, now or while it is read."""
    try:
        with pq.ParquetFile(file, pre_buffer=False, buffer_size=_READ_BUFFER_BYTES) as table:
            yield table
    except (pa.ArrowException, UnicodeDecodeError) as error:  # the latter over damaged column names
        raise _invalid(error) from error
    except OSError as error:
        # Arrow reports damaged pages as OSError without errno; with one, it is this machine's disk.
        if error.errno is not None:
            raise
        raise _invalid(error) from error


def _invalid(error: Exception) -> BadInputError:
    first_line = next(iter(str(error).splitlines()), type(error).__name__)
    return BadInputError(
        "invalid_parquet", f"it is no Parquet file, or a damaged one ({excerpt(first_line)})"
    )


def _check_columns(schema: pa.Schema, fields: Fields) -> None:
    count = schema.names.count(fields.text)
    if not count:
        raise BadInputError(
            "no_text_field",
            f"no column {fields.text!r} (found {listed(schema.names)});"
            " rename the column or set NER_TEXT_FIELD",
        )
    for name in (fields.text, fields.id):
        if schema.names.count(name) > 1:
            raise BadInputError("duplicate_column", f"it has {schema.names.count(name)} columns {name!r}")
    kind = schema.field(fields.text).type
    if not (pa.types.is_null(kind) or _is_string(kind)):
        raise BadInputError(
            "text_not_string", f"column {fields.text!r} is of type {kind}; store it as string"
        )


def _is_string(kind: pa.DataType) -> bool:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(
        test(value) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def _rows(table: pq.ParquetFile, fields: Fields) -> Iterator[tuple[bytes | None, str | None, str]]:
    """Yield text, id and a note of every row."""
    columns = [name for name in (fields.text, fields.id) if name in table.schema_arrow.names]
    for batch in table.iter_batches(_batch_rows(table), columns=columns, use_threads=False):
        texts = batch.column(fields.text).cast(pa.large_binary())
        ids, note = _ids(batch, fields)
        for text, record_id in zip(texts, ids, strict=True):
            yield text.as_py(), record_id, note


def _batch_rows(table: pq.ParquetFile) -> int:
    """Choose how many rows to hold at a time, by their mean size where rows are largest."""
    metadata = table.metadata
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    mean = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
    return max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(mean, 1)))


def _ids(batch: pa.RecordBatch, fields: Fields) -> tuple[list[str | None], str]:
    """Spell the ids of a batch, with a note where their type has no spelling."""
    if fields.id not in batch.schema.names or fields.id == fields.text:
        return [None] * batch.num_rows, ""
    column = batch.column(fields.id)
    try:
        spelled = column.cast(pa.string(), safe=False).cast(pa.binary())
    except pa.ArrowException:
        return [None] * batch.num_rows, f"{fields.id!r} is of type {column.type} and was left out"
    return [None if value is None else value.decode("utf-8", "replace") for value in spelled.to_pylist()], ""


def _document(place: Document, text: bytes | None, limits: ReadLimits, fields: Fields, note: str) -> Document:
    if text is None:
        fault = BadInputError("text_not_string", f"row {place.record:,}: {fields.text!r} is null, no string")
        return reject(place, fault)
    decoded = decode_utf8(text)
    note = "; ".join(filter(None, (note, decoded.note)))
    return judge(place, replace(decoded, note=note), limits)
