"""The scripts that a model reads, and texts of another one."""

import unicodedata
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.errors import ModelError
from ner_pipeline.inference import scripts as module
from ner_pipeline.inference.pipeline_files import PipelineFiles
from ner_pipeline.inference.scripts import describe_mismatch, foreign_script, model_scripts


def pipeline(**meta):
    return PipelineFiles(Path("model"), {}, meta)


@pytest.mark.parametrize(
    ("lang", "expected"),
    [
        ("en", ("Latn",)),
        ("el", ("Grek",)),
        ("uk", ("Cyrl",)),
        ("zh", ("Hani",)),
        ("ja", ("Hani", "Hira", "Kana")),
        ("ko", ("Hang", "Hani")),
        ("xx", ()),
        ("tlh", ()),
    ],
)
def test_a_model_that_lists_none_reads_the_scripts_of_its_language(lang, expected):
    assert model_scripts(pipeline(lang=lang)) == expected


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (["Latn"], ("Latn",)),
        (["latin", "CYRL", "Latn"], ("Cyrl", "Latn")),
        (["Old Italic", "canadian_aboriginal"], ("Cans", "Ital")),
        (["Jpan"], ("Hani", "Hira", "Kana")),
        (["Hans"], ("Hani",)),
        ([], ()),
    ],
    ids=["code", "any-case", "two-words", "mixture", "variant", "none"],
)
def test_a_model_says_which_scripts_it_reads(listed, expected):
    assert model_scripts(pipeline(lang="en", ner_scripts=listed)) == expected


@pytest.mark.parametrize(
    ("listed", "words"),
    [(["Latn", "Elvish"], "Elvish"), ("Latn", "list"), ([7], "7"), (None, "list"), ({"Latn": 1}, "list")],
    ids=["unknown", "text", "number", "null", "mapping"],
)
def test_scripts_that_nobody_knows_are_a_model_error_with_file_and_value(listed, words):
    with pytest.raises(ModelError, match=words) as info:
        model_scripts(pipeline(ner_scripts=listed))
    assert "meta.json" in str(info.value)
    assert repr(listed) in str(info.value)


def test_every_script_of_the_languages_and_the_table_is_known_to_the_pattern_language():
    everything = "".join(map(chr, range(0x20000)))
    for code, name in module._NAMES.items():
        letter = regex.search(rf"\p{{Script={code}}}", everything)[0]
        assert regex.match(rf"\p{{Script={name}}}", letter)
    assert {code for codes in module._SCRIPTS_OF.values() for code in codes} <= set(module._NAMES)


def test_every_letter_that_python_knows_has_one_script_or_is_shared():
    letters = (chr(point) for point in range(0x2FFFF) if unicodedata.category(chr(point)).startswith("L"))
    shared = regex.compile(r"[\p{Script=Common}\p{Script=Inherited}]")
    for letter in list(letters)[::7]:
        assert bool(module._script_of(letter)) is not bool(shared.match(letter))


@pytest.mark.parametrize(
    ("text", "scripts", "expected"),
    [
        ("ذهبت أنجيلا إلى برلين", ("Latn",), "Arabic"),
        ("Иван живёт в Москве с Bob", ("Latn",), "Cyrillic"),
        ("Ivan lives in Москва", ("Latn",), ""),
        ("张伟在北京工作", ("Hani", "Hira", "Kana"), ""),
        ("张伟昨天在北京工作了", ("Latn",), "Han"),
        ("张伟在北京工作", ("Latn",), "Han"),
        ("αβγ = 5", ("Latn",), ""),
        ("1234 5678 ٣٤٥٦ 😀😀😀😀😀😀😀😀😀", ("Latn",), ""),
        ("ذهبت أنجيلا إلى برلين", (), ""),
        ("", ("Latn",), ""),
        ("Ελλάδα Ελλάδα Москва", ("Latn",), "Greek"),
        ("abcdefgh" + "абвгдежз", ("Latn",), ""),
    ],
    ids=[
        "arabic",
        "cyrillic",
        "latin",
        "ja",
        "han",
        "short",
        "few",
        "digits",
        "unknown",
        "empty",
        "greek",
        "half",
    ],
)
def test_a_text_is_foreign_when_most_of_its_letters_are(text, scripts, expected):
    assert foreign_script(text, scripts) == expected


@given(st.text(max_size=200), st.integers(1, 5))
def test_no_text_is_foreign_to_a_model_that_reads_every_script(text, times):
    assert foreign_script(text * times, tuple(module._NAMES)) == ""


def test_a_long_text_is_judged_by_places_all_over_it():
    foreign = "Привет мир " * 200_000
    assert foreign_script("A short English preface. " + foreign, ("Latn",)) == "Cyrillic"
    assert foreign_script(foreign[:300_000] + "Hello world " * 200_000, ("Latn",)) == ""


@pytest.mark.parametrize("behind", ["456 " * 5_000, "456 " * 5_000 + "Hi"], ids=["digits", "two-letters"])
def test_the_letters_of_a_long_text_are_found_wherever_they_stand(behind):
    assert foreign_script("123 " * 5_000 + "Россия " * 100 + behind, ("Latn",)) == "Cyrillic"
    assert foreign_script("123 " * 5_000 + "Russia " * 100 + behind, ("Latn",)) == ""
    assert foreign_script("123 " * 5_000 + behind, ("Latn",)) == ""


def test_the_sentence_names_both_sides():
    sentence = describe_mismatch("Arabic", ("Cyrl", "Latn"))
    assert sentence == "most letters are Arabic; the model reads Cyrillic, Latin"
