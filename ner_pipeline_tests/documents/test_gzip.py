import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.documents import ReadLimits

LINES = [b'{"text":"Bob %d"}\n' % n for n in range(2000)]


@pytest.mark.parametrize("key", ["a.txt.gz", "a.TXT.GZ", "a.txt"])
def test_gzip_is_told_by_its_bytes_also_without_its_name(read, key):
    (document,) = read(key, gzip.compress(b"Barack Obama"))
    assert (document.outcome, document.text) == ("ok", "Barack Obama")


@pytest.mark.parametrize("packed", [b"", gzip.compress(b"", mtime=0)])
def test_nothing_packed_is_empty(read, packed):
    assert [d.reason for d in read("a.txt.gz", packed)] == ["blank"]
    assert [d.reason for d in read("a.csv.gz", packed)] == ["no_records"]


def test_all_members_are_read_and_padding_is_none(read):
    packed = gzip.compress(LINES[0]) + b"\0" * 5 + gzip.compress(LINES[1]) + b"\0" * 512
    assert [d.text for d in read("a.jsonl.gz", packed, block_sizes=[3])] == ["Bob 0", "Bob 1"]


def test_parquet_may_be_packed(read, parquet):
    assert read("a.parquet.gz", gzip.compress(parquet({"text": ["Bob"]})))[0].text == "Bob"


def test_records_before_a_cut_are_kept_and_one_rejection_tells_of_the_rest(read):
    packed = gzip.compress(b"".join(LINES))
    *good, rest = read("a.jsonl.gz", packed[: len(packed) // 2])
    assert 500 < len(good) < 2000
    assert [d.text for d in good] == [f"Bob {n}" for n in range(len(good))]
    assert (rest.outcome, rest.reason, rest.record) == ("rejected", "invalid_gzip", None)
    assert f"after record {len(good):,}" in rest.detail


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: packed[:-1],
        lambda packed: packed[:5],
        lambda packed: packed[:-8] + b"abcd" + packed[-4:],
        lambda packed: packed + b"trailing",
    ],
)
def test_a_damaged_text_is_rejected_as_a_whole(read, damage):
    (document,) = read("a.txt.gz", damage(gzip.compress(b"Barack Obama visited Paris")))
    assert (document.outcome, document.reason) == ("rejected", "invalid_gzip")


def test_a_file_that_is_only_named_gz_is_rejected(read):
    (document,) = read("a.txt.gz", b"Barack Obama")
    assert (document.reason, document.outcome) == ("invalid_gzip", "rejected")
    assert "rename it" in document.detail


@given(st.integers(0, 3000), st.integers(0, 255), st.lists(st.integers(1, 4000), min_size=1, max_size=3))
def test_what_is_read_of_damaged_gzip_does_not_depend_on_the_block_size(read, at, byte, sizes):
    packed = bytearray(gzip.compress(b"".join(LINES[:500])))
    packed[at % len(packed)] = byte
    assert read("a.jsonl", bytes(packed), block_sizes=sizes) == read("a.jsonl", bytes(packed))


def test_a_small_file_that_unpacks_without_end_is_stopped(read):
    bomb = gzip.compress(b'{"text":"Bob"}\n' * 1000)
    *good, rest = read("a.jsonl.gz", bomb, limits=ReadLimits(max_unpacked_bytes=150))
    assert len(good) == 10
    assert rest.reason == "too_large"


@pytest.mark.parametrize("limit", range(14, 62, 3))
def test_the_limit_of_unpacked_bytes_is_kept_wherever_it_falls(read, limit):
    packed = gzip.compress(b'{"text":"Bob"}\n') * 4
    documents = read("a.jsonl.gz", packed, limits=ReadLimits(max_unpacked_bytes=limit))
    assert sum(d.outcome == "ok" for d in documents) == min(limit // 15, 4)
    assert (documents[-1].reason == "too_large") == (limit < 60)


def test_blanks_that_pack_a_thousand_to_one_are_no_bomb_while_they_are_few(read):
    raw = gzip.compress(b" " * 16 * 1024**2)
    assert [d.reason for d in read("a.txt.gz", raw, size=len(raw))] == ["blank"]
    raw = gzip.compress(b" " * 17 * 1024**2)
    assert [d.reason for d in read("a.txt.gz", raw, size=len(raw))] == ["expands_too_much"]


def test_what_expands_more_than_allowed_is_one_rejection_whatever_the_blocks(read):
    raw = gzip.compress(b" " * 20 * 1024**2)
    for block in (100, 5000, 1 << 30):
        for limit, reason in ((100, "expands_too_much"), (2000, "blank")):
            limits = ReadLimits(max_expansion=limit)
            assert [d.reason for d in read("a.txt", raw, limits=limits, block_sizes=[block])] == [reason]
