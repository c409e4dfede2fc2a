"""Near ties: all that rounding might decide is told, and then decided by spaCy."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

spacy = pytest.importorskip("spacy")

from ner_pipeline.inference import load_extractor  # noqa: E402
from ner_pipeline.inference.compiled import decoder, referee  # noqa: E402
from ner_pipeline.inference.compiled import extractor as compiled_extractor  # noqa: E402
from ner_pipeline.inference.compiled.extractor import CompiledExtractor  # noqa: E402
from ner_pipeline.inference.compiled.network import Network  # noqa: E402
from ner_pipeline.inference.compiled.weights import read_weights  # noqa: E402
from ner_pipeline.inference.device import Device  # noqa: E402
from ner_pipeline_tests.inference.compiled.odd_texts import ATOMS  # noqa: E402

CPU = Device("cpu", "a test")
NOISE = 1e-3
ENOUGH = 1e30
"""A share of the largest score that makes every decision a tie."""


@pytest.fixture(scope="module")
def texts(full):
    """Many windows of the referee each, with nothing at which it would ask for the whole text anyway."""
    chance = random.Random(1)
    words = [atom for atom in ATOMS if len(atom) < 20]
    return [" ".join(chance.choices(words, k=1_500)) for _ in range(100 if full else 8)]


@pytest.fixture
def asked(monkeypatch):
    """The ties that were told, as (text, character); they are settled as ever."""
    told = []

    def settle(nlp, text, spans, ties):
        told.extend((text, tie) for tie in ties)
        return referee.settle(nlp, text, spans, ties)

    monkeypatch.setattr(compiled_extractor, "settle", settle)
    return told


@pytest.mark.parametrize("kind", ["plain", "endless"])
def test_when_every_decision_is_a_tie_spacy_decides_all(kind, pipeline, texts, asked, monkeypatch):
    wanted = load_extractor(pipeline(kind), "cpu", prefer="spacy").extract(texts)
    monkeypatch.setattr(decoder, "TIE", ENOUGH)
    assert load_extractor(pipeline(kind), "cpu").extract(texts) == wanted
    assert {text for text, _ in asked} == set(texts)


@pytest.mark.parametrize("kind", ["plain", pytest.param("many labels", marks=pytest.mark.proof)])
def test_a_network_that_rounds_coarsely_is_put_right(kind, pipeline, texts, asked, monkeypatch):
    wanted = load_extractor(pipeline(kind), "cpu", prefer="spacy").extract(texts)
    network = coarse(read_weights(spacy.load(pipeline(kind)), "ner"))
    extractor = CompiledExtractor(Path(pipeline(kind)), "ner", CPU, network=network)
    monkeypatch.setattr(decoder, "TIE", 0)
    assert extractor.extract(texts) != wanted
    assert not asked
    monkeypatch.setattr(decoder, "TIE", 5 * NOISE)
    assert extractor.extract(texts) == wanted
    assert 0 < len(asked) < sum(len(text.split()) for text in texts) / 10


def test_a_tie_in_the_second_text_leaves_the_others_alone(pipeline, monkeypatch, asked):
    extractor = load_extractor(pipeline("plain"), "cpu")
    texts = ["Angela Merkel left Paris.", "John Smith", "He met Foo & Sons in New York."]
    wanted = extractor.extract(texts)

    def tie_at_line_of_second(*arguments):
        found = ask(*arguments)
        return np.concatenate([found, [[1, 0, 1, compiled_extractor.DOUBT]]]).astype(np.int32)

    ask = extractor._network.find
    monkeypatch.setattr(extractor._network, "find", tie_at_line_of_second)
    assert extractor.extract(texts) == wanted
    assert asked == [("John Smith", 0)]


def test_ties_are_rare(model, asked):
    sentence = "Angela Merkel met Barack Obama in Berlin on {} May 2011, but not the boss of Acme {}. "
    text = "".join(sentence.format(number % 30 + 1, number) for number in range(200))
    assert load_extractor(model, "cpu").extract([text])[0]
    assert len(asked) <= 2


def coarse(weights):
    """Give the network of these weights with some noise on them, as if it rounded so badly."""
    hidden = weights.decoder.hidden
    errors = np.random.default_rng(3).standard_normal(hidden.weights.shape, dtype=np.float32)
    noisy = replace(hidden, weights=hidden.weights * (1 + np.float32(NOISE) * errors))
    return Network(replace(weights, decoder=replace(weights.decoder, hidden=noisy)))
