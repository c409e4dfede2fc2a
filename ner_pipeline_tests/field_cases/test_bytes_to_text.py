"""Field cases A01 A02 A03 A05 A07 A18 A20: from stored bytes to the text that offsets count."""

import io
import json

import pytest

from ner_pipeline.documents import ReadOptions, read_documents


def read(key, raw, charset=None):
    return list(
        read_documents(key, io.BytesIO(raw), options=ReadOptions(charsets=(charset,) if charset else ()))
    )


def test_a01_a_leading_bom_is_dropped_and_recorded():
    (document,) = read("a.txt", b"\xef\xbb\xbfBarack Obama visited Paris.")
    assert (document.text[0:12], document.had_bom) == ("Barack Obama", True)
    (first,) = read("a.jsonl", b'\xef\xbb\xbf{"id":1,"text":"Bob"}\n')
    assert (first.text, first.record_id, first.had_bom) == ("Bob", "1", True)
    (row,) = read("a.csv", b"\xef\xbb\xbftext,id\nBob,1\n")
    assert (row.text, row.had_bom) == ("Bob", True)


def test_a01_u_feff_in_mid_text_is_kept():
    assert read("a.txt", "Bob\ufeff Ann".encode())[0].text == "Bob\ufeff Ann"
    assert read("a.txt", "\ufeff\ufeffBob".encode())[0].text == "\ufeffBob"


def test_a01_a_bom_before_a_later_json_line_damages_no_record():
    joined = b'\xef\xbb\xbf{"text":"Bob"}\n\xef\xbb\xbf{"text":"Ann"}\n'
    assert [document.text for document in read("a.jsonl", joined)] == ["Bob", "Ann"]


@pytest.mark.parametrize("key", ["a.txt", "a.jsonl", "a.csv", "a.tsv"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_a02_utf16_and_utf32_are_read_with_a_mark_and_without(key, encoding):
    text = "Angela Merkel met Bob in Berlin."
    stored = {
        "a.txt": f"{text}\r\n",
        "a.jsonl": f"{json.dumps({'text': text})}\r\n",
        "a.csv": f"id,text\r\n1,{text}\r\n",
        "a.tsv": f"id\ttext\r\n1\t{text}\r\n",
    }[key].encode(encoding)
    (document,) = read(key, stored)
    assert (document.outcome, document.text.strip(), document.warnings) == ("ok", text, ())
    assert document.encoding[:6] == encoding[:6]
    assert document.had_bom == (encoding in ("utf-16", "utf-32"))


@pytest.mark.parametrize("raw", [b"\0" * 64, b"\0\x07\x07\0" * 16, b"\0B\0o\0b\n\0" + b"A\0" * 9])
def test_a02_where_the_byte_order_cannot_be_told_nothing_is_guessed(raw):
    (document,) = read("a.txt", raw)
    assert (document.outcome, document.reason) == ("rejected", "not_text")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("张伟在北京工作。".encode("gb18030"), "张伟在北京工作。"),
        (b"M\xfcller aus K\xf6ln", "Müller aus Köln"),
        (b"\x93Bob\x94 \x80 5", "“Bob” € 5"),
    ],
)
def test_a03_a_short_legacy_text_is_read_right_and_flagged(raw, text):
    (document,) = read("a.txt", raw)
    assert (document.outcome, document.text, document.warnings) == ("ok", text, ("encoding_uncertain",))
    assert "declare it when you upload" in document.detail


def test_a03_two_bytes_are_flagged():
    (document,) = read("a.txt", b"\xd6\xd0")
    assert (document.outcome, document.warnings) == ("ok", ("encoding_uncertain",))


def test_a03_a_declared_charset_settles_it():
    (document,) = read("a.txt", b"\xd6\xd0", "gb2312")
    assert (document.text, document.encoding, document.warnings) == ("中", "gb18030", ())


RUSSIAN = """Лев Толстой родился в Ясной Поляне в Тульской губернии, а умер на станции Астапово;
его романы читают во всём мире, и многие из них были экранизированы ещё в прошлом веке."""
LONG = {
    "gb18030": "中华人民共和国外交部发言人王毅在记者会上表示，中国将继续支持联合国的工作。腾讯去年在深圳。",
    "cp950": "中華民國總統在記者會上表示，臺灣將繼續支持民主與自由的價值。他的父親在臺灣大學教書。",
    "cp932": "安倍晋三首相は国会で演説し、経済政策について説明した。トヨタ自動車は愛知県豊田市に本社を置く。",
    "cp949": "문재인 대통령은 국회에서 연설하고 경제 정책에 대해 설명했다. 삼성전자는 수원시에 본사를 둔다.",
    "cp1251": RUSSIAN,
    "koi8-r": RUSSIAN,
}


@pytest.mark.parametrize("charset", sorted(LONG))
def test_a03_a_longer_text_in_another_script_is_told_without_a_doubt(charset):
    (document,) = read("a.txt", LONG[charset].encode(charset))
    assert (document.text, document.encoding, document.warnings) == (LONG[charset], charset, ())


@pytest.mark.parametrize("text", ["Barack Obama\r\nvisited Paris\r\n", "Bob\rAnn\r\nJoe\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("key", ["a.txt", "a.csv"])
def test_a05_line_ends_are_never_translated(key, encoding, text):
    stored = text if key == "a.txt" else f'text\r\n"{text}"\r\n'
    (document,) = read(key, stored.encode(encoding))
    assert document.text == text
    if "Paris" in text:
        assert document.text[22:27] == "Paris"


def test_a07_a_lone_surrogate_becomes_one_replacement_character_and_is_flagged():
    raw = rb'{"id":"\udc00","text":"Bob \ud83d went to Paris"}' + b"\n" + rb'{"text":"Ann \ud83d\ude00"}'
    first, second = read("a.jsonl", raw)
    assert (first.outcome, first.text, first.record_id) == ("ok", "Bob \ufffd went to Paris", "\ufffd")
    assert first.warnings == ("surrogates_replaced",)
    assert "1 lone surrogate" in first.detail
    assert (second.text, second.warnings, second.detail) == ("Ann 😀", (), "")


def test_a18_every_cell_is_text_and_an_empty_one_is_empty():
    documents = read("a.csv", b"id,text\n1,NA\n2,null\n3,None\n4,\n007,Bob\n")
    assert [d.text for d in documents] == ["NA", "null", "None", "", "Bob"]
    assert [d.outcome for d in documents] == ["ok", "ok", "ok", "empty", "ok"]
    assert documents[4].record_id == "007"


@pytest.mark.parametrize("record", [b'{"text":null}', b'{"text":42}', b'{"text":["a"]}', b'{"id":1}'])
def test_a18_a_text_of_another_type_costs_its_record_only(record):
    before, bad, after = read("a.jsonl", b'{"text":"Bob"}\n' + record + b'\n{"text":"Ann"}\n')
    assert bad.reason == ("text_not_string" if b"text" in record else "no_text_field")
    assert (before.text, bad.outcome, after.text) == ("Bob", "rejected", "Ann")


@pytest.mark.parametrize("spelled", ['"007"', "9007199254740993"])
def test_a18_ids_keep_their_digits(spelled):
    (document,) = read("a.jsonl", f'{{"id":{spelled},"text":"Bob"}}'.encode())
    assert document.record_id == spelled.strip('"')


def test_a20_lines_end_at_the_newline_only():
    raw = b'{"text":"a\xc2\x85b"}\n{"text":"c\xe2\x80\xa8d"}\n\n{"text":"e"}\r\n{"text":"f"}'
    for stored in (raw, raw.decode().encode("utf-16")):
        documents = read("a.jsonl", stored)
        assert [document.text for document in documents] == ["a\x85b", "c\u2028d", "e", "f"]
        assert [document.record for document in documents] == [1, 2, 4, 5]


@pytest.mark.parametrize("ending", [b"", b"\n", b'\n{"text":"Ann"}\n'])
def test_a20_a_half_written_line_is_rejected_and_the_others_go_on(ending):
    documents = read("a.jsonl", b'{"text":"Joe"}\n{"text":"Bo' + ending)
    bad = documents[1]
    assert (bad.outcome, bad.reason, bad.record, bad.byte_offset) == ("rejected", "invalid_json", 2, 15)
    assert """'{"text":"Bo'""" in bad.detail
    assert [d.text for d in documents if d.outcome == "ok"] == ["Joe", "Ann"][: len(documents) - 1]
