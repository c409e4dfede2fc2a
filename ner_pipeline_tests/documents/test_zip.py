import gzip
import io
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.documents import ReadLimits, doc_id
from ner_pipeline_tests.documents.broken_files import encrypted, overlapping, parquet, with_wrong_sum, zipped

TEXT = b"Barack Obama visited Paris. " * 50
DIRECTORY = b"PK\x01\x02"


def told(documents):
    return [(d.member, d.record, d.text, d.reason) for d in documents]


def test_each_member_is_read_by_its_own_name_and_records_count_through_all(read):
    raw = zipped(
        {
            "in/a.txt": b"Bob",
            "b.jsonl": b'\n{"id":7,"text":"Ann"}\n{"text":"Joe"}\n',
            "c.csv": b"text\nMax\n",
            "d.parquet": parquet({"text": ["Eve"]}),
            "e.html": b"<p>Tom",
        }
    )
    documents = read("a.zip", raw)
    assert told(documents) == [
        ("in/a.txt", 1, "Bob", ""),
        ("b.jsonl", 2, "Ann", ""),
        ("b.jsonl", 3, "Joe", ""),
        ("c.csv", 4, "Max", ""),
        ("d.parquet", 5, "Eve", ""),
        ("e.html", 6, "Tom", ""),
    ]
    assert (documents[1].record_id, documents[1].byte_offset) == ("7", 1)


@pytest.mark.parametrize("key", ["a.zip", "a.ZIP", "a.txt.zip", "a.jsonl", "a.txt", "a.txt.gz"])
def test_an_archive_is_told_by_its_bytes_also_without_its_name(read, key):
    assert told(read(key, zipped({"x.txt": b"Bob"}))) == [("x.txt", 1, "Bob", "")]


@pytest.mark.parametrize("key", ["a.zip", "a.jsonl.zip"])
@pytest.mark.parametrize(
    "raw", [b"", zipped({}), zipped({"d/": b"", "__MACOSX/._a.txt": b"x", "d/.DS_Store": b"x"})]
)
def test_an_archive_of_no_documents_is_empty(read, key, raw):
    assert [(d.outcome, d.reason, d.record) for d in read(key, raw)] == [("empty", "no_records", None)]


def test_what_systems_leave_in_archives_is_no_document(read):
    left = [
        "d/",
        "__MACOSX/d/._a.txt",
        "d/.DS_Store",
        "d/_SUCCESS",
        "d/Thumbs.db",
        "d/desktop.ini",
        "d/._b.txt",
    ]
    assert told(read("a.zip", zipped({**dict.fromkeys(left, b"x"), "d/a.txt": b"Bob"}))) == [
        ("d/a.txt", 1, "Bob", "")
    ]


def test_archives_in_archives_join_their_paths(read):
    inner = zipped({"x.txt": b"Bob", "y.jsonl.gz": gzip.compress(b'{"text":"Ann"}\n{"te')})
    documents = read("a.zip", zipped({"in/b.zip": inner, "c.txt": b"Joe"}))
    assert told(documents) == [
        ("in/b.zip!/x.txt", 1, "Bob", ""),
        ("in/b.zip!/y.jsonl.gz", 2, "Ann", ""),
        ("in/b.zip!/y.jsonl.gz", 3, None, "invalid_json"),
        ("c.txt", 4, "Joe", ""),
    ]
    assert documents[2].detail.startswith("member 'in/b.zip!/y.jsonl.gz': line 2: ")


def test_a_bad_member_takes_a_number_and_costs_itself_only(read):
    members = {
        "a.txt": b"Bob",
        "b.doc": b"x",
        "c.csv": b"no\n1\n",
        "d.jsonl.gz": b"{}",
        "e.csv": b"text\n",
        "f.txt": b"Ann",
    }
    documents = read("a.zip", zipped(members))
    assert told(documents) == [
        ("a.txt", 1, "Bob", ""),
        ("b.doc", 2, None, "unknown_format"),
        ("c.csv", 3, None, "no_text_field"),
        ("d.jsonl.gz", 4, None, "invalid_gzip"),
        ("e.csv", 5, "", "no_records"),
        ("f.txt", 6, "Ann", ""),
    ]
    assert all(d.detail.startswith(f"member {d.member!r}: ") for d in documents if d.reason)
    assert len({doc_id("a.zip", d.record) for d in documents}) == 6


@pytest.mark.parametrize(("raw", "reason"), [(encrypted(), "encrypted"), (with_wrong_sum(), "invalid_zip")])
def test_an_encrypted_or_damaged_member_costs_itself_only(read, raw, reason):
    assert told(read("a.zip", raw)) == [("a.txt", 1, None, reason), ("b.txt", 2, "nothing", "")]


def test_members_that_share_bytes_reject_the_archive(read):
    (document,) = read("a.zip", overlapping())
    assert (document.reason, document.member, document.record) == ("invalid_zip", None, None)
    assert "overlap" in document.detail


def in_directory(raw, at, value):
    """Change a field of the first entry of the directory."""
    changed = bytearray(raw)
    start = raw.index(DIRECTORY) + at
    changed[start : start + len(value)] = value
    return bytes(changed)


@pytest.mark.parametrize("size", [0, 1, len(TEXT) - 1, len(TEXT) + 1, 2**30 - 1])
def test_a_member_whose_size_is_not_as_declared_is_rejected(read, size):
    limits = ReadLimits(max_expansion=10**9)
    raw = in_directory(zipped({"a.txt": TEXT}), 24, struct.pack("<L", size))
    assert [d.reason for d in read("a.zip", raw, limits=limits)] == ["invalid_zip"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods_than_deflate_are_rejected_member_by_member(read, method):
    (document,) = read("a.zip", zipped({"a.txt": TEXT}, method))
    assert (document.reason, document.member) == ("invalid_zip", "a.txt")
    assert "pack it with deflate" in document.detail


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:-1],
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:4],
        lambda raw: raw.replace(b"PK\x05\x06", b"PK\0\0"),
        lambda raw: raw.replace(DIRECTORY, b"PK\0\0"),
        lambda raw: in_directory(raw, 42, b"\xff\xff\xff\x7f"),
        lambda raw: in_directory(raw, 6, b"\xff\x00"),
        lambda raw: in_directory(raw, 20, b"\xff\xff\xff\x00"),
        lambda raw: b"Bob" * 100,
    ],
)
def test_a_damaged_archive_is_one_rejection(read, damage):
    documents = read("a.zip", damage(zipped({"a.txt": TEXT})))
    assert [(d.outcome, d.reason) for d in documents] == [("rejected", "invalid_zip")]


def test_what_stands_before_and_a_comment_behind_do_no_harm(read):
    raw = bytearray(b"#!/bin/sh\nunpack me\n" + zipped({"a.txt": b"Bob"}))
    raw[-2:] = struct.pack("<H", 7)
    assert told(read("a.zip", bytes(raw) + b"comment")) == [("a.txt", 1, "Bob", "")]


def test_large_archives_of_zip64_are_read(read):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, archive.open("a.txt", "w", force_zip64=True) as member:
        member.write(b"Bob")
    assert told(read("a.zip", buffer.getvalue())) == [("a.txt", 1, "Bob", "")]


def test_many_small_members_are_read_in_their_order(read):
    documents = read("a.zip", zipped({f"{n}.txt": b"Bob %d" % n for n in range(3000)}))
    assert [d.text for d in documents] == [f"Bob {n}" for n in range(3000)]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd.txt", "/abs/a.txt", "C:\\a.txt", "a\nb.txt", "x" * 60_000 + ".txt"]
)
def test_a_name_is_a_label_and_nothing_more(read, name):
    (document,) = read("a.zip", zipped({name: b"Bob"}))
    assert (document.text, document.member) == ("Bob", name)


def test_two_members_of_one_name_are_two_documents(read):
    raw = zipped({"a.txt": b"Bob", "b.txt": b"Ann"}).replace(b"b.txt", b"a.txt")
    assert told(read("a.zip", raw)) == [("a.txt", 1, "Bob", ""), ("a.txt", 2, "Ann", "")]


def test_a_name_in_utf8_that_is_not_declared_as_such_is_read_as_it_was_meant(read):
    raw = zipped({"cafe.txt": b"Bob"}).replace(b"cafe.txt", "caé.txt".encode())
    assert read("a.zip", raw)[0].member == "caé.txt"
    for name in ("caé.txt", "ca├⌐.txt", "李.txt"):
        assert read("a.zip", zipped({name: b"Bob"}))[0].member == name


def test_a_name_that_cannot_be_decoded_rejects_the_archive(read):
    raw = in_directory(
        zipped({"cafe.txt": b"Bob"}).replace(b"cafe.txt", b"caf\xff.txt"), 8, struct.pack("<H", 0x800)
    )
    assert [d.reason for d in read("a.zip", raw)] == ["invalid_zip"]


def test_a_member_without_a_name_is_rejected(read):
    raw = bytearray(zipped({"a": b"Bob"}))
    start = raw.index(DIRECTORY)
    raw[start + 28], raw[start + 30] = 0, 1
    assert [(d.outcome, d.member) for d in read("a.zip", bytes(raw))] == [("rejected", "")]


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        (["[Content_Types].xml", "word/document.xml", "docProps/app.xml"], "an Office file"),
        (["mimetype", "content.xml", "styles.xml"], "an OpenDocument file"),
        (["META-INF/MANIFEST.MF", "a/B.class"], "a Java archive"),
    ],
)
@pytest.mark.parametrize("key", ["report.txt", "report.zip"])
def test_a_document_of_an_office_program_is_one_rejection(read, members, kind, key):
    (document,) = read(key, zipped(dict.fromkeys(members, b"x")))
    assert (document.reason, document.member) == ("unknown_format", None)
    assert kind in document.detail


def test_the_declared_charset_is_not_that_of_members(read):
    assert read("a.txt", "é".encode("latin-1"), charset="latin-1")[0].text == "é"
    assert read("a.txt.gz", gzip.compress("é".encode("latin-1")), charset="latin-1")[0].text == "é"
    assert read("a.zip", zipped({"a.txt": "é".encode()}), charset="latin-1")[0].text == "é"


def test_the_limit_of_records_is_one_for_all_members(read):
    raw = zipped({f"{n}.jsonl": b'{"text":"Bob"}\n' * 2 for n in range(3)})
    documents = read("a.zip", raw, limits=ReadLimits(max_records=3))
    assert [(d.record, d.reason) for d in documents] == [
        (1, ""),
        (2, ""),
        (3, ""),
        (None, "too_many_records"),
    ]


def test_the_limit_of_unpacked_bytes_is_one_for_all_members_and_known_before_any_is_read(read):
    raw = zipped({f"{n}.txt": TEXT for n in range(3)})
    (document,) = read("a.zip", raw, limits=ReadLimits(max_unpacked_bytes=3 * len(TEXT) - 1))
    assert (document.reason, document.record) == ("too_large", None)
    assert len(read("a.zip", raw, limits=ReadLimits(max_unpacked_bytes=3 * len(TEXT)))) == 3


@pytest.mark.parametrize("levels", [3, 4])
def test_more_packings_in_one_another_than_allowed_are_one_rejection(read, levels):
    raw, name = zipped({f"{n}.txt": b"Bob" for n in range(4)}), "0.zip"
    for _ in range(levels - 1):
        raw = zipped({f"{n}.zip": raw for n in range(4)})
    documents = read(name, raw)
    if levels == 3:
        assert {d.text for d in documents} == {"Bob"}
        assert len(documents) == 4**3
    else:
        assert told(documents) == [(None, None, None, "nested_too_deep")]


def test_levels_of_other_packings_count_too(read):
    raw = gzip.compress(zipped({"a.txt.gz": gzip.compress(b"Bob")}))
    assert read("a.zip.gz", raw, limits=ReadLimits(max_nesting=3))[0].text == "Bob"
    assert read("a.zip.gz", raw, limits=ReadLimits(max_nesting=2))[0].reason == "nested_too_deep"


def test_a_bomb_in_many_levels_is_one_rejection(read):
    raw = zipped({"a.txt": b" " * 2**24})
    for _ in range(2):
        raw = zipped({f"{n}.zip": raw for n in range(16)})
    assert told(read("a.zip", raw)) == [(None, None, None, "expands_too_much")]


def test_a_directory_that_claims_petabytes_is_not_fetched(read):
    raw = bytearray(zipped({"a.txt": TEXT}))
    raw[-10:-6] = struct.pack("<L", 2**31)
    assert [d.reason for d in read("a.zip", bytes(raw))] == ["invalid_zip"]


archive = zipped(
    {"a.txt": TEXT, "b.jsonl": b'{"text":"Bob"}\n' * 20, "c.zip": zipped({"d.csv": b"text\nAnn\n"})}
)


@given(st.lists(st.tuples(st.integers(0, len(archive) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_any_damage_to_an_archive_gives_documents_and_never_an_exception(read, damage):
    raw = bytearray(archive)
    for at, byte in damage:
        raw[at] = byte
    documents = read("a.zip", bytes(raw), limits=ReadLimits(max_unpacked_bytes=10**7))
    assert documents
    assert documents == read(
        "a.zip", bytes(raw), limits=ReadLimits(max_unpacked_bytes=10**7), block_sizes=[13]
    )


def test_a_name_of_nothing_but_suffixes_is_read_as_any_other(read):
    assert read("a.zip", zipped({"a.txt" + ".gz" * 20_000: b""}))[0].reason == "blank"
