"""spaCy's own form of gold data, a DocBin in a file that ends in `.spacy`: texts with their entities.

A DocBin is packed MessagePack. Nothing of it is run, and no pickle is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ner_pipeline.errors import GoldError
from ner_pipeline.inference.spans import Span, spans_of

__all__ = ["read_docbin"]


def read_docbin(path: Path) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """Give the text and the entities of each Doc.

    Raises:
        GoldError: the file is no DocBin, or a Doc has tokens of which nobody has said what they are.
    """
    for number, doc in enumerate(_docs(path), start=1):
        if not doc.has_annotation("ENT_IOB", require_complete=True):
            raise GoldError(
                f"{path.name}:{number}: this Doc has tokens without entity annotation; "
                "let doc.set_ents(...) say which tokens are no entity too"
            )
        yield doc.text, tuple(spans_of(doc))


def _docs(path: Path) -> Iterator[Doc]:
    data = path.read_bytes()
    try:
        yield from DocBin().from_bytes(data).get_docs(Vocab())
    except Exception as error:  # whatever else the bytes may be, each reader of them says it in its own way
        raise GoldError(
            f"{path}: not a DocBin ({type(error).__name__}: {error}); write it with DocBin.to_disk()"
        ) from error
