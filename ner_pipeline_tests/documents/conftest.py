"""How the tests here read: bytes in, a list of documents out, through a stream of short reads if asked."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ner_pipeline.documents import Document, Fields, ReadLimits, ReadOptions, read_documents

Read = Callable[..., list[Document]]


class ShortReads(io.RawIOBase):
    """A stream that gives at most so many bytes at a time, as a socket does."""

    def __init__(self, raw: bytes, sizes: Iterable[int]) -> None:
        self._stream = io.BytesIO(raw)
        self._sizes: Iterator[int] = cycle(sizes)

    def read(self, count: int = -1) -> bytes:
        size = next(self._sizes)
        return self._stream.read(size if count < 0 else min(size, count))


@pytest.fixture(scope="session")
def read() -> Read:
    def read_all(
        key: str,
        raw: bytes,
        *,
        block_sizes: Iterable[int] = (1 << 30,),
        limits: ReadLimits | None = None,
        fields: Fields | None = None,
        charset: str | None = None,
        **given,
    ) -> list[Document]:
        options = ReadOptions(
            limits=limits or ReadLimits(),
            fields=fields or Fields(),
            charsets=(charset,) if charset else (),
        )
        return list(read_documents(key, ShortReads(raw, block_sizes), options=options, **given))

    return read_all


@pytest.fixture(scope="session")
def parquet() -> Callable[..., bytes]:
    def as_bytes(columns: dict, **options) -> bytes:
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns), buffer, **options)
        return buffer.getvalue()

    return as_bytes
