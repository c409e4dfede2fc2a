import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.documents import Fields, ReadLimits

scalars = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=6)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2), max_leaves=3)
records = st.dictionaries(st.sampled_from(["text", "id", "body"]), values)
lines = records.map(lambda record: json.dumps(record).encode()) | st.binary(max_size=12).filter(
    lambda raw: b"\n" not in raw
)


@given(st.lists(lines, max_size=8), st.lists(st.integers(1, 30), min_size=1, max_size=3))
def test_every_line_that_is_not_blank_is_accounted_for(read, lines, sizes):
    raw = b'{"text":"Bob lives in Paris, as all the world knows."}\n' + b"\n".join(lines)
    documents = read("a.jsonl", raw, block_sizes=sizes)
    assert documents == read("a.jsonl", raw)
    if documents[-1].record is not None:
        filled = [
            n for n, line in enumerate(raw.split(b"\n"), 1) if line.removeprefix(b"\xef\xbb\xbf").strip()
        ]
        assert [document.record for document in documents] == filled


@given(st.text(), st.booleans())
def test_the_text_is_that_of_the_record(read, text, ascii_only):
    raw = json.dumps({"text": text}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    (document,) = read("a.jsonl", raw)
    if document.text is not None:
        assert document.text == "".join(
            "\ufffd" if "\ud800" <= c <= "\udfff" else c for c in json.loads(raw)["text"]
        )


def test_blank_lines_count_as_lines_and_not_as_records(read):
    documents = read("a.jsonl", b'\n{"text":"a"}\n \r\n\n{"text":"b"}\n\n')
    assert [(document.record, document.byte_offset) for document in documents] == [(2, 1), (5, 18)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text":null}', "text_not_string"),
        (b'{"text":42}', "text_not_string"),
        (b'{"text":NaN}', "text_not_string"),
        (b'{"text":["a"]}', "text_not_string"),
        (b'{"text":true}', "text_not_string"),
        (b'{"id":1,"body":"Bob"}', "no_text_field"),
        (b'{"text":"a\x01\x02"}', "invalid_json"),
        (b'["text"]', "not_an_object"),
        (b"42", "not_an_object"),
        (b"{} {}", "invalid_json"),
        (b"[" * 200_000, "invalid_json"),
        (b'{"text":' + b"9" * 5000 + b"}", "text_not_string"),
    ],
)
def test_a_bad_record_costs_itself_only(read, line, reason):
    good = b'{"id":"x","text":"Bob"}\n'
    before, bad, after = read("a.jsonl", good + line + b"\n" + good)
    assert (bad.outcome, bad.reason, bad.text, bad.record) == ("rejected", reason, None, 2)
    assert before.outcome == after.outcome == "ok"
    assert bad.detail.startswith("line 2: ")
    assert len(bad.detail) < 400


def test_the_message_names_what_was_found_and_what_to_do(read):
    (document,) = read("a.jsonl", b'{"id":1,"body":"Bob"}')
    assert document.detail == "line 1: no 'text' (found 'id', 'body'); rename the field or set NER_TEXT_FIELD"


def test_a_bad_byte_is_replaced_and_named_by_its_offset_in_the_file(read):
    _, mended = read("a.jsonl", '{"text":"Zëë"}\n{"text":"K'.encode() + b'\xf6ln"}')
    assert (mended.outcome, mended.text, mended.replaced_bytes) == ("ok", "K\ufffdln", 1)
    assert mended.warnings == ("bytes_replaced",)
    assert mended.detail.startswith("byte 27 (0xf6) is not utf-8 and became U+FFFD")


def test_warnings_of_bytes_and_of_surrogates_stand_side_by_side(read):
    (document,) = read("a.jsonl", rb'{"id":[],"text":"Bob \ud83d K' + b'\xf6ln"}')
    assert (document.text, document.encoding) == ("Bob \ufffd Köln", "cp1252")
    assert document.warnings == ("encoding_uncertain", "surrogates_replaced")
    for told in ("1 lone surrogate", "'id' is a list and was left out", "nothing in the bytes settles"):
        assert told in document.detail


def test_of_a_key_that_comes_twice_the_last_counts(read):
    (document,) = read("a.jsonl", b'{"text":"Bob","text":"Ann"}')
    assert document.text == "Ann"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=3),
)
def test_records_and_their_offsets_are_found_in_every_unicode_encoding(read, encoding, texts, sizes):
    lines = [json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts]
    raw = ("\ufeff" + "".join(lines)).encode(encoding)
    documents = read("a.jsonl", raw, block_sizes=sizes)
    assert documents == read("a.jsonl", raw)
    assert len(documents) == len(texts) or documents[0].reason == "no_records"
    for document, line, text in zip(documents, lines, texts, strict=False):
        assert raw[document.byte_offset :].startswith(line.encode(encoding))
        assert document.text == text or document.reason == "not_text"


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ('"007"', "007"),
        ("9007199254740993", "9007199254740993"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1.10", "1.10"),
        ("1e400", "1e400"),
        ("NaN", "NaN"),
        ("true", "true"),
        ("null", None),
        ('""', ""),
    ],
)
def test_ids_are_kept_as_written(read, spelled, expected):
    (document,) = read("a.jsonl", f'{{"id":{spelled},"text":"NA"}}'.encode())
    assert (document.record_id, document.text, document.outcome) == (expected, "NA", "ok")


def test_an_id_that_is_no_scalar_is_left_out_and_noted(read):
    (document,) = read("a.jsonl", b'{"id":{"$oid":"5f"},"text":"Bob"}')
    assert (document.outcome, document.record_id) == ("ok", None)
    assert document.detail == "'id' is an object and was left out"


def test_other_field_names_can_be_asked_for(read):
    (document,) = read("a.jsonl", b'{"nr":7,"body":"Bob"}', fields=Fields(text="body", id="nr"))
    assert (document.text, document.record_id) == ("Bob", "7")


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_line_over_the_limit_is_rejected_and_the_others_go_on(read, size):
    raw = b'{"text":"Bob"}\n{"text":"' + b"x" * 500 + b'"}\n{"text":"Ann"}\n'
    documents = read("a.jsonl", raw, limits=ReadLimits(max_record_bytes=64), block_sizes=[size])
    assert [(d.record, d.reason) for d in documents] == [(1, ""), (2, "too_large"), (3, "")]
    assert documents[2].byte_offset == raw.rindex(b"{")


def test_a_text_over_the_limit_is_rejected_and_the_others_go_on(read):
    raw = b'{"text":"Barack"}\n{"text":"Bob"}\n'
    documents = read("a.jsonl", raw, limits=ReadLimits(max_document_chars=5))
    assert [d.reason for d in documents] == ["too_large", ""]


def test_records_beyond_the_limit_are_one_rejection(read):
    documents = read("a.jsonl", b'{"text":"Bob"}\n' * 5, limits=ReadLimits(max_records=2))
    assert [(d.record, d.reason) for d in documents] == [(1, ""), (2, ""), (None, "too_many_records")]


@pytest.mark.parametrize("raw", [b"", b"\n\n \r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_a_file_without_records_still_has_one_row(read, raw):
    (document,) = read("a.jsonl", raw)
    assert (document.outcome, document.reason, document.record) == ("empty", "no_records", None)


@pytest.mark.parametrize(
    ("key", "raw"),
    [
        ("a.jsonl", b'{"id": 7, "text": 7}\n'),
        ("a.jsonl", b'{"id": 7}\n'),
        ("a.json", b'[\n{"id": 7, "text": null}]'),
        ("a.csv", b"id,text\n7\n"),
        ("a.csv", b"id,text\n7,Bob,Ann\n"),
    ],
)
def test_a_rejected_record_keeps_the_id_by_which_its_owner_finds_it(read, key, raw):
    (document,) = read(key, raw)
    assert (document.outcome, document.record_id) == ("rejected", "7")
