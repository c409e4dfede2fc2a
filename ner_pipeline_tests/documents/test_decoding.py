import pytest
from hypothesis import given
from hypothesis import strategies as st

block_sizes = st.lists(st.integers(1, 9), min_size=1, max_size=5)
texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(text=texts, sizes=block_sizes, bom=st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_the_text_is_the_stored_one_unchanged_whatever_the_block_size(read, text, sizes, bom):
    raw = bom + text.encode()
    (document,) = read("a.txt", raw, block_sizes=sizes)
    assert [document] == read("a.txt", raw)
    if document.outcome != "rejected":
        assert document.text == (text if bom else text.removeprefix("\ufeff"))
        assert document.encoding == "utf-8"
        assert document.had_bom == raw.startswith(b"\xef\xbb\xbf")


@given(raw=st.binary(max_size=40) | texts.map(str.encode), bad=st.binary(max_size=4), sizes=block_sizes)
def test_a_bad_byte_is_named_by_its_offset(read, raw, bad, sizes):
    raw = b"Bob met Ann " + raw + bad
    (document,) = read("a.txt", raw, block_sizes=sizes)
    start = first_bad_byte(raw)
    if start is None or document.reason == "unsupported_encoding":
        assert document.reason != "undecodable"
    else:
        assert (document.reason, document.text) == ("undecodable", None)
        assert document.detail.startswith(f"byte {start:,} (0x{raw[start]:02x})")


def first_bad_byte(raw):
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def test_a01_a_leading_bom_is_dropped_and_recorded(read):
    (document,) = read("a.txt", b"\xef\xbb\xbfBarack Obama visited Paris.")
    assert document.text[0:12] == "Barack Obama"
    assert document.had_bom
    (first,) = read("a.jsonl", b'\xef\xbb\xbf{"id":1,"text":"Bob"}\n')
    assert (first.text, first.record_id, first.had_bom) == ("Bob", "1", True)
    (row,) = read("a.csv", b"\xef\xbb\xbftext,id\nBob,1\n")
    assert (row.text, row.had_bom) == ("Bob", True)


def test_a01_u_feff_in_mid_text_is_kept(read):
    assert read("a.txt", "Bob\ufeff Ann".encode())[0].text == "Bob\ufeff Ann"
    assert read("a.txt", "\ufeff\ufeffBob".encode())[0].text == "\ufeffBob"


def test_a01_a_bom_before_a_later_json_line_damages_no_record(read):
    joined = b'\xef\xbb\xbf{"text":"Bob"}\n\xef\xbb\xbf{"text":"Ann"}\n'
    assert [document.text for document in read("a.jsonl", joined)] == ["Bob", "Ann"]


@pytest.mark.parametrize("key", ["a.txt", "a.jsonl", "a.csv"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_a02_utf16_and_utf32_never_pass_in_silence(read, key, encoding):
    (document,) = read(key, "Angela Merkel met Bob in Berlin.\r\n".encode(encoding))
    assert (document.outcome, document.reason) == ("rejected", "unsupported_encoding")
    expected = (
        encoding.upper()[:6] if encoding in ("utf-16", "utf-32") else "UTF-16 without a byte order mark"
    )
    assert expected in document.detail


def test_a02_cyrillic_utf16_has_few_nuls_and_is_still_no_text(read):
    (document,) = read("a.txt", "Ангела Меркель приехала в Москву".encode("utf-16-le"))
    assert (document.outcome, document.reason) == ("rejected", "not_text")


def test_a_single_nul_does_not_cost_a_text(read):
    (document,) = read("a.txt", b"Barack Obama\x00 visited Paris.")
    assert (document.outcome, document.text) == ("ok", "Barack Obama\x00 visited Paris.")


@pytest.mark.parametrize("text", ["Barack Obama\r\nvisited Paris\r\n", "Bob\rAnn\r\nJoe\n"])
@pytest.mark.parametrize("key", ["a.txt", "a.csv"])
def test_a05_line_ends_are_never_translated(read, key, text):
    raw = text.encode() if key == "a.txt" else f'text\r\n"{text}"\r\n'.encode()
    (document,) = read(key, raw)
    assert document.text == text
    if "Paris" in text:
        assert document.text[22:27] == "Paris"


def test_legacy_charsets_are_rejected_not_guessed(read):
    (document,) = read("a.txt", b"M\xfcller aus K\xf6ln")
    assert (document.outcome, document.reason) == ("rejected", "undecodable")
    assert document.detail == "byte 1 (0xfc) is not UTF-8; save it as UTF-8"


def test_a_character_cut_at_the_end_is_undecodable(read):
    (document,) = read("a.txt", "Bob paid 5 €".encode()[:-1], block_sizes=[1])
    assert (document.reason, document.detail[:6]) == ("undecodable", "byte 1")
