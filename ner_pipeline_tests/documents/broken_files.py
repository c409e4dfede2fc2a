"""Small files of all formats and packings, good ones and broken ones, with what is to come out of each.

The texts are in small letters but for the names planted in them, so that whoever looks for capitals finds
those names and no others. No test is here: `mixed_set` is for tests of reading and of whole runs.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

__all__ = ["WAYS", "Expected", "MixedFile", "Planted", "Way", "good_file", "mixed_set", "pack"]

NAMES = (
    "Barack Obama",
    "Angela Merkel",
    "Zoë Kravitz",
    "Jürgen Klopp",
    "Łukasz Żal",
    "Mei 李 Chen",
    "Bob 😀 Dylan",
)
PHRASES = (
    "yesterday {} met {} by the river",
    "nobody told {} what {} had seen",
    "a letter from {} to {} was found",
)
FORMATS = ("txt", "md", "html", "jsonl", "ndjson", "json", "csv", "tsv", "parquet")
PACKINGS = ("", ".gz", ".zst", ".zip")


class Planted(NamedTuple):
    """A name in a text, in code points, end exclusive."""

    start: int
    end: int
    entity: str


class Expected(NamedTuple):
    """What is to become of one document."""

    outcome: str
    reason: str = ""
    warning: str = ""
    """One that is to be among its warnings."""
    text: str | None = None
    """Its text where that is known."""
    entities: tuple[Planted, ...] = ()


class MixedFile(NamedTuple):
    """A file, the documents that are to come out of it in their order, and in which way it is broken."""

    raw: bytes
    documents: tuple[Expected, ...]
    way: str | None = None


class Way(NamedTuple):
    """One way to be broken: a file and the documents that are to come out of it, in their order."""

    name: str
    raw: bytes
    documents: tuple[Expected, ...]


def planted_text(rng: random.Random) -> Expected:
    """Make a text of a few sentences, with the names in it."""
    text, entities = "", []
    for _ in range(rng.randint(1, 3)):
        parts = rng.choice(PHRASES).split("{}")
        for part, name in zip(parts, (*rng.sample(NAMES, 2), None), strict=True):
            text += part
            if name is not None:
                entities.append(Planted(len(text), len(text) + len(name), name))
                text += name
        text += ". "
    return Expected("ok", text=text.rstrip(), entities=tuple(entities))


def good_file(kind: str, packing: str, rng: random.Random) -> tuple[bytes, tuple[Expected, ...]]:
    """Make a file of one format and packing, with several records where the format has them."""
    if packing == ".zip":
        members = [_plain_file(kind, rng) for _ in range(2)]
        raw = zipped({f"part-{number}.{kind}": raw for number, (raw, _) in enumerate(members)})
        return raw, tuple(document for _, documents in members for document in documents)
    raw, documents = _plain_file(kind, rng)
    return pack(raw, packing), documents


def pack(raw: bytes, packing: str) -> bytes:
    """Pack bytes as the suffix says; a zip has one member, named `a.txt`."""
    match packing:
        case ".gz":
            return gzip.compress(raw, mtime=0)
        case ".zst":
            return zstandard.ZstdCompressor(write_checksum=True).compress(raw)
        case ".zip":
            return zipped({"a.txt": raw})
    return raw


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Pack members into an archive that is the same at any time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, raw in members.items():
            archive.writestr(zipfile.ZipInfo(name), raw, compress_type=method)
    return buffer.getvalue()


def _plain_file(kind: str, rng: random.Random) -> tuple[bytes, tuple[Expected, ...]]:
    count = 1 if kind in ("txt", "md", "html") else rng.randint(2, 5)
    documents = tuple(planted_text(rng) for _ in range(count))
    return _WRITERS[kind](documents, rng), documents


def _txt(documents: tuple[Expected, ...], rng: random.Random) -> bytes:
    return documents[0].text.encode(rng.choice(["utf-8", "utf-8-sig", "utf-16"]))


def _html(documents: tuple[Expected, ...], rng: random.Random) -> bytes:
    body = documents[0].text.replace(" ", rng.choice([" ", "\n ", "  "]))
    return f"<!doctype html><title>a Page</title><p>{body}</p><script>Not Text</script>".encode()


def _jsonl(documents: tuple[Expected, ...], rng: random.Random) -> bytes:
    return b"".join(_record(document, rng) + b"\n" for document in documents)


def _json(documents: tuple[Expected, ...], rng: random.Random) -> bytes:
    records = [{"id": rng.randint(1, 99), "text": document.text} for document in documents]
    return json.dumps(records, indent=rng.choice([None, 2])).encode()


def _record(document: Expected, rng: random.Random) -> bytes:
    return json.dumps(
        {"id": rng.randint(1, 99), "text": document.text}, ensure_ascii=rng.random() < 0.5
    ).encode()


def _table(separator: str) -> Callable[[tuple[Expected, ...], random.Random], bytes]:
    def write(documents: tuple[Expected, ...], rng: random.Random) -> bytes:
        rows = [f"{number}{separator}{document.text}" for number, document in enumerate(documents)]
        return rng.choice(["\n", "\r\n"]).join([f"id{separator}text", *rows, ""]).encode()

    return write


def _parquet(documents: tuple[Expected, ...], rng: random.Random) -> bytes:
    return parquet(
        {"text": [document.text for document in documents]}, compression=rng.choice(["snappy", "zstd"])
    )


def parquet(columns: dict, **options) -> bytes:
    """Write columns as a Parquet file."""
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, **options)
    return buffer.getvalue()


_WRITERS = {
    "txt": _txt,
    "md": _txt,
    "html": _html,
    "jsonl": _jsonl,
    "ndjson": _jsonl,
    "json": _json,
    "csv": _table(","),
    "tsv": _table("\t"),
    "parquet": _parquet,
}


def rejected(reason: str) -> Expected:
    """Expect one rejection."""
    return Expected("rejected", reason)


def read_as(text: str, warning: str = "") -> Expected:
    """Expect a text of which nothing is planted, or which is not as it was."""
    return Expected("ok", warning=warning, text=text)


GOOD = read_as("nothing")
LINE = b'{"text":"nothing"}\n'
TEXT = b"nothing happened, as it so often does. " * 20
GZIP, ZSTD = pack(TEXT, ".gz"), pack(TEXT, ".zst")
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0"
PDF = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n" + bytes(range(128, 256))
DOCX = zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": b"<w:document/>"})
ARCHIVE = zipped({"a.txt": TEXT, "b.txt": b"nothing"})
WINDOW_OF_2_GIB = b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"


def encrypted() -> bytes:
    """Say of the first of two members that it is encrypted."""
    raw = bytearray(ARCHIVE)
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    return bytes(raw)


def with_wrong_sum() -> bytes:
    """Change the checksum of the first of two members where the directory has it."""
    raw = bytearray(ARCHIVE)
    raw[raw.index(b"PK\x01\x02") + 16] ^= 0xFF
    return bytes(raw)


def overlapping() -> bytes:
    """Let the second of two members begin where the first does."""
    raw = bytearray(zipped({"a.txt": TEXT, "b.txt": TEXT}))
    second = raw.index(b"PK\x01\x02", raw.index(b"PK\x01\x02") + 1)
    raw[second + 42 : second + 46] = struct.pack("<L", 0)
    return bytes(raw)


def by_another_method() -> bytes:
    """Pack with bzip2, which no zip program does unasked."""
    return zipped({"a.txt": TEXT}, zipfile.ZIP_BZIP2)


def nested(packing: str, levels: int) -> bytes:
    """Pack bytes into one another."""
    raw = b"nothing"
    for _ in range(levels):
        raw = gzip.compress(raw, mtime=0) if packing == ".gz" else zipped({"a.zip": raw})
    return raw


BLANKS = b" " * 24 * 1024**2

WAYS: dict[str, Way] = {
    way: Way(name, raw, documents)
    for way, name, raw, *documents in (
        ("no extension", "report", TEXT, rejected("unknown_format")),
        ("unknown extension", "report.docx", DOCX, rejected("unknown_format")),
        ("pdf named txt", "report.txt", PDF, rejected("not_text")),
        ("png named csv", "table.csv", PNG, rejected("not_text")),
        ("docx named txt", "report.txt", DOCX, rejected("unknown_format")),
        ("noise named txt", "noise.txt", bytes(range(256)) * 16, rejected("not_text")),
        ("empty text", "a.txt", b"", Expected("empty", "blank")),
        ("blank text", "a.md", b" \n\t\n", Expected("empty", "blank")),
        ("no records", "a.jsonl", b"\n\n", Expected("empty", "no_records")),
        ("header only", "a.csv", b"id,text\n", Expected("empty", "no_records")),
        ("page without text", "a.html", b"<p></p><script>x</script>", Expected("empty", "blank")),
        ("cut gzip", "a.txt.gz", GZIP[:-9], rejected("invalid_gzip")),
        ("wrong sum in gzip", "a.txt.gz", GZIP[:-8] + b"abcd" + GZIP[-4:], rejected("invalid_gzip")),
        ("gzip by name only", "a.jsonl.gz", LINE, rejected("invalid_gzip")),
        ("cut zstd", "a.txt.zst", ZSTD[:-9], rejected("invalid_zstd")),
        ("wrong sum in zstd", "a.txt.zst", ZSTD[:-4] + b"abcd", rejected("invalid_zstd")),
        ("zstd by name only", "a.csv.zst", b"text\nnothing\n", rejected("invalid_zstd")),
        ("zstd and more", "a.txt.zst", ZSTD + b"more", rejected("invalid_zstd")),
        ("zstd window of 2 GiB", "a.txt.zst", WINDOW_OF_2_GIB, rejected("too_large")),
        ("zip by name only", "a.zip", TEXT, rejected("invalid_zip")),
        ("cut zip", "a.zip", ARCHIVE[:-30], rejected("invalid_zip")),
        ("encrypted member", "a.zip", encrypted(), rejected("encrypted"), GOOD),
        ("wrong sum in zip", "a.zip", with_wrong_sum(), rejected("invalid_zip"), GOOD),
        ("overlapping members", "a.zip", overlapping(), rejected("invalid_zip")),
        ("zip by bzip2", "a.zip", by_another_method(), rejected("invalid_zip")),
        (
            "unknown member",
            "a.zip",
            zipped({"a.xls": b"", "b.txt": b"nothing"}),
            rejected("unknown_format"),
            GOOD,
        ),
        ("zip of nothing", "a.zip", zipped({}), Expected("empty", "no_records")),
        ("zip bomb", "a.zip", zipped({"a.txt": BLANKS}), rejected("expands_too_much")),
        ("gzip bomb", "a.txt.gz", pack(BLANKS, ".gz"), rejected("expands_too_much")),
        ("zstd bomb", "a.txt.zst", pack(BLANKS, ".zst"), rejected("expands_too_much")),
        ("gzip of gzip of gzip of gzip", "a.txt.gz", nested(".gz", 4), rejected("nested_too_deep")),
        ("zip of zip of zip of zip", "a.zip", nested(".zip", 4), rejected("nested_too_deep")),
        ("broken line", "a.jsonl", LINE + b'{"text":"no\n' + LINE, GOOD, rejected("invalid_json"), GOOD),
        ("line without text", "a.jsonl", LINE + b'{"body":"no"}\n', GOOD, rejected("no_text_field")),
        ("line with a number for a text", "a.jsonl", LINE + b'{"text":7}', GOOD, rejected("text_not_string")),
        ("line with a list", "a.ndjson", LINE + b'["no"]\n' + LINE, GOOD, rejected("not_an_object"), GOOD),
        ("half an emoji", "a.jsonl", rb'{"text":"\ud83d"}', read_as("\ufffd", "surrogates_replaced")),
        ("cut array", "a.json", b"[" + LINE + b',{"text":"no', GOOD, rejected("invalid_json")),
        ("array without end", "a.json", b"[" + LINE, GOOD, rejected("invalid_json")),
        ("wrapped array", "a.json", b'{"data":[' + LINE + b"]}", rejected("no_text_field")),
        (
            "array with a bad element",
            "a.json",
            b"[" + LINE + b",{,}," + LINE + b"]",
            GOOD,
            rejected("invalid_json"),
            GOOD,
        ),
        ("no column of texts", "a.csv", b"id,body\n1,no\n", rejected("no_text_field")),
        ("two columns of texts", "a.csv", b"text,text\nno,no\n", rejected("duplicate_column")),
        ("row with too few cells", "a.csv", b"id,text\n1\n2,nothing\n", rejected("wrong_cell_count"), GOOD),
        ("open quote", "a.csv", b'id,text\n1,nothing\n2,"no\n', GOOD, rejected("invalid_csv")),
        ("cut parquet", "a.parquet", parquet({"text": ["no"]})[:-9], rejected("invalid_parquet")),
        ("parquet by name only", "a.parquet", TEXT, rejected("invalid_parquet")),
        ("parquet of numbers", "a.parquet", parquet({"text": [7]}), rejected("text_not_string")),
        ("parquet without texts", "a.parquet", parquet({"body": ["no"]}), rejected("no_text_field")),
        (
            "parquet with a null",
            "a.parquet",
            parquet({"text": ["nothing", None]}),
            GOOD,
            rejected("text_not_string"),
        ),
        (
            "damaged utf-8",
            "a.txt",
            "grün ".encode() * 40 + b"\xff",
            read_as("grün " * 40 + "\ufffd", "bytes_replaced"),
        ),
    )
}


@dataclass
class _Names:
    number: int = 0

    def __call__(self, name: str) -> str:
        self.number += 1
        return f"{self.number:04}-{name}"


def mixed_set(count: int, seed: int) -> dict[str, MixedFile]:
    """Make `count` small files: nine tenths good, of all formats and packings, the others broken in turn."""
    rng, named = random.Random(seed), _Names()
    kinds = cycle([(kind, packing) for packing in PACKINGS for kind in FORMATS])
    ways = cycle(WAYS.items())
    return dict(_files(count, rng, named, kinds, ways))


def _files(
    count: int,
    rng: random.Random,
    named: _Names,
    kinds: Iterator[tuple[str, str]],
    ways: Iterator[tuple[str, Way]],
) -> Iterator[tuple[str, MixedFile]]:
    for number in range(count):
        if number % 10 == 9:
            title, way = next(ways)
            yield named(way.name), MixedFile(way.raw, way.documents, title)
        else:
            kind, packing = next(kinds)
            yield named(f"good.{kind}{packing}"), MixedFile(*good_file(kind, packing, rng))
