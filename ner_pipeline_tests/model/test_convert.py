"""Writing the corpora as spaCy reads them: on the pipeline's own tokens, not on those of the files."""

import convert
import pytest
import spacy
from corpora import Corpus, Part
from spacy.tokens import DocBin

from ner_pipeline.errors import GoldError
from ner_pipeline.evaluation.gold import read_gold

CHINESE = """\
# text = 他在北京大学。
1\t他\tO\t-\ta
2\t在\tO\t-\ta
3\t北京大学\tB-ORG\t-\ta
4\t。\tO\t-\ta
"""
GLUED = """\
# text = vanSomeren to Oslo-Bergen!
1\tvan\tO\t-\ta
2\tSomeren\tB-PER\t-\ta
3\tto\tO\t-\ta
4\tOslo\tB-LOC\t-\ta
5\t-Bergen!\tO\t-\ta
"""


@pytest.fixture
def converted(tmp_path, monkeypatch):
    """Convert one file of Universal NER, and give its Docs."""

    def convert_file(content):
        monkeypatch.setattr(convert, "CORPORA", (Corpus("xx_a", train=(Part("a.iob2"),)),))
        (tmp_path / "a.iob2").write_text(content, encoding="utf-8")
        convert.main(str(tmp_path), str(tmp_path / "corpus"))
        stored = DocBin().from_disk(tmp_path / "corpus" / "train" / "xx_a.spacy")
        return list(stored.get_docs(spacy.blank("xx").vocab))

    return convert_file


def test_a_chinese_text_is_stored_by_characters(converted):
    [doc] = converted(CHINESE)
    assert [token.text for token in doc] == [*"他在北京大学。"]
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("北京大学", "ORG")]


def test_an_entity_in_a_token_gets_the_whole_token(converted):
    [doc] = converted(GLUED)
    assert doc.text == "vanSomeren to Oslo-Bergen!"
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("vanSomeren", "PER"), ("Oslo", "LOC")]


def test_two_entities_in_one_token_leave_one(converted):
    [doc] = converted("# text = AbcDef\n1\tAbc\tB-PER\t-\ta\n2\tDef\tB-ORG\t-\ta\n")
    assert [ent.text for ent in doc.ents] == ["AbcDef"]


def test_a_line_that_cannot_be_read_ends_all(converted):
    with pytest.raises(GoldError, match=r"a\.iob2:2"):
        converted("Oslo\tB-LOC\nno tag\tB\n")


def test_a_folder_that_is_not_there_is_named_with_the_variable_to_set(tmp_path):
    with pytest.raises(SystemExit, match=r"NER_CORPORA=.*nowhere"):
        convert.main(str(tmp_path / "nowhere"), str(tmp_path))


def test_what_scores_a_pipeline_has_the_edges_that_people_marked(tmp_path, monkeypatch):
    monkeypatch.setattr(convert, "CORPORA", (Corpus("xx_a", test=(Part("a.iob2"),)),))
    (tmp_path / "a.iob2").write_text(GLUED, encoding="utf-8")
    convert.main(str(tmp_path), str(tmp_path / "corpus"))
    [gold] = read_gold(tmp_path / "corpus" / "test" / "xx_a.spacy")
    assert gold.text == "vanSomeren to Oslo-Bergen!"
    assert [gold.text[span.start : span.end] for span in gold.spans] == ["Someren", "Oslo"]


def test_a_file_of_ones_own_is_converted_too(tmp_path):
    (tmp_path / "own.iob").write_text("Kim\tB-CHEF\nkocht\tO\n\n北\tB-CITY\n京\tI-CITY\n", encoding="utf-8")
    convert.main(str(tmp_path / "own.iob"), str(tmp_path / "corpus" / "own.spacy"))
    texts = list(read_gold(tmp_path / "corpus" / "own.spacy"))
    assert [(gold.text, [span.label for span in gold.spans]) for gold in texts] == [
        ("Kim kocht", ["CHEF"]),
        ("北京", ["CITY"]),
    ]
