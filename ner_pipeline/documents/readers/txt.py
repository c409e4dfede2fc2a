""".txt: the whole object is one document."""

from __future__ import annotations

from collections.abc import Iterator

from ner_pipeline.documents.decoding import open_text
from ner_pipeline.documents.document import Document
from ner_pipeline.documents.limits import ReadOptions
from ner_pipeline.documents.sources import ByteSource
from ner_pipeline.documents.verdicts import judge

__all__ = ["read_txt"]


def read_txt(source: ByteSource, options: ReadOptions) -> Iterator[Document]:
    """Yield the one document of a text file; no more is held than the longest text that is allowed."""
    text = open_text(source, *options.charsets)
    place = Document(byte_offset=text.position, had_bom=text.had_bom)
    yield judge(place, text.read_text(options.limits.max_document_chars), options.limits)
