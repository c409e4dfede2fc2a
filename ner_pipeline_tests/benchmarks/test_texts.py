"""The texts of the benchmark: the same for everybody, each record another one, and never wanting."""

import pytest

from benchmarks import texts
from benchmarks.sizes import SIZES


@pytest.fixture(autouse=True)
def _read_anew(monkeypatch):
    monkeypatch.delenv("NER_CORPORA", raising=False)
    monkeypatch.setattr(texts, "MADE_CHARS", 60_000)
    texts.load_texts.cache_clear()
    yield
    texts.load_texts.cache_clear()


def test_without_a_novel_texts_are_made_and_say_so():
    made = texts.load_texts()
    assert made.name == "made from examples/"
    assert made.chars >= 60_000


def test_with_a_novel_its_paragraphs_are_the_texts(tmp_path, monkeypatch):
    novel = tmp_path / "long_texts" / "War-and-Peace_2600.txt"
    novel.parent.mkdir()
    novel.write_text("\ufeffWell, Prince,\nso Genoa\n\n\n \nAnna Pavlovna\n\n", encoding="utf-8")
    monkeypatch.setenv("NER_CORPORA", str(tmp_path))
    assert texts.load_texts() == texts.Texts(novel.name, ("Well, Prince,\nso Genoa", "Anna Pavlovna"))


def test_a_share_comes_from_all_over_the_texts():
    whole = texts.Texts("numbers", tuple(map(str, range(10))))
    assert whole.share(0.5).texts == ("0", "2", "4", "6", "8")
    assert whole.share(1.0) == whole
    assert len(whole.share(0.001).texts) == 1


def test_records_are_as_many_as_asked_for_and_all_different():
    made = list(texts.records(500))
    assert len(made) == len(set(made)) == 500
    assert {len(record.split()) for record in made} == {texts.RECORD_WORDS}


@pytest.mark.proof
def test_the_texts_are_long_enough_for_all_records(monkeypatch):
    monkeypatch.undo()
    texts.load_texts.cache_clear()
    count = SIZES["full"].records
    assert len(set(texts.records(count))) == count
