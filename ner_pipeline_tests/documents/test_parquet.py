import decimal

import pyarrow as pa
import pytest

from ner_pipeline.documents import ReadLimits

TEXTS = ["Bob", "NA", None, "", "é😀"]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
@pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
def test_every_kind_of_string_column_is_read(read, parquet, kind, compression):
    texts = pa.array(TEXTS).dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(TEXTS, kind)
    documents = read("a.parquet", parquet({"text": texts, "other": [1.5] * 5}, compression=compression))
    assert [d.text for d in documents] == TEXTS
    assert [d.outcome for d in documents] == ["ok", "ok", "rejected", "empty", "ok"]
    assert [d.record for d in documents] == [1, 2, 3, 4, 5]
    assert documents[2].reason == "text_not_string"


def test_a_column_of_nulls_only_rejects_each_row(read, parquet):
    documents = read("a.parquet", parquet({"text": pa.nulls(3)}))
    assert [d.reason for d in documents] == ["text_not_string"] * 3


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (pa.array([9007199254740993, None]), ["9007199254740993", None]),
        (pa.array(["007", "é"]), ["007", "é"]),
        (pa.array(["b", "a"]).dictionary_encode(), ["b", "a"]),
        (pa.array([decimal.Decimal("1.10"), None]), ["1.10", None]),
        (pa.array([True, False]), ["true", "false"]),
    ],
)
def test_ids_are_spelled_as_they_stand(read, parquet, ids, expected):
    documents = read("a.parquet", parquet({"id": ids, "text": ["Bob", "Ann"]}))
    assert [d.record_id for d in documents] == expected


def test_an_id_that_has_no_spelling_is_left_out_and_noted(read, parquet):
    (document,) = read("a.parquet", parquet({"id": [{"oid": 1}], "text": ["Bob"]}))
    assert (document.outcome, document.record_id) == ("ok", None)
    assert "was left out" in document.detail


@pytest.mark.parametrize("texts", [[1, 2], [["a"], ["b"]], [b"a", b"b"]])
def test_another_type_rejects_the_file_once(read, parquet, texts):
    (document,) = read("a.parquet", parquet({"text": texts}))
    assert (document.outcome, document.reason, document.record) == ("rejected", "text_not_string", None)


def test_a_missing_column_names_those_found(read, parquet):
    (document,) = read("a.parquet", parquet({"id": [1], "body": ["Bob"]}))
    assert document.detail == "no column 'text' (found 'id', 'body'); rename the column or set NER_TEXT_FIELD"


def test_bytes_that_are_not_utf8_are_replaced_in_their_row_only(read, parquet):
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\3\0\0\0\6\0\0\0"), pa.py_buffer(b"BobK\xf6l")]
    )
    documents = read("a.parquet", parquet({"text": bad}, use_dictionary=False))
    assert [(d.text, d.replaced_bytes) for d in documents] == [("Bob", 0), ("K\ufffdl", 1)]
    assert [d.warnings for d in documents] == [(), ("bytes_replaced",)]


@pytest.mark.parametrize("damage", ["cut", "magic only", "garbage", "middle"])
def test_a_damaged_file_is_one_rejection(read, parquet, damage):
    raw = parquet({"text": ["Bob went to Paris"] * 500})
    middle = raw[:20] + b"\xff" * 20 + raw[40:]
    damaged = {"cut": raw[:-9], "magic only": b"PAR1", "garbage": b"Bob" * 99, "middle": middle}[damage]
    documents = read("a.parquet", damaged)
    assert documents[-1].reason == "invalid_parquet"
    assert documents[-1].record is None


def test_rows_of_several_batches_and_groups_are_all_read(read, parquet):
    documents = read("a.parquet", parquet({"text": [f"Bob {n}" for n in range(1000)]}, row_group_size=170))
    assert [d.text for d in documents] == [f"Bob {n}" for n in range(1000)]


def test_a_text_over_the_limit_is_rejected_and_the_others_go_on(read, parquet):
    raw = parquet({"text": ["Barack", "Bob"]})
    assert [d.reason for d in read("a.parquet", raw, limits=ReadLimits(max_document_chars=5))] == [
        "too_large",
        "",
    ]


def test_a_file_over_the_record_limit_is_one_rejection(read, parquet):
    (document,) = read("a.parquet", parquet({"text": ["Bob"] * 5}), limits=ReadLimits(max_records=2))
    assert document.reason == "too_many_records"


def test_files_without_rows_still_have_one_row(read, parquet):
    for raw in (b"", parquet({"text": pa.array([], pa.string())})):
        (document,) = read("a.parquet", raw)
        assert (document.outcome, document.reason) == ("empty", "no_records")


def test_a_text_that_stands_for_every_row_of_a_large_table_is_a_bomb(read, parquet):
    one_for_all = pa.array([0] * 100_000, pa.int32())
    column = pa.DictionaryArray.from_arrays(one_for_all, pa.array(["Bob " * 1_250_000]))
    *read_before, last = read("a.parquet", parquet({"text": column}, compression="zstd"))
    assert (last.outcome, last.reason) == ("rejected", "expands_too_much")
    assert len(read_before) < 10
