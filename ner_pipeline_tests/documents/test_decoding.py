import codecs
import io
import sys
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ner_pipeline.documents import Warned
from ner_pipeline.documents.bad_input import BadInputError
from ner_pipeline.documents.charsets import CHARSETS, codec_name, declared_charsets
from ner_pipeline.documents.decoding import join_decoded, open_text
from ner_pipeline.documents.sources import ByteSource

block_sizes = st.lists(st.integers(1, 9), min_size=1, max_size=5)
texts = st.text(st.characters(exclude_categories=["Cs"]))
# With control characters in it, a short text may as well be one in UTF-16.
plain_texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\t\n\r"))
WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


def opened(raw, charset=None, sizes=(1 << 30,)):
    stream, counts = io.BytesIO(raw), iter(())

    def fetch(count):
        nonlocal counts
        size = next(counts, None)
        if size is None:
            counts = iter(sizes)
            size = next(counts)
        return stream.read(min(size, count))

    return open_text(ByteSource(iter(lambda: fetch(1 << 30), b"")), charset)


def decoded(raw, charset=None, sizes=(1 << 30,)):
    return opened(raw, charset, sizes).read_text(1 << 40)


def outcome(raw, charset=None, sizes=(1 << 30,)):
    try:
        return decoded(raw, charset, sizes)
    except BadInputError as fault:
        return fault.reason


@given(text=plain_texts, sizes=block_sizes, bom=st.sampled_from([b"", codecs.BOM_UTF8]))
def test_the_text_is_the_stored_one_unchanged_whatever_the_block_size(read, text, sizes, bom):
    raw = bom + text.encode()
    (document,) = read("a.txt", raw, block_sizes=sizes)
    assert [document] == read("a.txt", raw)
    assert document.text == (text if bom else text.removeprefix("\ufeff"))
    assert document.encoding == "utf-8"
    assert document.had_bom == raw.startswith(codecs.BOM_UTF8)


@pytest.mark.parametrize("name", sorted(MARKS))
@given(text=texts, sizes=block_sizes)
def test_all_planes_come_back_from_every_unicode_encoding_with_a_mark(name, text, sizes):
    assume(not text.startswith("\0"))  # behind the mark of UTF-16 it makes that of UTF-32
    raw = MARKS[name] + text.encode(name)
    source = opened(raw, None, sizes)
    assert source.had_bom
    assert (source.read_text(1 << 40).text, source.position) == (text, len(raw))


@pytest.fixture(scope="module")
def printable(full):
    last = sys.maxunicode if full else 0xFFFF
    characters = map(chr, range(0x20, last + 1))
    return "".join(c for c in characters if unicodedata.category(c) not in ("Cc", "Cs", "Co", "Cn"))


@pytest.mark.parametrize("name", sorted(CHARSETS))
def test_every_character_comes_back_from_every_charset_if_it_is_declared(name, printable):
    raw = b"".join(["Bob ".encode(name), printable.encode(name, "ignore")])
    found = decoded(raw, name, [99_991])
    assert (found.text, found.warnings) == (raw.decode(name), ())
    assert found.encoding == ("utf-8" if raw.isascii() and name == "ascii" else name)


@given(name=st.sampled_from(sorted(CHARSETS)), text=texts, sizes=block_sizes, label=st.booleans())
def test_any_text_in_any_charset_reads_alike_whatever_the_block_size(name, text, sizes, label):
    raw = text.encode(name, "ignore")
    charset = name if label else None
    assert outcome(raw, charset, sizes) == outcome(raw, charset)


@given(
    raw=st.binary(max_size=60),
    before=st.sampled_from([b"", b"Bob met Ann and Joe in Paris. "]),
    charset=st.sampled_from([None, "latin1", "utf-16", "gb2312", "iso-2022-jp"]),
    sizes=block_sizes,
)
def test_any_bytes_are_decoded_alike_whatever_the_block_size_and_the_way(raw, before, charset, sizes):
    raw = before + raw
    whole = outcome(raw, charset)
    assert whole == outcome(raw, charset, sizes)
    if isinstance(whole, str):
        return
    pieces = list(opened(raw, charset, sizes).blocks())
    assert join_decoded(pieces) == whole
    assert (Warned.BYTES_REPLACED in whole.warnings) == bool(whole.replaced_bytes)
    assert whole.text.count("\ufffd") >= bool(whole.replaced_bytes)
    whole.text.encode()


@given(raw=st.binary(max_size=40) | texts.map(str.encode), bad=st.binary(max_size=4))
def test_a_bad_byte_is_named_by_its_offset_and_counted(raw, bad):
    raw = "Žižek and Müller met Ann ".encode() * 9 + raw + bad
    found = decoded(raw)
    if found.encoding == "utf-8":
        assert found.text == raw.decode("utf-8", "replace")
        kept = raw.decode("utf-8", "ignore").encode()
        assert found.replaced_bytes == len(raw) - len(kept)
        if found.replaced_bytes:
            start = first_bad_byte(raw)
            assert found.note.startswith(f"byte {start:,} (0x{raw[start]:02x}) is not utf-8")


def first_bad_byte(raw):
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def test_ascii_alone_is_utf8_and_leaves_the_charset_open_until_the_first_other_byte(read):
    ascii_only, german = read("a.jsonl", b'{"text":"Bob"}\n{"text":"K\xf6ln"}\n')
    assert (ascii_only.encoding, ascii_only.warnings, ascii_only.detail) == ("utf-8", (), "")
    assert (german.encoding, german.text, german.warnings) == ("cp1252", "Köln", ("encoding_uncertain",))


def test_the_charset_is_found_however_late_the_first_byte_above_ascii_comes(read):
    raw = b"Bob met Ann. " * 61_000 + "Mme Bérénice à Orléans".encode() + b" \xff"
    assert len(raw) > 3 * 256 * 1024
    for sizes in ([1 << 30], [99_991]):
        (document,) = read("a.txt", raw, block_sizes=sizes)
        assert (document.encoding, document.replaced_bytes) == ("utf-8", 1)
        assert document.text.endswith("Mme Bérénice à Orléans \ufffd")


@pytest.mark.parametrize(
    ("raw", "text", "replaced", "doubt"),
    [
        ("Zoë met 😀".encode()[:-1], "Zoë met \ufffd", 3, False),
        ("Bob paid 5 €".encode()[:-1], "Bob paid 5 \ufffd", 2, False),
        ("Ann \xf0\x9f\x98 and Bob".encode("latin-1"), "Ann \ufffd and Bob", 3, False),
        ("Zoë met ".encode() + b"\x92 Bob", "Zoë met \ufffd Bob", 1, True),
        ("Zoë".encode() + b"\xff\xfe" + "Čapek ß".encode(), "Zoë\ufffd\ufffdČapek ß", 2, True),
    ],
)
def test_a_few_bad_bytes_in_utf8_are_replaced_and_make_it_nothing_else(raw, text, replaced, doubt):
    found = decoded(raw, sizes=[1])
    assert (found.encoding, found.text, found.replaced_bytes) == ("utf-8", text, replaced)
    assert found.warnings == (Warned.BYTES_REPLACED, Warned.ENCODING_UNCERTAIN)[: 1 + doubt]
    assert found.note == decoded(raw).note


def test_a_record_that_is_mostly_damage_is_undecodable_and_the_others_go_on(read):
    lines = [
        '{"text":"Žižek, Ürgüp, Čapek, Ångström, Łódź, Kraków"}'.encode(),
        b'{"text":"' + b"\xff" * 9 + b'"}',
        b'{"text":"K\xf6ln"}',
    ]
    good, bad, mended = read("a.jsonl", b"\n".join(lines))
    assert (good.outcome, good.warnings) == ("ok", ())
    assert (bad.outcome, bad.reason, bad.text) == ("rejected", "undecodable", None)
    assert bad.detail.startswith(f"most of it is damaged or in another charset: byte {len(lines[0]) + 10}")
    assert (mended.text, mended.replaced_bytes) == ("K\ufffdln", 1)
    assert "bytes_replaced" in mended.warnings


@pytest.mark.parametrize("odd", ["Müller aus Köln".encode("cp1252"), "Сергей Иванов".encode("cp1251") * 9])
def test_records_in_utf8_are_read_as_utf8_whatever_stands_in_the_others(read, odd):
    """Files are joined from several, and the first odd byte must not decide for all."""
    lines = [b'{"text":"' + odd + b'"}', *['{"text":"Müller aus Köln 中"}'.encode()] * 3]
    _, *others = read("a.jsonl", b"\n".join(lines))
    assert {(document.text, document.warnings) for document in others} == {("Müller aus Köln 中", ())}


@pytest.mark.parametrize("raw", [b"Bob\0", b"\0Bob", b"Bob\0Ann\0Joe\0Tim\0", b"<p>a\0b"])
def test_a_short_text_with_nuls_between_its_fields_is_not_taken_for_utf16(read, raw):
    (document,) = read("a.txt", raw)
    assert document.text in (None, raw.decode())


@pytest.mark.parametrize("text", ["巴巴集", "默克"])
def test_a_short_legacy_text_that_could_be_damaged_utf8_is_flagged(read, text):
    (document,) = read("a.txt", text.encode("gbk"))
    assert document.outcome == "ok"
    assert "encoding_uncertain" in document.warnings


BINARY = {
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDAT",
    "pickle": b"\x80\x04\x95\x11\0\0\0\0\0\0\0}\x94\x8c\x04text\x94\x8c\x03Bob\x94s.",
    "elf": b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x03\0>\0\x01\0\0\0\x80\x10\0\0" * 9,
    "noise": bytes((n * n * 7919 + n // 3) % 251 for n in range(4000)),
    "zeros": b"\0" * 100,
}


@pytest.mark.parametrize("kind", sorted(BINARY))
@pytest.mark.parametrize("charset", [None, "latin1", "utf-8", "gb2312"])
def test_a_binary_file_is_no_text_whatever_is_declared(read, kind, charset):
    (document,) = read("a.txt", BINARY[kind], charset=charset)
    assert (document.outcome, document.reason, document.text) == ("rejected", "not_text", None)


def test_a_single_nul_does_not_cost_a_text(read):
    (document,) = read("a.txt", b"Barack Obama\x00 visited Paris.")
    assert (document.outcome, document.text) == ("ok", "Barack Obama\x00 visited Paris.")


@pytest.mark.parametrize(
    ("content_type", "metadata", "expected"),
    [
        ('text/plain; charset="iso-8859-1"', {}, ("iso-8859-1",)),
        ("Text/Plain;CHARSET=koi8-r; format=flowed", {"charset": "utf-8"}, ("koi8-r", "utf-8")),
        ("text/plain; charset='gb18030'", {}, ("gb18030",)),
        ("text/plain; mycharset=a", {"Content-Charset": "big5"}, ("big5",)),
        ("text/plain; charset=", {"ENCODING": " cp1251 "}, ("cp1251",)),
        (None, {"encoding": "b", "charset": "a"}, ("a", "b")),
        ("text/plain", {"charset": ""}, ()),
        ("\0;=;charset", {}, ()),
        (None, {}, ()),
    ],
)
def test_a_declaration_is_found_in_content_type_or_metadata(content_type, metadata, expected):
    assert declared_charsets(content_type, metadata) == expected


@given(st.none() | st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
def test_no_declaration_raises(content_type, metadata):
    labels = declared_charsets(content_type, metadata)
    found = open_text(ByteSource(iter([b"Bob lives in K\xf6ln"])), *labels).read_text(100)
    assert found.text.startswith("Bob lives in K")
    assert found.warnings or any(map(codec_name, labels))


def test_the_first_declaration_that_can_be_followed_is(read):
    source = ByteSource(iter(["Москва и Путин".encode("koi8-r")]))
    assert open_text(source, "bogus", "koi8-r").read_text(100).text == "Москва и Путин"


@pytest.mark.parametrize("raw", [b"~{<:Ky2;VS~}", b"Bob +AOk-", b"plain"])
@pytest.mark.parametrize("key", ["a.txt", "a.csv"])
def test_a_declared_charset_that_is_not_read_is_told_even_where_all_is_ascii(read, raw, key):
    (document,) = read(key, raw if key == "a.txt" else b"text\n" + raw, charset="hz-gb-2312")
    assert document.warnings == ("encoding_uncertain",)
    assert "'hz-gb-2312'" in document.detail


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("Müller in Köln ".encode() + b"\xed\xa0\xbd\xed\xb8\x80" * 3, "Müller in Köln " + "\ufffd" * 6),
        ("Zoë ".encode() + b"\xed\xa0\xbd\xed\xb8\x80", "Zoë \ufffd\ufffd"),
        (b"Hello Bob \xed\xa0\xbd\xed\xb8\x80", "Hello Bob \ufffd\ufffd"),
        ("Привет \ud83d".encode("utf-8", "surrogatepass"), "Привет \ufffd"),
    ],
)
@pytest.mark.parametrize("charset", [None, "utf-8"])
def test_emoji_as_java_and_oracle_write_them_cost_themselves_only(read, raw, text, charset):
    """In CESU-8 each half of a surrogate pair has three bytes."""
    for sizes in ([1 << 20], [1], [2, 3]):
        (document,) = read("a.txt", raw, charset=charset, block_sizes=sizes)
        assert (document.text, document.encoding) == (text, "utf-8")
        assert document.replaced_bytes == 3 * text.count("\ufffd")
        assert document.warnings == ("bytes_replaced",)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        *(("latin1", "cp1252"), ("ISO-8859-1", "cp1252"), ("ansi", "cp1252"), ("win-1252", "cp1252")),
        *(("Windows 1251", "cp1251"), ("x-cp1250", "cp1250"), ("1252", "cp1252"), ("IBM850", "cp850")),
        *(("x-sjis", "cp932"), ("Shift_JIS", "cp932"), ("MS932", "cp932"), ("euc-jp", "euc_jis_2004")),
        *(("GB2312", "gb18030"), ("gbk", "gb18030"), ("x-gbk", "gb18030"), ("gb_2312-80", "gb18030")),
        *(("ks_c_5601-1987", "cp949"), ("euc-kr", "cp949"), ("Big5", "cp950"), ("big5-hkscs", "big5hkscs")),
        *(("iso-8859-9", "cp1254"), ("tis-620", "cp874"), ("ISO-8859-8-I", "iso8859-8")),
        *(("UTF8", "utf-8"), ("utf-8-sig", "utf-8"), ("UTF-16LE", "utf-16-le"), ("utf-16", "utf-16")),
        *(("macintosh", "mac-roman"), ("iso-2022-jp", "iso2022_jp_ext"), ("us-ascii", "ascii")),
        *(("rot13", None), ("base64", None), ("hex", None), ("zip", None), ("utf-7", None), ("idna", None)),
        *(("unicode_escape", None), ("punycode", None), ("cp037", None), ("no such", None), ("", None)),
        *(("a\0b", None), ("\ud83d", None), ("x" * 10_000, None), ("../etc", None)),
    ],
)
def test_charsets_are_known_by_the_names_that_people_write(label, name):
    assert codec_name(label) == name


@pytest.mark.parametrize(
    ("raw", "label", "text"),
    [
        ("Müller".encode("cp850"), "ibm850", "Müller"),
        (b"\x93Bob\x94 \x80 5", "iso-8859-1", "“Bob” € 5"),
        ("Москва".encode("koi8-r"), "KOI8-R", "Москва"),
        ("東京".encode("cp932"), "x-sjis", "東京"),
        ("Bob in 東京".encode("iso2022_jp"), "iso-2022-jp", "Bob in 東京"),
        ("\N{FULLWIDTH TILDE}①".encode("cp932"), "shift_jis", "～①"),
        ("Bob met Ann".encode("utf-16-be"), "UTF-16", "Bob met Ann"),
        ("Ангела Меркель".encode("utf-16-le"), "utf-16", "Ангела Меркель"),
        ("Bob".encode("utf-32-be"), "utf-32", "Bob"),
    ],
)
def test_a_declared_charset_that_fits_holds_without_a_doubt(raw, label, text):
    found = decoded(raw, label, [1])
    assert (found.text, found.warnings, found.note) == (text, (), "")


@pytest.mark.parametrize("label", ["rot13", "ascii", "no such charset", "utf-16", "utf-32-be"])
def test_a_declared_charset_that_does_not_fit_is_set_aside_and_named(label):
    raw = "€ Müller aus Köln zahlt “gern” – ÿ".encode("cp1252") + b" \xd9 \xff"
    found = decoded(raw, label)
    assert (found.encoding, found.text[2:8]) == ("cp1252", "Müller")
    assert f"the declared charset '{label}' does not fit" in found.note
    good = decoded("Žižek lives in Köln".encode(), label)
    assert (good.encoding, good.text, good.warnings) == ("utf-8", "Žižek lives in Köln", ())


def test_a_declared_charset_with_a_few_bad_bytes_still_holds():
    raw = "张伟在北京工作，李娜在上海。".encode("gb18030")
    found = decoded(raw[:10] + b"\xff" + raw[10:], "gb2312")
    assert (found.encoding, found.replaced_bytes, found.text[:5]) == ("gb18030", 1, "张伟在北京")


def test_a_declaration_of_utf8_holds_where_a_byte_of_it_is_bad():
    found = decoded("Žižek in K".encode() + b"\xf6ln", "UTF-8")
    assert (found.encoding, found.warnings) == ("utf-8", (Warned.BYTES_REPLACED,))
    assert "set aside" not in found.note


def test_a_byte_order_mark_outweighs_a_declaration_and_utf8_puts_it_in_doubt():
    assert decoded("\ufeffKöln".encode("utf-16-le"), "latin1").text == "Köln"
    found = decoded("Žižek in Köln".encode(), "latin1")
    assert (found.encoding, found.warnings) == ("cp1252", (Warned.ENCODING_UNCERTAIN,))
    assert found.note == "read as cp1252 as declared; yet the bytes are UTF-8"


SCRIPTS = {
    "latin": "Angela Merkel met Bob in Berlin.\r\n",
    "cyrillic": "Ангела Меркель приехала в Москву",
    "greek": "Ο Γιώργος Παπανδρέου γεννήθηκε στην Αθήνα",
    "arabic": "ولد نجيب محفوظ في القاهرة وعاش في مصر",
    "hebrew": "בנימין נתניהו נולד בתל אביב",
    "thai": "นายสมชายทำงานที่กรุงเทพมหานคร",
    "hindi": "नरेंद्र मोदी दिल्ली में रहते हैं",
    "chinese": "张伟在北京工作。李娜昨天从上海飞往广州参加会议，王毅也去了。",
    "japanese": "田中さんは東京で働いています。昨日、京都から大阪へ行きました。",
    "korean": "김철수는 서울에서 일합니다. 어제 부산에서 대전으로 갔습니다.",
}


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_utf16_and_utf32_without_a_mark_are_recognised_in_any_script(name, script):
    found = decoded(SCRIPTS[script].encode(name), sizes=[3])
    assert (found.encoding, found.text, found.warnings) == (name, SCRIPTS[script], ())


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1), st.sampled_from(WIDE))
def test_ascii_in_utf16_without_a_mark_is_read_right_or_not_at_all(text, name):
    found = outcome(text.encode(name))
    assert found == "not_text" or found.text == text


def test_what_is_declared_utf16_and_is_plain_text_stays_plain_text():
    assert decoded(b"Bob met Ann in Paris", "utf-16").text == "Bob met Ann in Paris"


def test_iso_2022_jp_is_recognised_by_its_escape_sequences(read):
    raw = '{"text":"Bob"}\n{"text":"田中さんは東京"}\n'.encode("iso2022_jp")
    assert raw.isascii()
    for charset in (None, "iso-2022-jp", "latin1"):
        assert [d.text for d in read("a.jsonl", raw, charset=charset)] == ["Bob", "田中さんは東京"]
    coloured = b"\x1b[31mBob\x1b[0m met Ann"
    assert decoded(coloured).encoding == "utf-8"


def test_utf16_that_is_appended_to_a_long_text_does_not_pass_for_text(read):
    raw = b"Merkel met Obama. " * 5_000 + "Angela Merkel met Bob in Berlin. ".encode("utf-16-le") * 40
    (document,) = read("a.txt", raw)
    assert (document.outcome, document.reason) == ("rejected", "not_text")


def test_a_file_that_is_filled_up_with_nuls_keeps_its_records(read):
    *good, padding = read("a.jsonl", b'{"text":"Bob"}\n' * 70 + b"\0" * 4_096)
    assert {document.text for document in good} == {"Bob"}
    assert (len(good), padding.outcome) == (70, "rejected")
    (text,) = read("a.txt", b"Bob met Ann. " * 20 + b"\0" * 20)
    assert text.outcome == "ok"
