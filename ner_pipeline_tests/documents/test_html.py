import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.documents import ReadLimits
from ner_pipeline.documents.readers import html as html_reader
from ner_pipeline.documents.readers.visible_text import visible_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<table><tr><td>Bob</td><td>Ann</td></tr><tr><th>Joe</table>", "Bob\nAnn\nJoe"),
        ("<b>An</b>na <i>K</i>.", "Anna K."),
        ("Bob\n  <b> met </b>\tAnn", "Bob met Ann"),
        ("<span>Bob</span> <span>Ann</span>", "Bob Ann"),
        ("<p>Bob <p> Ann </p>\n\n<p>Joe", "Bob\nAnn\nJoe"),
        ("<ul><li>Bob<li>Ann</ul>", "Bob\nAnn"),
        ("<h1>Bob</h1>Ann<hr>Joe<div>Max</div>", "Bob\nAnn\nJoe\nMax"),
        ("Bob<br>Ann <br/> <br>Joe", "Bob\nAnn\n\nJoe"),
        ("<div><div><div>Bob</div></div></div><div>Ann", "Bob\nAnn"),
        ("<dl><dt>Bob<dd>Ann</dl>", "Bob\nAnn"),
        ("x<pre>\n a\n   b\n</pre>y", "x\n a\n   b\ny"),
        ("<textarea> a\n b</textarea>c", " a\n b\nc"),
        ("a<script>b</script><style>c</style><noscript>d</noscript><template>e</template>f", "af"),
        ("<head><title>Bob</title><meta name=x></head><body>Ann", "Ann"),
        ("<p hidden>Bob</p><div style='color:red; DISPLAY : none'>Joe</div>Ann", "Ann"),
        ("<div hidden>a<p>b</p></div>c", "c"),
        ("a<!-- Bob -->b<![CDATA[c]]>d", "abd"),
        ("&lt;b&gt; &amp;amp; &eacute;&#xe9;&#233; &#128512; &copy", "<b> &amp; ééé 😀 ©"),
        ("Bob&nbsp;Ann&nbsp; x", "Bob\xa0Ann\xa0 x"),
        ("Mc&shy;Donald a<wbr>b", "Mc\xadDonald ab"),
        ("<select><option>France<option>Chad</select><datalist><option>Mali</datalist>Ann", "Ann"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt></ruby>", "漢kan"),
        ("<p>unclosed <b>bold <p>next</div></table> end", "unclosed bold\nnext end"),
        ("no markup at all", "no markup at all"),
        ("&#xD800;&#0;", "\ufffd\ufffd"),
        ("<svg><text>Bob</text></svg>", "Bob"),
        ("<p> \n </p>", ""),
        ("", ""),
    ],
)
def test_the_text_is_the_one_that_a_reader_of_the_page_sees(read, html, text):
    assert visible_text(html) == text
    (document,) = read("a.html", html.encode())
    assert (document.text, document.byte_offset, document.record) == (text, None, None)


@given(st.text(alphabet="<>/!-&;#= \n\"'abpdivtr\0", max_size=60))
def test_any_markup_has_a_text_without_blanks_in_a_row(read, html):
    (document,) = read("a.html", html.encode())
    if document.outcome == "ok" and "<p" not in html and "<t" not in html:
        assert "  " not in document.text


@pytest.mark.parametrize(
    "declared",
    [
        b"<meta charset=windows-1251>",
        b"<META CHARSET = 'windows-1251'>",
        b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
        b'<?xml version="1.0" encoding="windows-1251"?>',
    ],
)
def test_the_page_says_in_which_charset_it_is(read, declared):
    (document,) = read("a.html", declared + "<p>Анна".encode("cp1251"))
    assert (document.text, document.encoding) == ("Анна", "cp1251")


def test_what_the_uploader_declares_goes_before_what_the_page_says(read):
    (document,) = read("a.html", b"<meta charset=windows-1251><p>Z\xfcrich", charset="windows-1252")
    assert document.text == "Zürich"


def test_what_the_page_says_holds_where_the_declaration_of_its_object_does_not_fit(read):
    """Some servers declare UTF-8 for every page that is uploaded."""
    raw = "<meta charset=windows-1251><p>Анна".encode("cp1251")
    (document,) = read("a.html", raw, charset="utf-8")
    assert (document.text, document.encoding, document.warnings) == ("Анна", "cp1251", ())


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_goes_before_what_the_page_says(read, encoding):
    (document,) = read("a.html", "<meta charset=windows-1251><p>Zürich".encode(encoding))
    assert (document.text, document.had_bom) == ("Zürich", True)


def test_a_page_that_calls_itself_utf16_in_ascii_is_utf8(read):
    assert read("a.html", "<meta charset=utf-16><p>Zürich".encode())[0].text == "Zürich"


def test_without_a_declaration_the_charset_is_told_as_for_any_text(read):
    assert read("a.html", "<p>Zürich 😀".encode())[0].text == "Zürich 😀"


HOSTILE = {
    "deep": "<!-->" + "<div>" * 200_000,
    "never closed": "<rt>" * 150_000,
    "out of scope": "<div><object></div></object>" * 100_000,
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(60_000)) + ">Bob",
}
"""Pages for which every parser of the standard takes time in the square of their length."""


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_page_that_would_take_for_ever_is_rejected(read, kind, monkeypatch):
    monkeypatch.setattr(html_reader, "MAX_CPU_S", 1)
    (document,) = read("a.html", HOSTILE[kind].encode())
    assert (document.outcome, document.reason) == ("rejected", "nested_too_deep")


def test_a_page_that_would_take_all_memory_is_rejected(read, monkeypatch):
    monkeypatch.setattr(html_reader, "MAX_MEMORY_BYTES", 512 * 1024**2)
    (document,) = read("a.html", b"<p>Bob</p>" * 1_500_000)
    assert (document.outcome, document.reason) == ("rejected", "nested_too_deep")


CARELESS = {
    "deep": "<div>" * 3_000 + "Bob" + "</div>" * 3_000,
    "paragraphs": "<p>" * 100_000 + "Bob",
    "table": "<br>" * 100 + "<table>" + "<tr><td>Bob" * 20_000,
    "cells": "<table>" + "<tr><td><div>Bob</td></tr>" * 20_000 + "</table>",
    "script": "<script>" + "'<div>'" * 100_000 + "</script>Bob",
    "comment": "<!--" + "<div>" * 100_000 + "-->Bob",
    "italics": "<i>" * 500 + "Bob",
    "picture": f"<img alt='{'long ' * 1_000}' src='data:{'x' * 100_000}'>Bob",
    "drawing": f"<p>Bob</p><svg><path d='{'M1 2 ' * 23_000}'/></svg>",
    "spans": "<div><span>Bob met Ann</div>\n" * 4_000,
    "ends": "</div>" * 100_000 + "Bob",
}


@pytest.mark.parametrize("kind", CARELESS)
def test_a_page_that_is_only_long_or_careless_is_read(read, kind):
    (document,) = read("a.html", CARELESS[kind].encode())
    assert document.outcome == "ok"
    assert "Bob" in document.text


@pytest.mark.parametrize(
    "head",
    [
        '<!-- <meta charset="iso-8859-1"> --><meta charset="utf-8">',
        '<script>"<meta charset=koi8-r>"</script>',
        '<meta name="description" content="use charset=koi8-r here"><meta charset=utf-8>',
    ],
)
def test_only_what_a_page_declares_counts_as_its_charset(read, head):
    assert read("a.html", f"{head}<p>Müller met Zoë".encode())[0].text == "Müller met Zoë"


def test_a_text_over_the_limit_is_rejected(read):
    (document,) = read("a.html", b"<p>Barack Obama", limits=ReadLimits(max_document_chars=5))
    assert document.reason == "too_large"


def test_markup_does_not_count_as_text(read):
    limits = ReadLimits(max_document_chars=5)
    assert read("a.html", b"<p class='very long indeed'>Bob", limits=limits)[0].text == "Bob"


def test_a_page_whose_tree_would_not_fit_is_rejected(read):
    (document,) = read("a.html", b"<i>" + b"Bob " * 2**22)
    assert (document.outcome, document.reason) == ("rejected", "too_large")
