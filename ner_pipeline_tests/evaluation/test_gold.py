"""Gold files of every usual form, well made and not."""

import os
import re
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ner_pipeline.errors import GoldError
from ner_pipeline.evaluation.gold import parse_gold, read_gold

UNER = """\
# newdoc id = a
# sent_id = a-0001
# text = Folha diz: PT  e O
1\tFolha\tB-ORG\t-\tborje
2\tdiz\tO\t-\t-
3\t:\tO\t-\t-
4\tPT\tB-ORG\tB-OTH\t-
5\te\t-\tB-DRV\t-
6\tO\tO\t-\t-

# sent_id = a-0002
# text = 他在北京
1\t他\tO\t-\t-
2\t在\tB-O\t-\t-
3\t北京\tI-LOC\t-\t-
"""


def entities(text, spans):
    return [(text[span.start : span.end], span.label) for span in spans]


def read(lines):
    """Give the text and the entities of each sentence."""
    return [(gold.text, entities(gold.text, gold.spans)) for gold in parse_gold(lines.splitlines(True), "g")]


def write(folder, content, name="gold.iob2"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_file_of_universal_ner_gives_its_texts_as_they_were_written():
    assert read(UNER) == [
        ("Folha diz: PT  e O", [("Folha", "ORG"), ("PT", "ORG")]),
        ("他在北京", [("北京", "LOC")]),
    ]


def test_a_text_that_its_tokens_do_not_make_is_replaced_by_one_that_they_do():
    assert read("# text = no Brasil\n1\tem\tO\t-\t-\n2\to\tO\t-\t-\n3\tBrasil\tB-LOC\t-\t-\n") == [
        ("em o Brasil", [("Brasil", "LOC")])
    ]


def test_numbered_tokens_may_have_a_second_layer_of_tags():
    assert read("#\tsource\n1\tBerlin\tB-LOC\tB-ORG\n2\t!\tO\tO\n") == [("Berlin !", [("Berlin", "LOC")])]


@pytest.mark.parametrize("first", [0, 1, 17])
@pytest.mark.parametrize("rest", ["", "\tO", "\tO\t-", "\tx\ty"], ids=len)
@pytest.mark.parametrize("separator", ["\t", " "], ids=["tabs", "blanks"])
def test_tokens_are_numbered_from_any_number_and_with_any_columns_behind_the_tag(first, rest, separator):
    lines = f"{first}\tKim\tB-PER{rest}\n{first + 1}\tOlsen\tI-PER{rest}\n\n{first}\tOslo\tB-LOC{rest}\n"
    assert read(lines.replace("\t", separator)) == [
        ("Kim Olsen", [("Kim Olsen", "PER")]),
        ("Oslo", [("Oslo", "LOC")]),
    ]


def test_numbered_tokens_may_have_other_columns_in_front_of_the_tag():
    lines = "1\tKim\tNNP\tB-PER\n2\tlaughs\tVBZ\tO\n"
    assert read(lines) == [("Kim laughs", [("Kim", "PER")])]


def test_what_stands_behind_the_tag_may_differ_from_line_to_line():
    assert read("1\tWhere\tO\n2\tis\tO\n3\tOslo\tB-LOC\t-\tstephen\n") == [
        ("Where is Oslo", [("Oslo", "LOC")])
    ]


def test_a_token_that_is_a_number_does_not_make_a_file_numbered():
    first = "1\tCD\tB-NP\tO\nKim\tNNP\tB-NP\tB-PER\n"
    assert read(first) == [("1 Kim", [("Kim", "PER")])]
    assert read("1984\tCD\tB-NP\tB-DATE\n") == [("1984", [("1984", "DATE")])]
    assert read("7\tCD\tB-NP\tO\n9\tCD\tI-NP\tB-X\n") == [("7 9", [("9", "X")])]


def test_after_a_sentence_of_a_1_alone_the_next_one_tells_whether_it_is_a_number():
    alone = "# id = a\n1\tCD\tB-NP\tO\n\n"
    assert read(f"{alone}Kim\tNNP\tB-NP\tB-PER\n") == [("1", []), ("Kim", [("Kim", "PER")])]
    assert read(f"{alone}# id = b\n1\tKim\tB-PER\tO\n2\t!\tO\tO\n") == [
        ("CD", [("CD", "NP")]),
        ("Kim !", [("Kim", "PER")]),
    ]


def test_sentences_of_one_numbered_token_each_are_numbered():
    assert read("1\tKim\tB-PER\n\n1\tOslo\tB-LOC\n") == [
        ("Kim", [("Kim", "PER")]),
        ("Oslo", [("Oslo", "LOC")]),
    ]


def test_a_file_of_conll_2003_has_the_token_first_and_the_tag_last():
    lines = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\nUN NNP I-NP I-ORG\n"
    assert read(lines) == [("EU rejects", [("EU", "ORG")]), ("UN", [("UN", "ORG")])]


def test_a_document_start_separates_without_empty_lines_too():
    assert read("-DOCSTART-\tO\na\tO\n-DOCSTART-\tO\nb\tB-X\n") == [("a", []), ("b", [("b", "X")])]


def test_a_hashtag_is_a_token_and_a_comment_is_none():
    lines = "# file:\tp1\n#\tO\n#farms\tB-ORG\nin\tO\n# a remark\nUtah\tB-LOC\n"
    assert read(lines) == [("# #farms in Utah", [("#farms", "ORG"), ("Utah", "LOC")])]


def test_a_hashtag_with_a_bad_tag_is_no_comment():
    for lines in ("#farms\tPER\nin\tO\n", "#farms PER\nin O\n", "#\tPER\nin\tO\n", "in\tO\n\n#farms\tPER\n"):
        with pytest.raises(GoldError, match="'PER' is no tag"):
            read(lines)
    assert read("#begin document (a); part 000\na\tB-X\n#end document\n") == [("a", [("a", "X")])]


def test_a_comment_that_ends_like_a_tag_is_none_at_the_begin_of_a_sentence():
    assert read("# text = Banda O\nBanda\tB-ORG\nO\tI-ORG\n") == [("Banda O", [("Banda O", "ORG")])]


def test_a_token_may_hold_blanks_where_columns_are_separated_by_tabs_and_where_not():
    assert read("a\tO\nNew York \tB-LOC\n") == [("a New York", [("New York", "LOC")])]
    assert read("a O\nNew York B-LOC\n") == [("a New York", [("New York", "LOC")])]


def test_several_blanks_between_columns_count_as_one():
    assert read("EU   NNP  B-ORG\na    DT   O\n") == [("EU a", [("EU", "ORG")])]


def test_a_no_break_space_is_part_of_a_token():
    assert read("a O\n10\u00a0000 B-X\n") == [("a 10\u00a0000", [("10\u00a0000", "X")])]


def test_a_token_of_nothing_is_left_out_unless_it_is_in_an_entity():
    assert read("a\tB-X\n\tO\n \tO\nb\tO\n") == [("a b", [("a", "X")])]
    with pytest.raises(GoldError, match="g:2: there is an entity without a token"):
        read("a\tB-X\n\tI-X\n")


def test_lines_without_an_empty_one_are_one_sentence():
    [(text, found)] = read("".join(f"w{number} {'O' if number % 2 else 'B-X'}\n" for number in range(5_000)))
    assert (text.count(" "), len(found)) == (4_999, 2_500)


@pytest.mark.parametrize("encode", [str.encode, lambda text: text.replace("\n", "\r\n").encode("utf-8-sig")])
def test_a_byte_order_mark_and_line_ends_of_windows_change_nothing(tmp_path, encode):
    path = write(tmp_path, encode(UNER))
    assert [gold.text for gold in read_gold(path)] == ["Folha diz: PT  e O", "他在北京"]


def test_a_text_is_named_by_its_file_and_the_line_of_its_first_token(tmp_path):
    assert [gold.name for gold in read_gold(write(tmp_path, UNER))] == ["gold.iob2:4", "gold.iob2:13"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a O\nb PER\n", "gold.iob2:2: 'PER' is no tag such as O, B-PER or I-PER, in 'b PER'"),
        ("a\tO\n\nb\n", "gold.iob2:3: the number of columns is 1 and should be 2, in 'b'"),
        ("word\n", "gold.iob2:1: the number of columns is 1 and should be 2, in 'word'"),
        ("a\tO\nb\tNN\tO\n", "gold.iob2:2: the number of columns is 3 and should be 2, in"),
        (
            "1\ta\tO\n2\tb\tO\n3-4\tzum\tO\n",
            "gold.iob2:3: the tokens of this file are numbered, and '3-4' is no",
        ),
        ("1\ta\tO\n2\tb\tO\n2.1\tb\tO\n", "gold.iob2:3: the tokens of this file are numbered, and '2.1' is"),
        ("1\ta\tO\n2\tb\tO\n\nKim\tNNP\tO\n", "gold.iob2:4: the tokens of this file are numbered, and 'Kim'"),
        ("1\ta\tO\n2\tb\tO\n#c\tO\t-\n", "gold.iob2:3: the tokens of this file are numbered, and '#c' is"),
        ("a\tO\nb\tO\n", "there is no entity in it"),
        ("", "there is no entity in it"),
        ("# nothing = more\n", "there is no entity in it"),
        (b"\xff\xfe\x00", r"neither UTF-8 \(byte 0\) nor, by its name, a DocBin"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(tmp_path, content, message):
    with pytest.raises(GoldError, match=message):
        list(read_gold(write(tmp_path, content)))


@pytest.mark.parametrize("name", ["none.iob2", "none.spacy"])
def test_a_file_that_is_not_there_is_named(tmp_path, name):
    with pytest.raises(GoldError, match=rf"{name}: No such file"):
        list(read_gold(tmp_path / name))


def doc_of(words, entities):
    doc = Doc(Vocab(), words=words)
    doc.set_ents([doc.char_span(start, end, label) for start, end, label in entities])
    return doc


def test_a_docbin_gives_its_texts_and_entities(tmp_path):
    docs = [doc_of(["Kim", "lives", "in", "Oslo"], [(0, 3, "PER"), (13, 17, "LOC")]), doc_of(["a"], [])]
    DocBin(docs=docs).to_disk(tmp_path / "gold.spacy")
    first, second = read_gold(tmp_path / "gold.spacy")
    assert entities(first.text, first.spans) == [("Kim", "PER"), ("Oslo", "LOC")]
    assert (second.text, second.spans, second.name) == ("a ", (), "gold.spacy:2")


def test_a_doc_that_nobody_has_annotated_is_refused(tmp_path):
    DocBin(docs=[doc_of(["Kim"], [(0, 3, "PER")]), spacy.blank("en")("Kim")]).to_disk(tmp_path / "g.spacy")
    with pytest.raises(GoldError, match=r"g\.spacy:2: this Doc has tokens without entity annotation"):
        list(read_gold(tmp_path / "g.spacy"))


@pytest.mark.parametrize(
    "content", [b"", b"a O\n", b"x\x9c\x03\x00\x00\x00\x00\x01"], ids=["empty", "iob", "zlib"]
)
def test_bytes_that_are_no_docbin_are_refused(tmp_path, content):
    with pytest.raises(GoldError, match=r"gold\.spacy: not a DocBin"):
        list(read_gold(write(tmp_path, content, "gold.spacy")))


def uner_test_files():
    folder = os.environ.get("NER_CORPORA", "")
    return sorted(Path(folder).glob("UNER_*/*-test.iob2")) if folder else []


def count_entities(lines):
    """Count every B, and every I that goes on with nothing."""
    count, before = 0, "O"
    for line in lines:
        columns = line.split("\t")
        tag = columns[2] if len(columns) > 2 else "O"
        count += tag.startswith("B-") or (tag.startswith("I-") and before[2:] != tag[2:])
        before = tag
    return count


def test_the_test_files_of_universal_ner_are_read_without_loss():
    paths = uner_test_files()
    if not paths:
        pytest.skip("NER_CORPORA names no folder with UNER_*/*-test.iob2")
    for path in paths:
        lines = path.read_text(encoding="utf-8").split("\n")
        texts = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
        gold = list(read_gold(path))
        assert [text.text for text in gold] == texts
        assert sum(len(text.spans) for text in gold) == count_entities(lines) > 0
        assert all(
            re.fullmatch(r"\S.*\S|\S", text.text[s.start : s.end]) for text in gold for s in text.spans
        )
