"""The door: one object in, its documents out, whatever its bytes are.

Chooses the reader by the key, unpacks gzip, and holds the wall behind which bad input is a rejected
document and never an exception. Only `BadInputError` is stopped here: what the stream raises of its own
(S3 did not answer) goes up untouched, as does a programming error or a lack of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from ner_pipeline.documents.bad_input import BadInputError, excerpt
from ner_pipeline.documents.document import Document, Outcome
from ner_pipeline.documents.gunzip import GZIP_MAGIC, Gunzip
from ner_pipeline.documents.limits import DEFAULT_OPTIONS, ReadLimits, ReadOptions
from ner_pipeline.documents.readers.csv import read_csv
from ner_pipeline.documents.readers.jsonl import read_jsonl
from ner_pipeline.documents.readers.parquet import read_parquet
from ner_pipeline.documents.readers.txt import read_txt
from ner_pipeline.documents.sources import ByteSource
from ner_pipeline.documents.verdicts import reject

__all__ = ["KNOWN_FORMATS", "read_documents"]

Reader = Callable[[ByteSource, ReadOptions], Iterator[Document]]

_READERS: Final[dict[str, Reader]] = {
    "txt": read_txt,
    "jsonl": read_jsonl,
    "csv": read_csv,
    "parquet": read_parquet,
}
KNOWN_FORMATS: Final = tuple(_READERS)


def read_documents(
    key: str,
    stream: BinaryIO,
    *,
    size: int | None = None,
    options: ReadOptions = DEFAULT_OPTIONS,
) -> Iterator[Document]:
    """Yield the documents of the object `key`, at least one, in the order of the object.

    At most one of them is without a record number in a format of records; it is the last and speaks
    for the rest of the object. `size` is that of the object as stored, if known.
    """
    count = 0
    try:
        for document in _documents(key, stream, size, options):
            yield document
            count += 1
    except BadInputError as fault:
        yield reject(Document(), _with_context(fault, count))
    else:
        if not count:
            yield Document(
                text="", outcome=Outcome.EMPTY, reason="no_records", detail="the file holds no records"
            )


def _documents(key: str, stream: BinaryIO, size: int | None, options: ReadOptions) -> Iterator[Document]:
    reader, limits = _reader_for(key), options.limits
    if size is not None and size > limits.max_object_bytes:
        raise BadInputError(
            "too_large",
            f"it has {size:,} bytes, more than {limits.max_object_bytes:,}; split it into several files",
        )
    stored = ByteSource(stream.read, max_bytes=limits.max_object_bytes)
    return reader(_unpacked(key, stored, limits), options)


def _reader_for(key: str) -> Reader:
    name = key.rpartition("/")[2]
    stem = name.lower().removesuffix(".gz")
    extension = stem.rpartition(".")[2] if "." in stem else ""
    if extension not in _READERS:
        known = ", ".join(f".{known}" for known in KNOWN_FORMATS)
        raise BadInputError("unknown_format", f"{excerpt(name)} is none of {known}, or one of them with .gz")
    return _READERS[extension]


def _unpacked(key: str, stored: ByteSource, limits: ReadLimits) -> ByteSource:
    head = stored.peek(len(GZIP_MAGIC))
    if head == GZIP_MAGIC:
        return ByteSource(Gunzip(stored).read, max_bytes=limits.max_unpacked_bytes)
    if head and key.lower().endswith(".gz"):
        raise BadInputError(
            "invalid_gzip", "its name ends in .gz, but it is no gzip file; rename it or pack it"
        )
    return stored


def _with_context(fault: BadInputError, count: int) -> BadInputError:
    """Say that there were good records before the fault: the uploader need not wonder what was lost."""
    if not count:
        return fault
    return BadInputError(
        fault.reason, f"{fault.detail} (what comes after record {count:,} of those read is missing)"
    )
