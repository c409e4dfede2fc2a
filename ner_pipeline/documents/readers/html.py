""".html: the text that a reader of the page sees is one document; its offsets count that text.

What is seen is told in `visible_text`. A page can be built so that any parser of the standard takes time
and memory in the square of its length: a few kilobytes of gzip for hours. So a page that is large enough for
that is read in a process of its own, which ends at its bounds.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError
from ner_pipeline.documents.decoding import open_text
from ner_pipeline.documents.document import Document
from ner_pipeline.documents.limits import ReadOptions
from ner_pipeline.documents.readers.visible_text import OUT_OF_MEMORY, visible_text
from ner_pipeline.documents.sources import ByteSource
from ner_pipeline.documents.verdicts import judge

__all__ = ["read_html"]

MAX_CPU_S = 20
"""Sixteen megabytes of an ordinary page take a few seconds."""
MAX_MEMORY_BYTES = 4 * 1024**3
_MAX_PAGE_CHARS: Final = 16 * 1024**2
"""Of the source: its tree takes some thirty times as much memory."""
_HARMLESS_CHARS: Final = 64 * 1024
"""Up to here the worst page takes half a second, about as long as a process takes to start."""
_HEAD_BYTES: Final = 4096
_BYTE_ORDER_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_NO_MARKUP: Final = re.compile(rb"<!--.*?-->|<(script|style|title)\b.*?</\1", re.I | re.S)
_META: Final = re.compile(rb"""<(?:meta|\?xml)\b(?:"[^"]*"|'[^']*'|[^>"'])*""", re.I)
_CHARSET: Final = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_CONTENT: Final = re.compile(rb"""\bcontent\s*=\s*(?:"[^"]*"|'[^']*')""", re.I)


def read_html(source: ByteSource, options: ReadOptions) -> Iterator[Document]:
    """Yield the one document of a page."""
    text = open_text(source, *options.charsets, _declared_in(source.peek(_HEAD_BYTES)))
    decoded = text.read_text(_MAX_PAGE_CHARS)
    seen = _seen_within_bounds if len(decoded.text) > _HARMLESS_CHARS else visible_text
    yield judge(Document(had_bom=text.had_bom), decoded.with_text(seen(decoded.text)), options.limits)


def _seen_within_bounds(html: str) -> str:
    """Give the visible text of a page, or refuse one that takes too long or too much memory."""
    done = subprocess.run(
        (sys.executable, "-m", visible_text.__module__, str(MAX_CPU_S), str(MAX_MEMORY_BYTES)),
        input=html.encode("utf-8", "surrogatepass"),
        capture_output=True,
        check=False,
    )
    if done.returncode < 0 or done.returncode == OUT_OF_MEMORY:
        raise BadInputError(
            "nested_too_deep",
            f"to read it takes more than {MAX_CPU_S} s of computing, or {MAX_MEMORY_BYTES:,} bytes of memory:"
            " its tags lie too deep in each other, or are never closed",
        )
    done.check_returncode()
    return done.stdout.decode("utf-8", "surrogatepass")


def _declared_in(head: bytes) -> str | None:
    """Find what the page says of its own charset; a byte order mark knows better."""
    if head.startswith(_BYTE_ORDER_MARKS):
        return None
    for tag in _META.findall(_NO_MARKUP.sub(b"", head)):
        # A description may speak of charsets, too.
        said = tag if b"http-equiv" in tag.lower() else _CONTENT.sub(b"", tag)
        if found := _CHARSET.search(said):
            name: str = found[1].decode("ascii", "replace")
            # That an ASCII `<meta` could be read shows that UTF-16 is not meant.
            return "utf-8" if name.lower().startswith("utf-16") else name
    return None
