import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.documents import ReadLimits, doc_id, read_documents
from ner_pipeline.errors import StorageUnavailable

KEYS = [
    "a.txt",
    "a.html",
    "a.jsonl",
    "a.json",
    "a.csv",
    "a.tsv",
    "a.parquet",
    "a.jsonl.gz",
    "a.csv.zst",
    "a.zip",
    "a.docx",
]
pieces = st.binary(max_size=20) | st.sampled_from(
    [
        b"id,text\n",
        b'1,"Bob\n"\n',
        b'{"text":"Bob"}\n',
        b'{"text":',
        b'"',
        b"\xef\xbb\xbf",
        b"PAR1",
        b"\0",
        b"\r",
    ]
)
objects = st.lists(pieces, max_size=12).map(b"".join)
tight = ReadLimits(max_document_chars=20, max_record_bytes=40, max_records=4, max_object_bytes=150)


@pytest.mark.parametrize("key", KEYS)
@given(raw=objects | objects.map(gzip.compress), limits=st.sampled_from([ReadLimits(), tight]))
def test_any_bytes_give_documents_and_never_an_exception(read, key, raw, limits):
    check(key, read(key, raw, limits=limits))
    assert read(key, raw, limits=limits, block_sizes=[3, 1, 8]) == read(key, raw, limits=limits)


@given(data=st.data(), compression=st.sampled_from(["snappy", "zstd", "none"]))
def test_any_damage_to_a_parquet_file_gives_documents_and_never_an_exception(
    read, parquet, data, compression
):
    texts = [f"Bob {n} went to Paris" for n in range(40)]
    raw = bytearray(parquet({"text": texts, "id": range(40)}, compression=compression))
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=4)):
        raw[at] = data.draw(st.integers(0, 255))
    check("a.parquet", read("a.parquet", bytes(raw)))


def check(key, documents):
    assert documents
    ids = [doc_id(key, document.record) for document in documents]
    assert len(set(ids)) == len(ids)
    assert all(document.record is not None for document in documents[:-1])
    for document in documents:
        assert (document.text is not None) == (document.outcome in ("ok", "empty"))
        assert bool(document.reason) == (document.outcome != "ok")
        assert document.detail or document.outcome in ("ok", "empty")
        for stored in (document.text, document.record_id, document.detail):
            (stored or "").encode()


@pytest.mark.parametrize(
    "key", ["in/report.docx", "in/txt", "in/a.txt/", "in/x.txt/b", "a.gzip", "a.tar", "gz", "zip", ""]
)
def test_an_unknown_format_is_named_with_those_known(read, key):
    (document,) = read(key, b"PK\x03\x04")
    assert (document.outcome, document.reason) == ("rejected", "unknown_format")
    assert ".csv, .tsv, .parquet, or one of them with .gz, .zst or .zip" in document.detail


@pytest.mark.parametrize("key", ["a.gz", "a.tar.gz", "in.txt/a.gz"])
def test_what_is_packed_needs_a_known_format_too(read, key):
    assert [d.reason for d in read(key, gzip.compress(b"Bob"))] == ["unknown_format"]


@pytest.mark.parametrize("extension", ["txt", "md", "markdown", "html", "htm", "TXT", "Html"])
def test_one_text_a_file_is_one_document_without_a_record_number(read, extension):
    assert [(d.text, d.record) for d in read(f"a.{extension}", b"Bob")] == [("Bob", None)]


@pytest.mark.parametrize(
    ("extensions", "raw"),
    [
        (["jsonl", "ndjson", "json", "JSONL"], b'{"text":"Bob"}\n{"text":"Ann"}\n'),
        (["csv"], b"id,text\n1,Bob\n2,Ann\n"),
        (["tsv", "tab"], b"id\ttext\n1\tBob\n2\tAnn\n"),
    ],
)
def test_each_name_of_a_format_of_records_is_known(read, extensions, raw):
    for extension in extensions:
        assert [(d.text, d.record) for d in read(f"a.{extension}", raw)] == [("Bob", 1), ("Ann", 2)]


@pytest.mark.parametrize("extension", ["txt", "html", "jsonl", "json", "csv", "tsv"])
@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"%PDF-1.7\nBob met Ann", "a PDF"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\r", "a PNG image"),
        (b"{\\rtf1 Bob met Ann}", "an RTF document"),
        (b"PAR1\x15\x04", "a Parquet file"),
        (b"a.txt".ljust(257, b"\0") + b"ustar\0", "a tar archive"),
        (b"BZh91AY&SY\x01\x02", "a bzip2 file"),
    ],
)
def test_a_file_of_another_kind_under_the_name_of_a_text_is_told_by_its_first_bytes(
    read, extension, head, kind
):
    for block in (1, 1000):
        (document,) = read(f"a.{extension}", head, block_sizes=[block])
        assert (document.outcome, document.reason) == ("rejected", "not_text")
        assert kind in document.detail


@pytest.mark.parametrize("text", ["BZh is no word", "Rar!", "GIF89", "PK", "PAR", "%PDF", "MZ Bob"])
def test_a_text_that_only_looks_like_a_signature_is_read(read, text):
    assert read("a.txt", text.encode())[0].text == text


@pytest.mark.parametrize("extension", ["txt", "html", "jsonl", "json", "csv", "parquet"])
@pytest.mark.parametrize(("packing", "reason"), [("gz", "invalid_gzip"), ("zst", "invalid_zstd")])
def test_a_packing_that_breaks_before_any_text_is_no_empty_file(read, extension, packing, reason):
    magic = {"gz": gzip.compress(b"Bob")[:4], "zst": b"\x28\xb5\x2f\xfd"}[packing]
    assert [d.reason for d in read(f"a.{extension}.{packing}", magic)] == [reason]


@pytest.mark.parametrize("key", ["in/A.TXT", "in/.txt", "a.b.Txt", "in.d/a b.txt"])
def test_the_extension_decides_in_any_case(read, key):
    assert read(key, b"Bob")[0].text == "Bob"


@pytest.mark.parametrize("key", KEYS[:-1])
@pytest.mark.parametrize("fault", [StorageUnavailable("S3 broke off"), OSError(5, "socket"), MemoryError()])
@pytest.mark.parametrize("raw", [b"", b'{"text":"Bob"}\n'])
def test_what_the_stream_raises_is_no_rejection(key, fault, raw):
    class Broken(io.RawIOBase):
        pieces = [raw] if raw else []

        def read(self, count=-1):
            if self.pieces:
                return self.pieces.pop()
            raise fault

    with pytest.raises(type(fault)) as raised:
        list(
            [read_packed(key, fault)]
            if raw and key.endswith((".gz", ".zst"))
            else read_documents(key, Broken())
        )
    assert raised.value is fault


def read_packed(key, fault):
    packed = io.BytesIO(gzip.compress(b'{"text":"Bob"}\n')[:-2])

    class Broken(io.RawIOBase):
        def read(self, count=-1):
            return packed.read(5) or self.fail()

        def fail(self):
            raise fault

    return list(read_documents(key, Broken()))


def test_documents_come_one_by_one_without_reading_ahead_of_need():
    class Endless(io.RawIOBase):
        def read(self, count=-1):
            return b'{"text":"Bob"}\n' * 10

    documents = read_documents("a.jsonl", Endless())
    assert [next(documents).record for _ in range(5000)][-1] == 5000
    documents.close()


@pytest.mark.parametrize(
    "text",
    [
        "PAR1 is a receptor studied by John Coughlin",
        "GIF89a was published by CompuServe",
        ("word " * 52)[:256] + " mustard",
    ],
)
def test_a_text_that_begins_like_a_file_of_another_kind_is_read(read, text):
    assert read("a.txt", text.encode())[0].text == text
