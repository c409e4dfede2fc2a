"""Pipelines that look as if they were of the covered kind, and are not: each gives what spaCy gives."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

spacy = pytest.importorskip("spacy")

from spacy.tokens import Doc  # noqa: E402

from ner_pipeline.inference import load_extractor  # noqa: E402
from ner_pipeline.inference.compiled.extractor import CompiledExtractor  # noqa: E402
from ner_pipeline.inference.device import Device  # noqa: E402
from ner_pipeline_tests.inference.compiled.made_pipelines import (  # noqa: E402
    LABELS,
    add_recognizer,
    made,
    save,
    shaken,
)
from ner_pipeline_tests.inference.compiled.odd_texts import odd_texts  # noqa: E402

TEXTS = [*odd_texts(12), "Angela Merkel left Paris."]


class Sentences:
    """Splits at blanks, and makes each token a sentence."""

    def __init__(self, vocab):
        self.vocab = vocab

    def __call__(self, text):
        words = text.split(" ") if text else []
        words = [word for word in words if word]
        return Doc(self.vocab, words=words, sent_starts=[True] * len(words))

    def to_disk(self, path, exclude=()):
        pass

    def from_disk(self, path, exclude=()):
        return self


@spacy.registry.tokenizers("planted.Sentences.v1")
def make_sentences():
    return lambda nlp: Sentences(nlp.vocab)


def equal_to_spacy(directory, components="ner"):
    """Check that the entities are spaCy's, and give the card."""
    extractor = load_extractor(directory, "cpu", components)
    wanted = load_extractor(directory, "cpu", components, prefer="spacy").extract(TEXTS)
    assert any(wanted)
    assert extractor.extract(TEXTS) == wanted
    return extractor.card


def test_a_beam_is_read_where_spacy_reads_it(tmp_path):
    directory = save(made(), tmp_path / "saved")
    settings = tmp_path / "saved" / "ner" / "cfg"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"beam_width": 4, "beam_density": 0.0}))
    card = equal_to_spacy(directory)
    assert "searches with a beam of 4" in card.why


def test_with_two_shared_encoders_spacy_decides_which_one_is_heard(tmp_path):
    nlp = spacy.blank("xx")
    embed = {"@architectures": "spacy.MultiHashEmbed.v2", "width": 16, "attrs": ["NORM"], "rows": [50]}
    encode = {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": 16, "depth": 1}
    parts = {
        "embed": {**embed, "include_static_vectors": False},
        "encode": {**encode, "window_size": 1, "maxout_pieces": 2},
    }
    for name in ("first", "second"):
        model = {"@architectures": "spacy.Tok2Vec.v2", **parts}
        nlp.add_pipe("tok2vec", name=name, config={"model": model})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16, "upstream": "first"}
    add_recognizer(nlp, listener, LABELS)
    card = equal_to_spacy(save(shaken(nlp), tmp_path / "saved"), "first,second,ner")
    assert "2 tok2vec components run before it" in card.why


@pytest.mark.parametrize("attribute", ["spacy", 67, "norm"])
def test_attributes_may_be_named_in_any_way_that_spacy_knows(attribute, tmp_path):
    card = equal_to_spacy(save(made(attrs=("SHAPE", attribute)), tmp_path / "saved"))
    assert card.extractor == "compiled"


def test_an_attribute_that_depends_on_the_place_is_left_to_spacy(tmp_path):
    card = equal_to_spacy(save(made(attrs=("NORM", "IDX")), tmp_path / "saved"))
    assert "it embeds IDX" in card.why


def test_sentences_that_a_tokenizer_marks_are_heeded(tmp_path):
    nlp = made()
    nlp.config["nlp"]["tokenizer"] = {"@tokenizers": "planted.Sentences.v1"}
    nlp.tokenizer = Sentences(nlp.vocab)
    card = equal_to_spacy(save(nlp, tmp_path / "saved"))
    assert card.extractor == "compiled"


def test_a_network_that_sees_farther_than_windows_overlap_is_left_to_spacy(tmp_path):
    card = equal_to_spacy(save(made(depth=8, window=3, width=8), tmp_path / "saved"))
    assert "a token sees 24 others on each side" in card.why


def test_a_fault_in_the_middle_of_a_batch_leaves_nothing_behind(pipeline, monkeypatch):
    extractor = load_extractor(pipeline("plain"), "cpu")
    wanted = extractor.extract(TEXTS)
    with monkeypatch.context() as broken:
        broken.setattr(extractor._network, "add_types", planted_fault)
        with pytest.raises(MemoryError):
            extractor.extract(["Words that nobody has seen before."])
    assert extractor.extract(TEXTS) == wanted


def planted_fault(attributes):
    raise MemoryError


def test_the_kernels_are_compiled_where_nothing_can_be_kept(monkeypatch):
    from numba.core import caching

    from ner_pipeline.inference.compiled import kernels

    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    assert kernels._compiled(lambda x: x + 1)(1) == 2


def test_a_network_without_windows_needs_no_padding(tmp_path):
    directory = save(made(window=0), tmp_path / "saved")
    assert equal_to_spacy(directory).extractor == "compiled"
    assert load_extractor(directory, "cpu").extract([]) == []
    assert load_extractor(directory, "cpu").extract(["", " "]) == [[], []]


def test_a_pipeline_whose_files_are_gone_goes_on_as_it_was(tmp_path):
    directory = Path(save(made(), tmp_path / "saved"))
    extractor = CompiledExtractor(directory, "ner", Device("cpu", "a test"), held_tokens=10)
    wanted = extractor.extract(TEXTS)
    shutil.rmtree(directory)
    assert extractor.extract(TEXTS) == wanted
    assert extractor.extract(TEXTS) == wanted


def test_threads_take_turns(pipeline):
    extractor = load_extractor(pipeline("plain"), "cpu")
    batches = [[f"{text} {number}" for text in TEXTS] for number in range(8)]
    wanted = [extractor.extract(batch) for batch in batches]
    fresh = load_extractor(pipeline("plain"), "cpu")
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(fresh.extract, batches)) == wanted
