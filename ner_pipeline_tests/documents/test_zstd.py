import struct

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

LINES = [b'{"text":"Bob %d met %d"}\n' % (n, n * n * 7919) for n in range(20_000)]
SKIPPABLE = b"\x53\x2a\x4d\x18" + struct.pack("<L", 5) + b"hello"


def packed(raw, *, checksum=True, **options):
    return zstandard.ZstdCompressor(write_checksum=checksum, **options).compress(raw)


def streamed(raw):
    """Pack without a content size, as a pipe does."""
    frame = zstandard.ZstdCompressor().compressobj()
    return frame.compress(raw) + frame.flush()


@pytest.mark.parametrize("key", ["a.txt.zst", "a.TXT.ZST", "a.txt", "a.txt.gz"])
@pytest.mark.parametrize("pack", [packed, streamed])
def test_zstd_is_told_by_its_bytes_also_without_its_name(read, key, pack):
    (document,) = read(key, pack(b"Barack Obama"))
    assert (document.outcome, document.text) == ("ok", "Barack Obama")


@pytest.mark.parametrize("raw", [b"", packed(b""), SKIPPABLE, packed(b"") + SKIPPABLE])
def test_nothing_packed_is_empty(read, raw):
    assert [d.reason for d in read("a.txt.zst", raw)] == ["blank"]
    assert [d.reason for d in read("a.csv.zst", raw)] == ["no_records"]


def test_all_frames_are_read_and_those_to_be_skipped_are_skipped(read):
    raw = SKIPPABLE + packed(LINES[0]) + SKIPPABLE + b"\0" * 3 + streamed(LINES[1]) + b"\0" * 512
    texts = ["Bob 0 met 0", "Bob 1 met 7919"]
    assert [d.text for d in read("a.jsonl.zst", raw, block_sizes=[3])] == texts


@pytest.mark.parametrize("content", [b"", b"\0" * 300_000, b"Bob" * 100_000, b"".join(LINES[:5000])])
@pytest.mark.parametrize("level", [1, 19])
def test_every_kind_of_block_gives_its_bytes(read, content, level):
    (document,) = read("a.txt.zst", packed(content.replace(b"\0", b" "), level=level))
    assert document.text == content.replace(b"\0", b" ").decode()


def test_records_before_a_cut_are_kept_and_one_rejection_tells_of_the_rest(read):
    raw = packed(b"".join(LINES))
    *good, rest = read("a.jsonl.zst", raw[: len(raw) // 2])
    assert 5_000 < len(good) < 20_000
    assert [d.text for d in good] == [f"Bob {n} met {n * n * 7919}" for n in range(len(good))]
    assert (rest.outcome, rest.record) == ("rejected", None)
    assert rest.reason in ("invalid_zstd", "invalid_json")
    assert f"after record {len(good):,}" in rest.detail


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:-1],
        lambda raw: raw[:5],
        lambda raw: raw[:4],
        lambda raw: raw[:-4] + b"abcd",
        lambda raw: raw + b"trailing",
        lambda raw: raw + SKIPPABLE[:-1],
        lambda raw: raw + raw[:9],
        lambda raw: raw[:4] + b"\xff" + raw[5:],
    ],
)
def test_a_damaged_text_is_rejected_as_a_whole(read, damage):
    (document,) = read("a.txt.zst", damage(packed(b"Barack Obama visited Paris")))
    assert (document.outcome, document.reason) == ("rejected", "invalid_zstd")


def test_a_file_that_is_only_named_zst_is_rejected(read):
    (document,) = read("a.txt.zst", b"Barack Obama")
    assert (document.reason, document.outcome) == ("invalid_zstd", "rejected")
    assert "rename it" in document.detail


@given(st.integers(0, 4000), st.integers(0, 255), st.lists(st.integers(1, 4000), min_size=1, max_size=3))
def test_what_is_read_of_damaged_zstd_does_not_depend_on_the_block_size(read, at, byte, sizes):
    raw = bytearray(packed(b"".join(LINES[:300]), level=1))
    raw[at % len(raw)] = byte
    assert read("a.jsonl", bytes(raw), block_sizes=sizes) == read("a.jsonl", bytes(raw))


@pytest.mark.parametrize("window_log", [28, 31])
def test_a_frame_that_wants_more_memory_than_is_given_is_rejected(read, window_log):
    header = b"\x28\xb5\x2f\xfd\x00" + bytes([(window_log - 10) << 3])
    (document,) = read("a.txt.zst", header + b"\x01\x00\x00")
    assert document.reason == "too_large"
    assert "window" in document.detail


def test_what_declares_that_it_expands_too_much_is_one_rejection_before_any_record(read):
    raw = packed(b'{"text":"Bob"}\n' * 2_000_000)
    (document,) = read("a.jsonl.zst", raw, size=len(raw))
    assert (document.outcome, document.reason) == ("rejected", "expands_too_much")


def test_what_does_not_declare_it_is_stopped_on_the_way(read):
    raw = streamed((b'{"text":"' + b"Bob " * 25_000 + b'"}\n') * 300)
    *good, rest = read("a.jsonl.zst", raw)
    assert len(good) == 16 * 1024**2 // 100_012
    assert (rest.reason, rest.record) == ("expands_too_much", None)
