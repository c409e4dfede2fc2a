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
    assert len(documents) == len(rows) or documents[0].reason == "not_text"
    for document, (record_id, text) in zip(documents, rows, strict=False):
        assert document.outcome == "rejected" or (document.text, document.record_id) == (
            text,
            record_id or None,
        )


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
        (b'1,"say "hi" to Bob"', "invalid_csv"),
    ],
)
def test_a_bad_row_costs_itself_only(read, row, reason):
    before, bad, after = read("a.csv", b"id,text\n0,Bob\n" + row + b"\n2,Ann\n")
    assert (bad.outcome, bad.reason, bad.record, bad.byte_offset) == ("rejected", reason, 2, 14)
    assert bad.detail.startswith("row 2 (line 3): ")
    assert (before.text, after.text, after.record) == ("Bob", "Ann", 3)


def test_a_bad_byte_is_replaced_and_named_by_its_offset_in_the_file(read):
    good, mended = read("a.csv", 'id,text\nZoë,Žižek\n1,"Bob\nK'.encode() + b'\xf6ln"\n')
    assert (good.outcome, good.replaced_bytes) == ("ok", 0)
    assert (mended.text, mended.replaced_bytes) == ("Bob\nK\ufffdln", 1)
    assert mended.detail.startswith("byte 29 (0xf6)")


def test_what_is_told_of_the_bytes_is_told_of_the_whole_row(read):
    (document,) = read("a.csv", b'text,place\n"Bob\nAnn",K\xf6ln\n')
    assert (document.text, document.encoding) == ("Bob\nAnn", "cp1252")
    assert document.warnings == ("encoding_uncertain",)


@pytest.mark.parametrize("key", ["a.csv", "a.tsv"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_the_one_under_which_the_header_names_the_text(read, key, encoding, separator):
    rows = [["id", "text"], ["1", '"Bob, in Paris;\tyes"'], ["2", "Ann"]]
    raw = "\r\n".join(separator.join(row) for row in rows).encode(encoding)
    for sizes in ([1 << 30], [3, 1]):
        documents = read(key, raw, block_sizes=sizes)
        assert [d.text for d in documents] == ["Bob, in Paris;\tyes", "Ann"]
        assert [d.record_id for d in documents] == ["1", "2"]


def test_under_several_separators_the_first_decides_and_for_tsv_that_is_the_tab(read):
    raw = b"text\tid,text,note\nBob\t1,Ann,x\n"
    assert [d.text for d in read("a.csv", raw)] == ["Ann"]
    assert [d.text for d in read("a.tsv", b"text\tx,text\nBob\tAnn,Joe\n")] == ["Bob"]


def test_blank_lines_and_a_quoted_name_before_the_separator_are_no_obstacle(read):
    assert [d.text for d in read("a.csv", b'\n\r\n"id";"text"\n1;Bob\n')] == ["Bob"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be", "utf-32-le"])
def test_offsets_are_those_of_the_object_whatever_ends_the_rows(read, encoding):
    mark = "".encode(encoding)
    lines = ["text,id\r", 'Bob,"1\r2"\r\n', "Žižek\u0a0d\u0d0a,2\n", "\r\r", "Ann,3\r", "Joe,4"]
    raw = mark + b"".join(line.encode(encoding).removeprefix(mark) for line in lines)
    for sizes in ([1 << 30], [1], [7]):
        documents = read("a.csv", raw, block_sizes=sizes)
        assert [d.text for d in documents] == ["Bob", "Žižek\u0a0d\u0d0a", "Ann", "Joe"]
        for document in documents:
            assert raw[document.byte_offset :].startswith(document.text.encode(encoding).removeprefix(mark))


def test_a_nul_in_a_cell_costs_nothing(read):
    documents = read("a.csv", b"id,text\n1,Bob \0 met Ann and others\n2,Joe\n")
    assert [d.text for d in documents] == ["Bob \0 met Ann and others", "Joe"]


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
    [(b"id,body", "no_text_field"), (b"text,text", "duplicate_column"), (b"id;body", "no_text_field")],
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


def test_rows_that_an_open_quote_swallows_are_told(read):
    broken, good = read("a.csv", b'id,text\n5,"Bob said\n6,"Ann"\n7,Joe\n')
    assert (broken.outcome, good.text) == ("rejected", "Joe")
    assert "1 lines behind it that its quote holds are lost" in broken.detail


def test_a_byte_order_mark_before_a_later_row_damages_nothing(read):
    documents = read("a.csv", 'text,id\nBob,1\n\ufeff"Ann, of York",2\n'.encode())
    assert [(document.text, document.record_id) for document in documents] == [
        ("Bob", "1"),
        ("Ann, of York", "2"),
    ]
