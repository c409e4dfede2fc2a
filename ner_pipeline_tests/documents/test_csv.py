import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.documents import ReadLimits

cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.lists(st.tuples(cells, cells)), st.lists(st.integers(1, 30), min_size=1, max_size=3))
def test_cells_come_out_as_they_were_written(read, rows, sizes):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows([("id", "text"), *rows])
    raw = buffer.getvalue().encode()
    documents = [d for d in read("a.csv", raw, block_sizes=sizes) if d.reason != "no_records"]
    assert len(documents) == len(rows) or documents[0].reason == "unsupported_encoding"
    for document, (record_id, text) in zip(documents, rows, strict=False):
        assert document.outcome == "rejected" or (document.text, document.record_id) == (
            text,
            record_id or None,
        )


def test_a18_every_cell_is_text_and_an_empty_one_is_empty(read):
    documents = read("a.csv", b"id,text\n1,NA\n2,null\n3,None\n4,\n007,Bob\n")
    assert [d.text for d in documents] == ["NA", "null", "None", "", "Bob"]
    assert [d.outcome for d in documents] == ["ok", "ok", "ok", "empty", "ok"]
    assert documents[4].record_id == "007"


def test_a_quoted_cell_may_hold_commas_quotes_and_lines(read):
    documents = read("a.csv", b'text,id\r\n"Bob, ""Bobby""\r\nin Paris",1\r\n\r\nAnn,2\r\n')
    assert [d.text for d in documents] == ['Bob, "Bobby"\r\nin Paris', "Ann"]
    assert [(d.record, d.byte_offset) for d in documents] == [(1, 9), (2, 41)]


def test_lone_carriage_returns_end_rows_too(read):
    assert [d.text for d in read("a.csv", b"id,text\r1,Bob\r2,Ann\r")] == ["Bob", "Ann"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"1", "wrong_cell_count"),
        (b"1,Bob,Paris", "wrong_cell_count"),
        (b"1,K\xf6ln", "undecodable"),
        (b'1,"say "hi" to Bob"', "invalid_csv"),
    ],
)
def test_a_bad_row_costs_itself_only(read, row, reason):
    before, bad, after = read("a.csv", b"id,text\n0,Bob\n" + row + b"\n2,Ann\n")
    assert (bad.outcome, bad.reason, bad.record, bad.byte_offset) == ("rejected", reason, 2, 14)
    assert bad.detail.startswith("row 2 (line 3): ")
    assert (before.text, after.text, after.record) == ("Bob", "Ann", 3)


def test_the_offset_of_a_bad_byte_counts_from_the_start_of_the_file(read):
    (bad,) = read("a.csv", b'id,text\n1,"Bob\nK\xf6ln"\n')
    assert "byte 16 (0xf6)" in bad.detail


def test_a_quote_that_is_never_closed_is_told_and_not_taken_for_a_text(read):
    good, bad = read("a.csv", b'id,text\n1,Bob\n2,"Ann\n3,Joe\n4,Eve\n')
    assert good.outcome == "ok"
    assert (bad.outcome, bad.reason) == ("rejected", "invalid_csv")
    assert "never closed" in bad.detail


@pytest.mark.parametrize("rest", [b"x" * 200 + b'"\n', b"x\n" * 200 + b'"\n'])
def test_a_row_over_the_limit_ends_the_file_and_says_so(read, rest):
    documents = read(
        "a.csv", b'id,text\n1,Bob\n2,"' + rest + b"3,Ann\n", limits=ReadLimits(max_record_bytes=64)
    )
    assert [(d.record, d.reason) for d in documents] == [(1, ""), (None, "too_large")]
    assert "after record 1" in documents[1].detail


def test_a_large_cell_passes_the_parsers_own_limit(read):
    (document,) = read("a.csv", b"text\n" + b"Bob " * 100_000 + b"\n")
    assert len(document.text) == 400_000


@pytest.mark.parametrize(
    ("header", "reason"),
    [(b"id,body", "no_text_field"), (b"text,text", "duplicate_column"), (b"\xf6,text", "undecodable")],
)
def test_a_bad_header_rejects_the_file_once(read, header, reason):
    (document,) = read("a.csv", header + b"\n1,Bob\n2,Ann\n")
    assert (document.outcome, document.reason, document.record) == ("rejected", reason, None)


def test_records_beyond_the_limit_are_one_rejection(read):
    documents = read("a.csv", b"text\n" + b"Bob\n" * 5, limits=ReadLimits(max_records=2))
    assert [(d.record, d.reason) for d in documents] == [(1, ""), (2, ""), (None, "too_many_records")]


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"id,text\n", b"id,text\n\n\n"])
def test_a_file_without_records_still_has_one_row(read, raw):
    (document,) = read("a.csv", raw)
    assert (document.outcome, document.reason) == ("empty", "no_records")
