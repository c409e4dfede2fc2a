import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.documents import ReadLimits

A, B = '{"text":"Bob","id":1}', '{"id":1.10,"text":"Ann"}'
scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner)
)
records = st.fixed_dictionaries({"text": st.text(min_size=1).filter(str.strip)}, optional={"x": values})


def texts(documents):
    return [(d.record, d.text) for d in documents]


def reasons(documents):
    return [(d.record, d.reason) for d in documents]


@pytest.mark.parametrize(
    "spelled",
    [
        f"[{A},{B}]",
        f" [\n {A} ,\n\t{B}\n]\n",
        f"{A}\n{B}\n",
        f"{A}{B}",
        f"{A} {B}",
        f"[{A}]\n[{B}]",
        f"[{A}]{B}",
        json.dumps([json.loads(A), {"id": "1.10", "text": "Ann"}], indent=2),
        f"\n\n{A}\n\n{B}",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_an_array_and_values_in_a_row_give_a_document_for_each(read, spelled, encoding):
    for block in (1, 5, 1000):
        documents = read("a.json", spelled.encode(encoding), block_sizes=[block])
        assert [d.text for d in documents] == ["Bob", "Ann"]
        assert [d.record_id for d in documents] == ["1", "1.10"]
        assert len({d.record for d in documents}) == 2


def test_one_object_is_one_document_however_it_is_laid_out(read):
    for indent in (None, 4):
        assert texts(read("a.json", json.dumps({"id": 7, "text": "Bob"}, indent=indent).encode())) == [
            (1, "Bob")
        ]


def test_a_string_is_a_text_without_an_id(read):
    assert texts(read("a.json", b'"Bob"')) == [(1, "Bob")]
    assert texts(read("a.json", rb'["Bob", "An\u00e9", "\ud83d"]')) == [(1, "Bob"), (2, "Ané"), (3, "\ufffd")]


def test_lines_keep_their_numbers_and_offsets(read):
    documents = read("a.json", f"{A}\n\n{B}\n".encode())
    assert [(d.record, d.byte_offset) for d in documents] == [(1, 0), (3, len(A) + 2)]


def test_a_line_that_breaks_off_costs_itself_only(read):
    documents = read("a.json", f'{A}\n{{"text":"no\n{B}\n'.encode())
    assert reasons(documents) == [(1, ""), (2, "invalid_json"), (3, "")]


@given(st.lists(records, max_size=5), st.sampled_from([None, 1]), st.booleans(), st.integers(1, 40))
def test_what_stands_in_an_array_comes_out(read, wanted, indent, ascii_only, size):
    spelled = json.dumps(wanted, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    documents = read("a.json", spelled, block_sizes=[size])
    if wanted and not any(d.outcome == "rejected" for d in documents):
        assert [d.text for d in documents] == [
            "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in record["text"])
            for record in json.loads(spelled)
        ]


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        ("3", "not_an_object"),
        ("-1.5e9", "not_an_object"),
        ("null", "not_an_object"),
        ("[1, [2]]", "not_an_object"),
        ("{}", "no_text_field"),
        ('{"body":"x"}', "no_text_field"),
        ('{"text":7}', "text_not_string"),
        ('{"text":null}', "text_not_string"),
        ('{"text":"x",}', "invalid_json"),
        ('{"text":"a\nb"}', "invalid_json"),
        ("{'text':'x'}", "invalid_json"),
        ("nul", "invalid_json"),
        ("[" * 5000 + "]" * 5000, "invalid_json"),
        ('{"text":"' + "x" * 500 + '"}', "too_large"),
        ('"' + "x" * 500 + '"', "too_large"),
        ("[" + "{}," * 200 + "{}]", "too_large"),
    ],
)
def test_a_bad_element_costs_itself_only(read, element, reason):
    limits = ReadLimits(max_record_bytes=20_000 if reason == "invalid_json" else 400)
    for block in (1, 1000):
        documents = read("a.json", f"[{A},{element},{B}]".encode(), limits=limits, block_sizes=[block])
        assert reasons(documents) == [(1, ""), (2, reason), (3, "")]
        assert documents[1].detail.startswith("record 2: ")


@pytest.mark.parametrize("rest", [",,{}]", " {}]", ",}{}]", ":{}]", "]]", "],{}", "}", "] ,", " 7]"])
def test_where_the_next_value_cannot_be_told_the_rest_is_one_rejection(read, rest):
    documents = read("a.json", f"[{A}{rest}".encode())
    assert reasons(documents) == [(1, ""), (None, "invalid_json")]
    assert "after record 1" in documents[-1].detail


@pytest.mark.parametrize("cut", range(1, len(f"[{A},{B}]")))
def test_an_array_cut_anywhere_keeps_what_was_whole(read, cut):
    documents = read("a.json", f"[{A},{B}]".encode()[:cut])
    assert documents[-1].reason == "invalid_json"
    assert [d.text for d in documents[:-1]] == ["Bob", "Ann"][: len(documents) - 1]
    assert len(documents) - 1 == (cut > len(A)) + (cut > len(A) + 1 + len(B))


def test_what_is_wrapped_is_not_guessed_and_what_was_found_is_named(read):
    (document,) = read("a.json", f'{{"count":2,"data":[{A},{B}]}}'.encode())
    assert (document.reason, document.record) == ("no_text_field", 1)
    assert "found 'count', 'data'" in document.detail


@pytest.mark.parametrize("raw", [b"", b" \n", b"[]", b"[ ]\n", b"\xef\xbb\xbf", b"[][]"])
def test_a_file_without_values_still_has_one_row(read, raw):
    assert [(d.outcome, d.reason, d.record) for d in read("a.json", raw)] == [("empty", "no_records", None)]


@pytest.mark.parametrize("charset", ["shift_jis", "gb18030", "big5", "utf-16-le"])
def test_brackets_and_quotes_are_told_as_characters_and_not_as_bytes(read, charset):
    # In these a byte of a character may be that of a backslash or of a bracket.
    spelled = '[{"text":"表"},{"text":"功能 ポ 十"}]'
    raw = spelled.encode(charset, "ignore")
    documents = read("a.json", raw, charset=charset, block_sizes=[1])
    assert [d.text for d in documents] == [record["text"] for record in json.loads(raw.decode(charset))]


def test_bytes_that_are_no_character_are_counted_where_they_are(read):
    documents = read(
        "a.json", b'[{"text":"gr\xc3\xbcn"},{"text":"K\xff"},{"text":"Bob"}]' + b" " * 500, charset="utf-8"
    )
    assert [d.text for d in documents] == ["grün", "K\ufffd", "Bob"]
    assert [d.warnings for d in documents] == [(), ("bytes_replaced",), ()]
    assert [d.replaced_bytes for d in documents] == [0, 1, 0]


def test_records_beyond_the_limit_are_one_rejection(read):
    documents = read("a.json", f"[{A},{A},{A}]".encode(), limits=ReadLimits(max_records=2))
    assert reasons(documents) == [(1, ""), (2, ""), (None, "too_many_records")]


@pytest.mark.parametrize("size", [1_000, 1 << 20])
def test_how_a_record_was_decoded_does_not_depend_on_what_stands_behind_it(read, size):
    raw = '["\ufffd Zoë",\n'.encode() + b" " * 100_000 + b'"x\xff"]'
    first, second = read("a.json", raw, block_sizes=[size])
    assert (first.replaced_bytes, second.replaced_bytes) == (1, 1)


def test_records_that_an_open_quote_swallows_are_told(read):
    raw = b'[\n{"text":"a"},{"text":"b},{"text":"c"},{"text":"d"}]'
    _, broken = read("a.json", raw)[:2]
    assert "records that stand in it are lost with it" in broken.detail


def test_utf16_is_told_for_every_record(read):
    documents = read("a.json", '[\n"Bob",\n"Zoë"]'.encode("utf-16"))
    assert [document.encoding for document in documents] == ["utf-16-le", "utf-16-le"]
