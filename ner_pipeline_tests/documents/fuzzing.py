"""One input for all readers, what must hold for it, and how to make another input of it.

No test is here: `test_fuzzing` runs a few thousand inputs, `fuzz` as many as there is time for.
"""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import zstandard

from ner_pipeline.documents import ReadLimits, ReadOptions, doc_id, read_documents
from ner_pipeline_tests.documents.broken_files import FORMATS, PACKINGS, WAYS, good_file, pack, zipped
from ner_pipeline_tests.documents.conftest import ShortReads

__all__ = ["Case", "cases", "check", "corpus", "mutate"]

NAMES = (
    *(f"a.{kind}{packing}" for kind in FORMATS for packing in PACKINGS),
    *("a.zip", "a.gz", "a.docx", "a"),
)
MIB = 1024**2
LIMITS = (
    ReadLimits(max_object_bytes=8 * MIB, max_unpacked_bytes=64 * MIB),
    ReadLimits(
        max_document_chars=200,
        max_record_bytes=150,
        max_records=4,
        max_object_bytes=20_000,
        max_unpacked_bytes=30_000,
        max_nesting=2,
    ),
)
CHARSETS = (None, "utf-8", "utf-16", "latin-1", "shift_jis", "no such")
TOKENS = (
    *(
        b'{"text":"Bob"}',
        b'"',
        b"'",
        b"\\",
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b":",
        b"\n",
        b"\r\n",
        b"\r",
        b"\t",
        b"\0",
    ),
    *(
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xfe\xff",
        b"\xff",
        b"\x81",
        b"\xe2\x80\xa8",
        b"\\ud83d",
        b"\xf0\x9f\x98\x80",
    ),
    *(
        b"id,text\n",
        b"text",
        b"null",
        b"1e999",
        b"<p>",
        b"</p>",
        b"<pre>",
        b"<table>",
        b"<!--",
        b"<b>",
        b"&#0;",
    ),
    *(
        b"<script>",
        b"&amp;",
        b"<meta charset=utf-16>",
        b"\x1f\x8b\x08",
        b"\x28\xb5\x2f\xfd",
        b"\x50\x2a\x4d\x18",
    ),
    *(b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PAR1", b"\xff\xff\xff\xff", b"\0" * 8),
)
OUTCOMES_WITH_TEXT = ("ok", "empty")


@dataclass(frozen=True)
class Case:
    """A file, and how it is read."""

    name: str
    raw: bytes
    tight: bool = False
    charset: str | None = None

    def to_bytes(self) -> bytes:
        """Put all in one string, as fuzzers want it."""
        first = [NAMES.index(self.name), int(self.tight), CHARSETS.index(self.charset)]
        return bytes(first) + self.raw

    @classmethod
    def of_bytes(cls, data: bytes) -> Case:
        """Read `to_bytes`, and any other bytes too."""
        name, tight, charset = (data[:3] + b"\0\0\0")[:3]
        return cls(NAMES[name % len(NAMES)], data[3:], bool(tight % 2), CHARSETS[charset % len(CHARSETS)])


def check(case: Case) -> None:
    """Assert what holds for every file, whatever is in it."""
    documents = _read(case, block_sizes=[1 << 30])
    assert documents, "nothing tells what became of the file"
    ids = [doc_id(case.name, document.record) for document in documents]
    assert len(set(ids)) == len(ids), "two documents share an id"
    assert all(document.record is not None for document in documents[:-1])
    for document in documents:
        _check_document(document, len(case.raw))
    sizes = [1, 7, 64] if len(case.raw) < 2_000 else [1_000, 4_093]
    assert _read(case, block_sizes=sizes) == documents, "the block size matters"


def _read(case: Case, block_sizes: list[int]) -> list:
    options = ReadOptions(limits=LIMITS[case.tight], charsets=(case.charset,) if case.charset else ())
    return list(read_documents(case.name, ShortReads(case.raw, block_sizes), options=options))


def _check_document(document, size: int) -> None:
    assert document.outcome in (*OUTCOMES_WITH_TEXT, "rejected")
    assert (document.text is not None) == (document.outcome in OUTCOMES_WITH_TEXT)
    assert bool(document.reason) == (document.outcome != "ok")
    assert document.detail or (document.outcome in OUTCOMES_WITH_TEXT and not document.warnings)
    assert len(document.detail) < 2_000
    assert list(document.warnings) == sorted(set(document.warnings))
    assert (document.replaced_bytes > 0) == ("bytes_replaced" in document.warnings)
    assert document.record is None or document.record > 0
    assert document.byte_offset is None or document.byte_offset >= 0
    for stored in (document.text, document.record_id, document.detail, document.member):
        (stored or "").encode()


@cache
def corpus() -> tuple[Case, ...]:
    """Give good files of each format and packing, and broken ones."""
    rng = random.Random(0)
    good = [
        Case(f"a.{kind}{packing}", good_file(kind, packing, rng)[0])
        for kind in FORMATS
        for packing in PACKINGS
    ]
    return (*good, *(Case(_name(way.name), way.raw) for way in WAYS.values() if len(way.raw) < 10_000))


def cases(seed: int) -> Iterator[Case]:
    """Make files without end."""
    rng = random.Random(seed)
    while True:
        case = rng.choice(corpus())
        for _ in range(rng.randint(1, 3)):
            case = mutate(case, rng)
        yield case


def mutate(case: Case, rng: random.Random) -> Case:
    """Change a file a little: its bytes, what is packed in it, how it is packed, or how it is read."""
    kind = rng.random()
    if kind < 0.1:
        return Case(rng.choice(NAMES), case.raw, rng.random() < 0.5, rng.choice(CHARSETS))
    if kind < 0.2:
        return Case(case.name, pack(case.raw, rng.choice(PACKINGS)), case.tight, case.charset)
    if kind < 0.6:
        return Case(case.name, _changed_inside(case.raw, rng), case.tight, case.charset)
    return Case(case.name, _changed(case.raw, rng), case.tight, case.charset)


def _changed_inside(raw: bytes, rng: random.Random) -> bytes:
    """Change what is packed and pack it again: changes to packed bytes hardly get past their checksum."""
    try:
        if raw.startswith(b"\x1f\x8b"):
            return gzip.compress(_changed(gzip.decompress(raw), rng), mtime=0)
        if raw.startswith(b"\x28\xb5\x2f\xfd"):
            # As a stream: a header may declare terabytes, which a call for the whole would ask for at once.
            unpacked = zstandard.ZstdDecompressor(max_window_size=8 * MIB).stream_reader(raw).read(MIB)
            return pack(_changed(unpacked, rng), ".zst")
    except (OSError, EOFError, zlib.error, zstandard.ZstdError):
        return raw
    if raw.startswith(b"PK"):
        member = rng.choice(corpus())
        return zipped(
            {f"d/{member.name}": _changed(member.raw, rng), "b.jsonl": b'{"text":"Bob"}\n', "__MACOSX/x": b""}
        )
    return _changed(raw, rng)


def _changed(raw: bytes, rng: random.Random) -> bytes:
    start, end = sorted((rng.randint(0, len(raw)), rng.randint(0, len(raw))))
    match rng.randrange(6):
        case 0:
            return raw[:start] + rng.choice(TOKENS) * rng.choice([1, 1, 1, 2, 50]) + raw[start:]
        case 1:
            return raw[:start] + raw[end:]
        case 2:
            return raw[:end] + raw[start:]
        case 3:
            return raw[:start] + rng.randbytes(1) + raw[start + 1 :]
        case 4:
            return raw[:start] + rng.choice(corpus()).raw[: rng.randint(0, 400)] + raw[end:]
        case _:
            return raw[:start] + rng.choice(TOKENS) + raw[start + 1 :]


def _name(name: str) -> str:
    return name if name in NAMES else "a.txt"
