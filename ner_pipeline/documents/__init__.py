"""Bytes to text: decoding, one reader per format, and the outcome of every document.

`read_documents` is the door. Where the bytes come from and where the texts go to belongs to
`storage`; what stands in the texts belongs to `inference`.
"""

from ner_pipeline.documents.document import Document, Outcome, Warned, action_taken
from ner_pipeline.documents.ids import doc_id
from ner_pipeline.documents.limits import Fields, ReadLimits, ReadOptions
from ner_pipeline.documents.reading import read_documents

__all__ = [
    "Document",
    "Fields",
    "Outcome",
    "ReadLimits",
    "ReadOptions",
    "Warned",
    "action_taken",
    "doc_id",
    "read_documents",
]
