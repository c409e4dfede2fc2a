import pytest

from ner_pipeline.documents import ReadLimits


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u3000", "\u200b\u2060", " \u00ad\n"])
def test_a15_a_blank_document_is_empty_and_keeps_its_text(read, text):
    (document,) = read("in/zero.txt", text.encode())
    assert (document.outcome, document.reason, document.text) == ("empty", "blank", text)


def test_a15_a_file_of_one_bom_is_empty(read):
    (document,) = read("a.txt", b"\xef\xbb\xbf")
    assert (document.outcome, document.text, document.had_bom) == ("empty", "", True)


def test_a15_blank_records_do_not_disturb_their_neighbours(read):
    raw = b'{"text":""}\n{"text":"Hello Bob."}\n{"text":"\\ufeff"}\n{"text":"Paris?"}\n'
    assert [d.outcome for d in read("a.jsonl", raw)] == ["empty", "ok", "empty", "ok"]


def test_the_whole_object_is_one_document_without_record_number(read):
    (document,) = read("a.txt", b"Bob\n\nAnn")
    assert (document.record, document.byte_offset, document.outcome) == (None, 0, "ok")


@pytest.mark.parametrize(("chars", "outcome"), [(10, "ok"), (11, "rejected")])
def test_the_limit_counts_characters_not_bytes(read, chars, outcome):
    (document,) = read("a.txt", ("é" * chars).encode(), limits=ReadLimits(max_document_chars=10))
    assert document.outcome == outcome
    assert document.reason == ("" if outcome == "ok" else "too_large")


def test_what_is_too_large_does_not_depend_on_the_block_size(read):
    limits = ReadLimits(max_document_chars=10)
    for size in (1, 7, 100):
        (long,) = read("a.txt", b"x" * 10 + b"\xff", limits=limits, block_sizes=[size])
        (good,) = read("a.txt", b"x" * 9 + b"\xff", limits=limits, block_sizes=[size])
        assert (long.reason, good.text) == ("too_large", "x" * 9 + "ÿ")


@pytest.mark.parametrize("size", [None, 11])
def test_an_object_over_the_limit_is_rejected(read, size):
    limits = ReadLimits(max_object_bytes=10)
    (document,) = read("a.txt", b"Barack Obam", size=size, limits=limits)
    assert (document.outcome, document.reason) == ("rejected", "too_large")
    assert read("a.txt", b"Barack Oba", size=10, limits=limits)[0].outcome == "ok"
