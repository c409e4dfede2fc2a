"""The door: one object in, its documents out, whatever its bytes are.

Chooses the reader by the name and the unpacking by the bytes, and holds the wall behind which bad input
is a rejected document and never an exception. Only `BadInputError` is stopped here: what the stream
raises of its own (S3 did not answer) goes up untouched, as does a programming error or a lack of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO, Final

from ner_pipeline.documents.bad_input import BadInputError, excerpt
from ner_pipeline.documents.document import Document, Outcome
from ner_pipeline.documents.limits import DEFAULT_OPTIONS, ReadLimits, ReadOptions
from ner_pipeline.documents.readers.csv import read_csv, read_tsv
from ner_pipeline.documents.readers.html import read_html
from ner_pipeline.documents.readers.json import read_json
from ner_pipeline.documents.readers.jsonl import read_jsonl
from ner_pipeline.documents.readers.parquet import read_parquet
from ner_pipeline.documents.readers.txt import read_txt
from ner_pipeline.documents.signatures import SIGNATURE_BYTES, check_is_no_foreign_file
from ner_pipeline.documents.sources import ByteSource, stream_blocks
from ner_pipeline.documents.unpacking.budget import Budget, ObjectFaultError, capped
from ner_pipeline.documents.unpacking.gzip import gunzip
from ner_pipeline.documents.unpacking.packings import PACKING_HEAD_BYTES, Packing, packing_of, split_name
from ner_pipeline.documents.unpacking.zip import zip_members
from ner_pipeline.documents.unpacking.zstd import unzstd
from ner_pipeline.documents.verdicts import reject

__all__ = ["KNOWN_FORMATS", "read_documents"]

Reader = Callable[[ByteSource, ReadOptions], Iterator[Document]]

_READERS: Final[dict[str, Reader]] = {
    "txt": read_txt,
    "md": read_txt,
    "markdown": read_txt,
    "html": read_html,
    "htm": read_html,
    "jsonl": read_jsonl,
    "ndjson": read_jsonl,
    "json": read_json,
    "csv": read_csv,
    "tsv": read_tsv,
    "tab": read_tsv,
    "parquet": read_parquet,
}
_OTHER_ENDINGS: Final = ("markdown", "htm", "ndjson", "tab")
KNOWN_FORMATS: Final = tuple(ending for ending in _READERS if ending not in _OTHER_ENDINGS)
_NESTED: Final = "!/"
"""Between the path of an archive and that of a member in it, where archives lie in one another."""


def read_documents(
    key: str,
    stream: BinaryIO,
    *,
    size: int | None = None,
    options: ReadOptions = DEFAULT_OPTIONS,
) -> Iterator[Document]:
    """Yield the documents of the object `key`, at least one, in the order of the object.

    At most one of them is without a record number in a format of records or an archive; it is the last
    and speaks for the rest of the object. `size` is that of the object as stored, if known.
    """
    return _accounted(_numbered(_object(key, stream, size, options), options.limits))


def _object(key: str, stream: BinaryIO, size: int | None, options: ReadOptions) -> Iterator[Document]:
    limits = options.limits
    if size is not None and size > limits.max_object_bytes:
        raise BadInputError(
            "too_large",
            f"it has {size:,} bytes, more than {limits.max_object_bytes:,}; split it into several files",
        )
    stored = ByteSource(capped(stream_blocks(stream), limits.max_object_bytes))
    yield from _File(key, stored, Budget(limits, stored, size), options).documents()


@dataclass(frozen=True, slots=True)
class _File:
    """The object, or a member of an archive in it: a name, bytes, and `level` packings around it."""

    name: str
    source: ByteSource
    budget: Budget
    options: ReadOptions
    level: int = 0
    is_as_named: bool = True
    """Whether no packing was taken off yet, so that the name speaks of these bytes."""

    def documents(self) -> Iterator[Document]:
        """Yield the documents of the file, after taking off one packing, or more, or none."""
        extension, _ = split_name(self.name)
        match self._packing():
            case Packing.GZIP:
                yield from self._inside(gunzip(self.source)).documents()
            case Packing.ZSTD:
                yield from self._inside(unzstd(self.source, self.budget)).documents()
            case Packing.ZIP:
                yield from self._members()
            case _ if extension in _READERS:
                yield from self._read(_READERS[extension])
            case _:
                raise _unknown_format(self.name)

    def _packing(self) -> Packing | None:
        """Tell the packing by the bytes; the name only says whether there is to be one."""
        extension, claimed = split_name(self.name)
        if extension not in _READERS and claimed is None:
            raise _unknown_format(self.name)
        packing = packing_of(self.source.peek(PACKING_HEAD_BYTES))
        if packing is not None or claimed is None or not self.is_as_named:
            return packing
        if claimed is Packing.ZIP:
            # It may stand behind a program that unpacks it, and `zipfile` finds out if it is none.
            return claimed
        if self.source.peek(1):
            raise BadInputError(
                f"invalid_{claimed}",
                f"by its name it is a {claimed} file, but its bytes are none; rename it or pack it",
            )
        return None

    def _inside(self, blocks: Iterator[bytes]) -> _File:
        level = self.budget.descend(self.level)
        return replace(self, source=self.budget.spend(blocks), level=level, is_as_named=False)

    def _members(self) -> Iterator[Document]:
        level = self.budget.descend(self.level)
        # What the uploader said of the object is said of the archive, not of the texts in it.
        options = replace(self.options, charsets=())
        for path, source in zip_members(self.source, self.options.limits.max_object_bytes, self.budget):
            member = _File(path, source, self.budget, options, level)
            for document in _accounted(member.documents(), is_object=False):
                inner = path if document.member is None else f"{path}{_NESTED}{document.member}"
                yield document._replace(member=inner)

    def _read(self, reader: Reader) -> Iterator[Document]:
        if reader is not read_parquet:
            check_is_no_foreign_file(self.source.peek(SIGNATURE_BYTES))
        yield from reader(self.source, self.options)


def _accounted(documents: Iterator[Document], *, is_object: bool = True) -> Iterator[Document]:
    """Yield at least one document for an object or a member: the last one tells of a fault."""
    count = 0
    try:
        for document in documents:
            yield document
            count += 1
    except BadInputError as fault:
        if isinstance(fault, ObjectFaultError) and not is_object:
            raise
        yield reject(Document(), _with_context(fault, count))
    else:
        if not count:
            yield Document(
                text="", outcome=Outcome.EMPTY, reason="no_records", detail="the file holds no records"
            )


def _numbered(documents: Iterator[Document], limits: ReadLimits) -> Iterator[Document]:
    """Count the documents of all members through, and say in each sentence of which member it speaks."""
    for number, document in enumerate(documents, start=1):
        if number > limits.max_records:
            raise ObjectFaultError(
                "too_many_records", f"it has more than {limits.max_records:,} records; split it"
            )
        if document.member is None:
            yield document
        else:
            detail = document.detail and f"member {excerpt(document.member)}: {document.detail}"
            yield document._replace(record=number, detail=detail)


def _unknown_format(name: str) -> BadInputError:
    known = ", ".join(f".{known}" for known in KNOWN_FORMATS)
    return BadInputError(
        "unknown_format",
        f"{excerpt(name.rpartition('/')[2])} is none of {known}, or one of them with .gz, .zst or .zip",
    )


def _with_context(fault: BadInputError, count: int) -> BadInputError:
    """Say that there were good records before the fault: the uploader need not wonder what was lost."""
    if not count:
        return fault
    return BadInputError(
        fault.reason, f"{fault.detail} (what comes after record {count:,} of those read is missing)"
    )
