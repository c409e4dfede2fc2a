"""The tables: one fixed Arrow schema each, also for zero rows, written and read as streams.

Everything goes through a local file that is uploaded whole: an S3 output stream that an exception
closes would publish a readable Parquet file with part of the rows.

Offsets are named for their unit, which is also noted in the schema, as metadata of each field: `start` and
`end` count Unicode code points of the text in `documents`, end exclusive; `start_utf16` and `end_utf16` count
UTF-16 units, as JavaScript and Java do; `start_utf8` and `end_utf8`, filled on request, count bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = [
    "DOCUMENTS",
    "ENTITIES",
    "OUTCOMES",
    "PLAN",
    "QUARANTINE",
    "TEXT_RESULTS",
    "TableWriter",
    "file_metadata",
    "iter_batches",
    "iter_rows",
    "rows_where",
    "table_schema",
]

SCHEMA_VERSION = "2"
ROW_GROUP_BYTES = 16 * 1024**2
ROW_GROUP_ROWS = 10_000
"""Rows wait as Python objects, at about a kilobyte each, until their group is full."""

_TIME = pa.timestamp("us", tz="UTC")


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


def _offsets(suffix: str, unit: str, *, nullable: bool = False) -> list[pa.Field]:
    noted = {"unit": f"{unit} of the text in documents, end exclusive"}
    names = (f"start{suffix}", f"end{suffix}")
    return [pa.field(name, pa.int64(), nullable=nullable, metadata=noted) for name in names]


_SOURCE = [
    _required("doc_id", pa.string()),
    _required("source_key", pa.string()),
    _required("source_etag", pa.string()),
    _required("source_last_modified", _TIME),
]
_RECORD = [
    pa.field("member", pa.string()),
    pa.field("record", pa.int64()),
    pa.field("record_id", pa.string()),
    pa.field("byte_offset", pa.int64()),
]

DOCUMENTS = pa.schema(
    [
        *_SOURCE,
        *_RECORD,
        _required("text", pa.string()),
        _required("n_chars", pa.int64()),
        _required("text_sha256", pa.string()),
        pa.field("encoding", pa.string()),
        _required("had_bom", pa.bool_()),
        _required("outcome", pa.string()),
        _required("set_version", pa.string()),
    ]
)
"""One row per readable document, blank ones included. Its text is what every offset refers to."""

OUTCOMES = pa.schema(
    [
        *_SOURCE,
        *_RECORD,
        _required("outcome", pa.string()),
        _required("reason", pa.string()),
        _required("detail", pa.string()),
        _required("action", pa.string()),
        _required("warnings", pa.list_(_required("item", pa.string()))),
        _required("replaced_bytes", pa.int64()),
        pa.field("n_chars", pa.int64()),
        _required("entities", pa.int64()),
        pa.field("text_sha256", pa.string()),
        pa.field("encoding", pa.string()),
        _required("had_bom", pa.bool_()),
        _required("set_version", pa.string()),
        _required("model", pa.string()),
    ]
)
"""One row per document, whatever became of it."""

ENTITIES = pa.schema(
    [
        *_SOURCE,
        _required("entity", pa.string()),
        _required("label", pa.string()),
        *_offsets("", "Unicode code points"),
        *_offsets("_utf16", "UTF-16 units"),
        *_offsets("_utf8", "bytes in UTF-8", nullable=True),
        pa.field("kb_id", pa.string()),
        _required("model", pa.string()),
        _required("set_version", pa.string()),
    ]
)
"""One row per entity, in the order of the documents and of the text."""

QUARANTINE = pa.schema(
    [
        *_SOURCE,
        *_offsets("", "Unicode code points"),
        _required("label", pa.string()),
        _required("reason", pa.string()),
        _required("model", pa.string()),
        _required("set_version", pa.string()),
    ]
)
"""Spans that broke a rule, with the rule."""

TEXT_RESULTS = pa.schema(
    [
        _required("text_sha256", pa.string()),
        _required("outcome", pa.string()),
        _required("reason", pa.string()),
        _required("detail", pa.string()),
        _required("seconds", pa.float64()),
        _required("approximate", pa.bool_()),
        _required(
            "spans",
            pa.list_(
                pa.struct(
                    [
                        _required("start", pa.int64()),
                        _required("end", pa.int64()),
                        _required("label", pa.string()),
                        _required("kb_id", pa.string()),
                    ]
                )
            ),
        ),
    ]
)
"""One row per distinct text of a shard: what the extractor said, before any rule was applied."""

PLAN = pa.schema(
    [_required("row", pa.int64()), _required("text_sha256", pa.string()), _required("shard", pa.string())]
)
"""Which row of the documents table is computed in which shard; duplicates of a text are left out."""


class TableWriter:
    """Writes rows or whole columns into a local Parquet file, in row groups of bounded size.

    Used as a context manager. When the block ends with an exception, the file is removed.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.rows = 0
        self._schema = schema.with_metadata({"ner_schema_version": SCHEMA_VERSION})
        self._pending: list[Mapping[str, Any]] = []
        self._pending_bytes = 0
        self._batches: list[pa.Table] = []
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")

    def write(self, row: Mapping[str, Any], size: int = 0) -> None:
        """Add a row; `size` is about how many bytes of text it holds."""
        if self._pending and self._pending_bytes + size > ROW_GROUP_BYTES:
            self._flush()
        self._pending.append(row)
        self._pending_bytes += size
        self.rows += 1
        if len(self._pending) >= ROW_GROUP_ROWS:
            self._flush()

    def extend(self, batch: pa.Table) -> None:
        """Add the rows of a table that has all columns of the schema."""
        self._gather()
        self._batches.append(batch.select(self._schema.names).cast(self._schema))
        self.rows += batch.num_rows
        if sum(map(len, self._batches)) >= ROW_GROUP_ROWS:
            self._flush()

    def note(self, noted: Mapping[str, str]) -> None:
        """Note something in the file besides the rows; `file_metadata` gives it back."""
        self._writer.add_key_value_metadata(noted)

    def _gather(self) -> None:
        if self._pending:
            self._batches.append(pa.Table.from_pylist(self._pending, schema=self._schema))
        self._pending, self._pending_bytes = [], 0

    def _flush(self) -> None:
        self._gather()
        if self._batches:
            self._writer.write_table(pa.concat_tables(self._batches), row_group_size=ROW_GROUP_ROWS)
        self._batches = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._writer.close()
        if kind is not None:
            self.path.unlink(missing_ok=True)


def iter_batches(
    path: Path, columns: Sequence[str] | None = None, *, rows: Iterable[int] | None = None
) -> Iterator[pa.Table]:
    """Give the rows of a local Parquet file, a row group at a time.

    Args:
        columns: which columns to read; all of them by default.
        rows: ascending row numbers to give; row groups without any of them are not read.
    """
    names = None if columns is None else list(columns)
    wanted = None if rows is None else np.fromiter(rows, np.int64)
    with pq.ParquetFile(path) as file:
        first = 0
        for group in range(file.num_row_groups):
            end = first + file.metadata.row_group(group).num_rows
            if wanted is None:
                yield file.read_row_group(group, columns=names)
            elif (local := wanted[slice(*np.searchsorted(wanted, (first, end)))] - first).size:
                yield file.read_row_group(group, columns=names).take(local)
            first = end


def iter_rows(
    path: Path, columns: Sequence[str] | None = None, *, rows: Iterable[int] | None = None
) -> Iterator[dict[str, Any]]:
    """Give the rows of `iter_batches` one by one, as dicts."""
    for batch in iter_batches(path, columns, rows=rows):
        yield from batch.to_pylist()


def rows_where(path: Path, column: str, value: str) -> pa.Table:
    """Give the rows of a local Parquet file with this value in a column."""
    return pq.read_table(path, filters=[(column, "==", value)])


def table_schema(path: Path) -> pa.Schema:
    """Give the schema of a local Parquet file, without its metadata."""
    return pq.read_schema(path).remove_metadata()


def file_metadata(path: Path) -> dict[str, str]:
    """Give what a writer noted in the file besides the rows."""
    noted = pq.read_metadata(path).metadata or {}
    return {key.decode(): value.decode() for key, value in noted.items() if key != b"ARROW:schema"}
