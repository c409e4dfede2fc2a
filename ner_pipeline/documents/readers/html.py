""".html: the text that a reader of the page sees is one document; its offsets count that text.

Lexbor parses as browsers do, entities and broken markup included. Its own `text()` runs table cells together
and keeps scripts and the white space of the source, so the tree is walked here, as `innerText` is specified:
white space collapses, each block, cell and list item begins a line, and what is hidden is left out, with
the head and its title. Drop-down lists are left out too: a list of all countries is no text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from ner_pipeline.documents.bad_input import BadInputError
from ner_pipeline.documents.decoding import open_text
from ner_pipeline.documents.document import Document
from ner_pipeline.documents.limits import ReadOptions
from ner_pipeline.documents.sources import ByteSource
from ner_pipeline.documents.verdicts import judge

__all__ = ["read_html", "visible_text"]

_MAX_PAGE_CHARS: Final = 16 * 1024**2
"""Of the source: its tree takes some thirty times as much memory."""
_HEAD_BYTES: Final = 4096
_BYTE_ORDER_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_META_CHARSET: Final = re.compile(
    rb"""<(?:meta|\?xml)\b[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I
)
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

# What is no markup, though it may hold what looks like it, and the tags.
_TAG: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|textarea|title|xmp)\b.*?(?:</\1\b|\Z)|<(/?)([a-z][^\s/>]*)([^>]*)",
    re.I | re.S,
)
_CLOSED_BY_THE_NEXT: Final = _tags(
    "area base body br col colgroup dd dt embed head hr html img input li link meta optgroup option p param"
    " rp rt source tbody td tfoot th thead tr track wbr"
)
_TABLE_PARTS: Final = _tags("caption td th tr tbody thead tfoot")
_SCOPES: Final = _tags(
    "annotation-xml applet caption desc foreignobject marquee mi mn mo ms mtext object table td template th"
)
_FORMATTING: Final = _tags("a b big code em font i nobr s small strike strong tt u")
_FORMATTING_LOAD: Final = 20
"""An element takes so much longer to make than to look at."""
_FREE_STEPS: Final = 20_000_000
_FREE_STEPS_PER_TAG: Final = 100


def read_html(source: ByteSource, options: ReadOptions) -> Iterator[Document]:
    """Yield the one document of a page."""
    text = open_text(source, *options.charsets, _declared_in(source.peek(_HEAD_BYTES)))
    decoded = text.read_text(_MAX_PAGE_CHARS)
    _check_depth(decoded.text)
    place = Document(had_bom=text.had_bom)
    yield judge(place, decoded.with_text(visible_text(decoded.text)), options.limits)


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


def _declared_in(head: bytes) -> str | None:
    """Find what the page says of its own charset; a byte order mark knows better."""
    found = None if head.startswith(_BYTE_ORDER_MARKS) else _META_CHARSET.search(head)
    name = found[1].decode("ascii", "replace") if found else None
    # That an ASCII `<meta` could be read shows that UTF-16 is not meant.
    return "utf-8" if name and name.lower().startswith("utf-16") else name


def _check_depth(html: str) -> None:
    """Refuse what a parser of the standard takes quadratic time or memory for.

    A start tag looks at all elements that are open, and opens again the formatting elements that a block
    closed but no tag of their own; an attribute looks at all before it. Browsers cut the tree at 512 levels.
    """
    opened = _OpenElements()
    tags = steps = 0
    for found in _TAG.finditer(html):
        closes, name, attributes = found[2], (found[3] or "").lower(), (found[4] or "").split()
        tags += 1
        steps += opened.load + len(attributes) ** 2
        if name:
            (opened.end if closes else opened.start)(name)
    if steps > _FREE_STEPS + _FREE_STEPS_PER_TAG * tags:
        raise BadInputError(
            "nested_too_deep",
            f"its {tags:,} tags lie too deep in each other, are not closed, or have thousands of attributes",
        )


class _OpenElements:
    """The elements that are open after some tags, as far as it matters how many there are.

    An end tag does not reach out of a table, a cell or an object, so the elements are kept by such scopes.
    """

    def __init__(self) -> None:
        self.load = 0
        """How many they are; a formatting element weighs more."""
        self._scopes: list[tuple[str, Counter[str]]] = [("", Counter())]
        self._tables = 0

    def start(self, name: str) -> None:
        """Open an element."""
        if name in _TABLE_PARTS:
            self._leave_cell()
        if name in _SCOPES:
            self._scopes.append((name, Counter()))
            self._tables += name == "table"
        if name not in _CLOSED_BY_THE_NEXT:
            self._scopes[-1][1][name] += 1
            self.load += _load(name)

    def end(self, name: str) -> None:
        """Close the element that an end tag reaches, if there is one."""
        if name in _TABLE_PARTS or (name == "table" and self._tables):
            self._leave_cell()
        scope, opened = self._scopes[-1]
        if name == scope:
            self._leave()
        elif opened[name]:
            opened[name] -= 1
            self.load -= _load(name)

    def _leave_cell(self) -> None:
        while self._tables and self._scopes[-1][0] != "table":
            self._leave()

    def _leave(self) -> None:
        scope, opened = self._scopes.pop()
        self._tables -= scope == "table"
        self.load -= sum(count * _load(name) for name, count in opened.items())


def _load(name: str) -> int:
    return _FORMATTING_LOAD if name in _FORMATTING else 1
