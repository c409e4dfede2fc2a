"""The pipeline that is shipped: the trained one, without what training leaves in it."""

import json

import publish
import pytest
import spacy
from training import set_tokenizer

from ner_pipeline_tests.inference.compiled.made_pipelines import made, save
from ner_pipeline_tests.inference.compiled.odd_texts import odd_texts
from ner_pipeline_tests.inference.compiled.test_equality import both, differing

TEXTS = [
    *odd_texts(20),
    "张伟在北京大学，Zürich 2024年。",
    "l'Allemagne, qu'Anne d’Oslo (DDR)-Amt",
    "UN- BiH. NATO-a. a. J. Москва«Спартак»; -Oslo/Bergen",
]
SEEN = [f"word{number}" for number in range(5_000)]
VERSIONS = ("spacy", "thinc", "numpy")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A pipeline with words and a path that it has from its training, and what is published of it."""
    folder = tmp_path_factory.mktemp("publish")
    nlp = made("xx")
    set_tokenizer(nlp)
    nlp.make_doc(" ".join(SEEN))
    nlp.config["paths"]["train"] = str(folder)
    save(nlp, folder / "trained")
    (folder / "xx_made_up").mkdir()
    (folder / "xx_made_up" / "left_over").touch()
    with pytest.MonkeyPatch.context() as patch:
        # Those of the extra `train` need not be installed.
        patch.setattr(publish, "RECORDED", VERSIONS)
        publish.main(str(folder / "trained"), str(folder / "xx_made_up"), "1.2.3")
    return folder


def _found(nlp, texts):
    return [[(ent.start_char, ent.end_char, ent.label_) for ent in nlp(text).ents] for text in texts]


def test_it_gives_the_entities_of_the_trained_one_where_nothing_of_ours_is(folders, loaded_plainly):
    wanted = _found(spacy.load(folders / "trained"), TEXTS)
    told = loaded_plainly(folders / "xx_made_up", *TEXTS)
    assert [[tuple(entity) for entity in found] for found in told["entities"]] == wanted
    assert sum(map(len, wanted)) > 100


def test_it_is_compiled_with_its_tokenizer_and_no_entity_differs(folders):
    assert differing(*both(str(folders / "xx_made_up")), TEXTS) == []


def test_it_keeps_no_word_that_training_has_seen(folders):
    both = (folders / one / "vocab" / "strings.json" for one in ("trained", "xx_made_up"))
    trained, published = (set(json.loads(file.read_text(encoding="utf-8"))) for file in both)
    assert set(SEEN) <= trained
    assert not set(SEEN) & published


def test_it_is_smaller_and_nothing_of_what_stood_there_is_left(folders):
    both = (folders / one for one in ("trained", "xx_made_up"))
    trained, published = (sum(file.stat().st_size for file in folder.rglob("*")) for folder in both)
    assert published < trained
    assert not (folders / "xx_made_up" / "left_over").exists()


def test_it_names_no_path_of_the_machine_that_trained_it(folders):
    assert str(folders) in (folders / "trained" / "config.cfg").read_text()
    assert not [file for file in _files(folders / "xx_made_up") if str(folders).encode() in file.read_bytes()]


def test_it_carries_its_licence_and_whom_to_name(folders):
    licence = (folders / "xx_made_up" / "LICENSE").read_text(encoding="utf-8")
    assert "CC BY-SA 4.0" in licence
    assert "Universal NER" in licence


def _files(folder):
    return [file for file in folder.rglob("*") if file.is_file()]


def test_it_says_its_version_and_what_it_was_trained_with(folders):
    meta = json.loads((folders / "xx_made_up" / "meta.json").read_text())
    assert (meta["lang"], meta["name"], meta["version"]) == ("xx", "made_up", "1.2.3")
    assert meta["trained_with"]["spacy"] == spacy.__version__
    assert set(meta["trained_with"]) == set(VERSIONS)


def test_its_static_vectors_come_along(tmp_path, monkeypatch):
    monkeypatch.setattr(publish, "RECORDED", VERSIONS)
    save(made("xx", vectors=True), tmp_path / "trained")
    publish.main(str(tmp_path / "trained"), str(tmp_path / "xx_made_up"), "1.0.0")
    trained, published = (spacy.load(tmp_path / one) for one in ("trained", "xx_made_up"))
    assert len(published.vocab.vectors) == len(trained.vocab.vectors) > 0
    assert _found(published, TEXTS) == _found(trained, TEXTS)
