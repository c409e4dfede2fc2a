""".txt: the whole object is one document."""

from __future__ import annotations

from collections.abc import Iterator

from ner_pipeline.documents.decoding import Encoding, begin_text
from ner_pipeline.documents.document import Document
from ner_pipeline.documents.limits import ReadLimits, ReadOptions
from ner_pipeline.documents.sources import ByteSource
from ner_pipeline.documents.verdicts import judge, too_many_chars

__all__ = ["read_txt"]


def read_txt(source: ByteSource, options: ReadOptions) -> Iterator[Document]:
    """Yield the one document of a text file; no more is held than the longest text that is allowed."""
    limits = options.limits
    encoding = begin_text(source)
    place = Document(byte_offset=source.position, encoding=encoding.name, had_bom=encoding.had_bom)
    yield judge(place, _read_text(encoding, source, limits), limits)


def _read_text(encoding: Encoding, source: ByteSource, limits: ReadLimits) -> str:
    parts: list[str] = []
    chars = 0
    for part in encoding.decode_blocks(source):
        chars += len(part)
        if chars > limits.max_document_chars:
            raise too_many_chars(limits)
        parts.append(part)
    return "".join(parts)
