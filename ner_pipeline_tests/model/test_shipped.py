"""The pipeline that comes along: small, loaded by plain spaCy, and compiled without a changed entity."""

import pytest

from ner_pipeline.inference import load_extractor
from ner_pipeline.inference.made_texts import example_sentences, made_texts
from ner_pipeline.inference.pipeline_files import DEFAULT_MODEL
from ner_pipeline_tests.inference.compiled.odd_texts import odd_texts
from ner_pipeline_tests.inference.compiled.test_equality import both, differing

MOST_BYTES = 20_000_000
LANGUAGES = ("da", "de", "en", "fi", "fr", "hr", "nb", "nl", "pt", "ru", "sk", "sr", "sv", "zh")
SENTENCES = [sentence for language in LANGUAGES for sentence in example_sentences(language)]
CHINESE = "".join(example_sentences("zh"))

TEXTS = {
    "sentences of its languages": SENTENCES,
    "made-up words": list(made_texts(SENTENCES, chars=10_000)),
    "odd white space and marks": odd_texts(30),
    "Chinese without a space": ["王小明在北京大学工作，他来自上海。" * 20, *(CHINESE[n:] for n in range(20))],
    "several scripts in a text": [
        f"{one}{glue}{other}"
        for glue in ("", " ", "\n")
        for one, other in zip(SENTENCES[::3], SENTENCES[::-3], strict=True)
    ],
    "emoji beside names": [
        f"{emoji}{sentence}{emoji}".replace(" ", f" {emoji}", 1)
        for emoji in ("😀", "👨‍👩‍👧", "🇩🇰", "❤️")
        for sentence in SENTENCES[::6]
    ],
    "all capitals and all small": [
        change(sentence) for change in (str.upper, str.lower) for sentence in SENTENCES[::2]
    ],
    "one long line": [" ".join(SENTENCES * 2)],
    "a word without an end": ["Kopenhagen" * 200, "北京" * 400, "@" * 800],
}


@pytest.fixture(scope="module")
def shipped(model_folder):
    return model_folder / DEFAULT_MODEL


@pytest.fixture(scope="module")
def extractors(shipped):
    return both(str(shipped))


def test_plain_spacy_loads_a_recognizer_of_three_labels_and_nothing_more(shipped, loaded_plainly):
    told = loaded_plainly(shipped, "王小明在北京。")
    assert told["pipeline"] == ["tok2vec", "ner"]
    assert set(told["labels"]["ner"]) == {"PER", "LOC", "ORG"}
    assert told["tokens"] == [[*"王小明在北京。"]]


def test_it_is_small_enough_to_come_along(shipped):
    assert sum(file.stat().st_size for file in shipped.rglob("*") if file.is_file()) <= MOST_BYTES


def test_it_is_what_is_loaded_where_no_model_is_named(shipped, extractors):
    compiled, _ = extractors
    assert load_extractor(DEFAULT_MODEL, "cpu").card.version == compiled.card.version


@pytest.mark.parametrize("kind", TEXTS)
def test_both_extractors_find_the_same(kind, extractors):
    assert differing(*extractors, TEXTS[kind]) == []


def test_what_is_compared_holds_entities_of_each_label(extractors):
    found = extractors[0].extract(SENTENCES)
    assert {span.label for spans in found for span in spans} == {"PER", "LOC", "ORG"}


def test_parts_of_chinese_texts_are_found_inside_of_sentences(extractors):
    text = "王小明在北京大学工作，他来自上海。"
    [spans] = extractors[0].extract([text])
    assert spans
    assert all(span.end - span.start < len(text) for span in spans)
