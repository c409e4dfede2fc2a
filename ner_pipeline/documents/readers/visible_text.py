"""The text that a reader of a page sees, out of its markup.

Lexbor parses as browsers do, entities and broken markup included. Its own `text()` runs table cells together
and keeps scripts and the white space of the source, so the tree is walked here, as `innerText` is specified:
white space collapses, each block, cell and list item begins a line, and what is hidden is left out, with
the head and its title. Drop-down lists are left out too: a list of all countries is no text.

    python -m ner_pipeline.documents.readers.visible_text SECONDS BYTES

does the same from stdin to stdout, with bounds on time and memory that only a process of its own can have.
"""

from __future__ import annotations

import re
import resource
import sys
from typing import Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

__all__ = ["OUT_OF_MEMORY", "visible_text"]

OUT_OF_MEMORY: Final = 3
"""The exit code that says so."""

_BLANKS: Final = re.compile(r"[ \t\n\r\f]+")
_DISPLAY_NONE: Final = re.compile(r"display\s*:\s*none", re.I)


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


_HIDDEN: Final = _tags(
    "-comment -doctype area audio base canvas datalist embed frameset head iframe link math meta noembed"
    " noframes noscript object param rp script select source style template title track video"
)
_BLOCKS: Final = _tags(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption"
    " figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol p"
    " plaintext pre search section summary table tbody td textarea tfoot th thead tr ul xmp"
)
_PREFORMATTED: Final = _tags("pre textarea listing plaintext xmp")


def visible_text(html: str) -> str:
    """Give the text of a page as a browser shows it."""
    tree = LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS)
    text = _VisibleText()
    node: LexborNode | None = tree.root
    while node is not None:
        child = text.enter(node)
        node = child if child is not None else _behind(node, text)
    return text.joined()


def _behind(node: LexborNode, text: _VisibleText) -> LexborNode | None:
    """Leave `node`, and all that end with it, for what follows."""
    up: LexborNode | None = node
    while up is not None:
        text.leave(up)
        if up.next is not None:
            return up.next
        up = up.parent
    return None


class _VisibleText:
    """The text as it grows, and what is due before more of it: a blank or a line end."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._blank_due = False
        self._line_end_due = False
        self._at_line_start = True
        self._preformatted = 0

    def enter(self, node: LexborNode) -> LexborNode | None:
        """Take in `node`, and tell the first of its children that are to be seen."""
        tag = node.tag
        if tag == "-text":
            self._add(node.text_content or "")
        elif tag == "br":
            self._break()
        elif tag in _BLOCKS:
            self._line_end_due = True
        self._preformatted += tag in _PREFORMATTED
        return None if _is_hidden(node, tag) else node.first_child

    def leave(self, node: LexborNode) -> None:
        """Do what is due at the end of `node`."""
        tag = node.tag
        self._preformatted -= tag in _PREFORMATTED
        if tag in _BLOCKS:
            self._line_end_due = True

    def joined(self) -> str:
        """Give the whole."""
        return "".join(self._parts)

    def _add(self, text: str) -> None:
        if self._preformatted:
            self._put(text)
            return
        collapsed = _BLANKS.sub(" ", text)
        self._blank_due |= collapsed.startswith(" ")
        if words := collapsed.strip(" "):
            self._put(words)
            self._blank_due = collapsed.endswith(" ")

    def _put(self, text: str) -> None:
        if not text:
            return
        if self._line_end_due and not self._at_line_start:
            self._parts.append("\n")
        elif self._blank_due and not self._at_line_start:
            self._parts.append(" ")
        self._parts.append(text)
        self._blank_due = self._line_end_due = False
        self._at_line_start = text.endswith("\n")

    def _break(self) -> None:
        self._blank_due = False
        if self._parts:
            self._put("\n")


def _is_hidden(node: LexborNode, tag: str | None) -> bool:
    if tag in _HIDDEN:
        return True
    if tag is None or tag.startswith("-"):
        return False
    attributes = node.attributes
    return "hidden" in attributes or bool(_DISPLAY_NONE.search(attributes.get("style") or ""))


def main(max_cpu_s: int, max_memory_bytes: int) -> None:
    """Read a page in UTF-8, write its text; the system ends the process at its bounds."""
    html = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
    resource.setrlimit(resource.RLIMIT_CPU, (max_cpu_s, max_cpu_s))
    resource.setrlimit(resource.RLIMIT_AS, (max_memory_bytes, max_memory_bytes))
    try:
        text = visible_text(html)
    except (MemoryError, SelectolaxError):
        sys.exit(OUT_OF_MEMORY)
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
