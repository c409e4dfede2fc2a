"""What is not known to be equal is left to spaCy, and the card says in one line what it was."""

import numpy as np
import pytest

spacy = pytest.importorskip("spacy")

from spacy.language import Language  # noqa: E402
from spacy.vectors import Vectors  # noqa: E402

from ner_pipeline.inference import Span, load_extractor  # noqa: E402
from ner_pipeline.inference.compiled.coverage import NotCovered, uncovered  # noqa: E402
from ner_pipeline.inference.compiled.weights import read_weights  # noqa: E402
from ner_pipeline.inference.pipeline_files import find_pipeline  # noqa: E402
from ner_pipeline_tests.inference.compiled.made_pipelines import (  # noqa: E402
    add_recognizer,
    made,
    save,
    shaken,
)
from ner_pipeline_tests.inference.compiled.odd_texts import EDGES  # noqa: E402

TEXTS = [*EDGES, "Angela Merkel left Paris."]


@Language.component("planted_reader")
def planted_reader(doc):
    return doc


class Commas:
    """Splits at commas, which may leave white space in a token."""

    def __init__(self, vocab):
        self.vocab = vocab

    def __call__(self, text):
        words = [word for word in text.split(",") if word]
        return spacy.tokens.Doc(self.vocab, words=words, spaces=[False] * len(words))

    def to_disk(self, path, exclude=()):
        pass

    def from_disk(self, path, exclude=()):
        return self


@spacy.registry.tokenizers("planted.Commas.v1")
def make_commas():
    return lambda nlp: Commas(nlp.vocab)


def beam():
    nlp = spacy.blank("xx")
    nlp.add_pipe("beam_ner", config={"beam_width": 4}).add_label("PER")
    nlp.initialize()
    return nlp


def character_embedding():
    nlp = spacy.blank("xx")
    embed = {"@architectures": "spacy.CharacterEmbed.v2", "width": 16, "rows": 50, "nM": 8, "nC": 4}
    encode = {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": 16, "depth": 1}
    sizes = {"window_size": 1, "maxout_pieces": 2}
    tok2vec = {"@architectures": "spacy.Tok2Vec.v2", "embed": {**embed, "include_static_vectors": False}}
    add_recognizer(nlp, {**tok2vec, "encode": {**encode, **sizes}})
    return shaken(nlp)


def with_a_ruler():
    nlp = made()
    nlp.add_pipe("entity_ruler", before="ner").add_patterns([{"label": "LOC", "pattern": "Paris"}])
    return nlp


def two_recognizers():
    nlp = made()
    nlp.add_pipe("ner", name="second", source=made())
    return nlp


def of_an_unknown_kind():
    nlp = made()
    nlp.add_pipe("planted_reader")
    return nlp


def with_sentences():
    nlp = made()
    nlp.add_pipe("sentencizer", before="ner")
    return nlp


def floret():
    nlp = made(vectors=True)
    data = np.ones((30, 20), dtype=np.float32)
    settings = {"mode": "floret", "hash_count": 2, "minn": 2, "maxn": 3, "hash_seed": 0}
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=data, **settings)
    return nlp


LEFT_TO_SPACY = {
    "beam": (beam, "ner", "ner (beam_ner) runs too"),
    "more state features": (lambda: made(extra_state_tokens=True), "ner", "extra_state_tokens"),
    "Mish": (lambda: made(encode="spacy.MishWindowEncoder.v2"), "ner", "ner uses spacy.MishWindowEncoder.v2"),
    "characters": (character_embedding, "ner", "ner uses spacy.CharacterEmbed.v2"),
    "ruler": (with_a_ruler, "all", "entity_ruler (entity_ruler) runs too"),
    "two recognizers": (two_recognizers, "ner", "2 entity recognizers run"),
    "unknown component": (of_an_unknown_kind, "all", "planted_reader (planted_reader) runs too"),
    "sentences": (with_sentences, "sentencizer,ner", "sentencizer (sentencizer) runs too"),
    "floret": (floret, "ner", "static vectors are no plain table"),
}


@pytest.mark.parametrize("case", LEFT_TO_SPACY)
def test_a_pipeline_that_is_not_covered_is_run_by_spacy(case, tmp_path):
    make, components, why = LEFT_TO_SPACY[case]
    directory = save(make(), tmp_path / "saved")
    extractor = load_extractor(directory, "cpu", components)
    assert extractor.card.extractor == "spacy"
    assert why in extractor.card.why.partition("not compiled: ")[2]
    assert "\n" not in extractor.card.why
    wanted = load_extractor(directory, "cpu", components, prefer="spacy").extract(TEXTS)
    assert extractor.extract(TEXTS) == wanted


def test_a_ruler_that_does_not_run_is_in_nobodys_way(tmp_path):
    directory = save(with_a_ruler(), tmp_path / "saved")
    assert load_extractor(directory, "cpu").card.extractor == "compiled"


def test_an_encoder_that_needs_torch_is_told_from_the_files(tmp_path):
    directory = find_pipeline(save(made(), tmp_path / "saved"))
    config = directory / "config.cfg"
    assert uncovered(directory) == ""
    config.write_text(config.read_text().replace("MaxoutWindowEncoder.v2", "TorchBiLSTMEncoder.v1"))
    assert uncovered(directory) == "ner uses spacy.TorchBiLSTMEncoder.v1"


def with_commas():
    nlp = made()
    nlp.config["nlp"]["tokenizer"] = {"@tokenizers": "planted.Commas.v1"}
    nlp.tokenizer = Commas(nlp.vocab)
    return nlp


def with_space_for_a_token():
    nlp = made()
    nlp.tokenizer.add_special_case("a \n b", [{"ORTH": "a"}, {"ORTH": " \n "}, {"ORTH": "b"}])
    return nlp


OTHER_TOKENIZERS = {
    "ChineseTokenizer": lambda: made("zh"),
    "Commas": with_commas,
    "Tokenizer": with_space_for_a_token,
}


@pytest.mark.parametrize("tokenizer", OTHER_TOKENIZERS)
def test_another_tokenizer_leaves_out_the_look_up_only(tokenizer, tmp_path):
    directory = save(OTHER_TOKENIZERS[tokenizer](), tmp_path / "saved")
    extractor = load_extractor(directory, "cpu")
    assert extractor.card.extractor == "compiled"
    assert f"spaCy tokenizes: {tokenizer}" in extractor.card.why
    texts = [*TEXTS, "a \n b", "a  b,a \n b Paris", "a, \n\n b"]
    assert extractor.extract(texts) == load_extractor(directory, "cpu", prefer="spacy").extract(texts)


def test_labels_that_were_added_after_training_are_not_known_to_be_equal():
    nlp = made()
    nlp.get_pipe("ner").add_label("LATER")
    with pytest.raises(NotCovered, match="labels were added after it was trained"):
        read_weights(nlp, "ner")


def test_what_spacy_cannot_read_leaves_nothing_behind(pipeline):
    extractor = load_extractor(pipeline("plain"), "cpu")
    wanted = extractor.extract(["Angela Merkel left Paris."])
    with pytest.raises(UnicodeEncodeError):
        extractor.extract(["Bob left Rome .", "lone \ud800 surrogate"])
    assert extractor.extract(["Angela Merkel left Paris."]) == wanted
    assert extractor.extract(["", "Angela Merkel left Paris."]) == [[], *wanted]
    assert all(isinstance(span, Span) for span in wanted[0])
