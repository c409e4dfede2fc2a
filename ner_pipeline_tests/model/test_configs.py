"""The two training configs: spaCy accepts them, and they build the networks that model/README.md names."""

import pytest
import spacy
from corpora import CORPORA
from spacy.cli.debug_config import debug_config

from ner_pipeline.inference.components import active_components, cut_rule
from ner_pipeline.inference.pipeline_files import read_pipeline

CONFIGS = ["config.cfg", "config_slim.cfg"]
PATHS = {"paths.train": "train", "paths.dev": "dev"}


@pytest.fixture(scope="module")
def config(model_folder):
    """Give a config with its variables filled in."""
    return lambda name: spacy.util.load_config(model_folder / name, PATHS, interpolate=True)


@pytest.mark.parametrize("name", CONFIGS)
def test_spacy_accepts_the_config_with_the_code_that_it_names(name, model_folder):
    debug_config(model_folder / name, overrides=PATHS)


@pytest.mark.parametrize(
    ("name", "width", "depth", "window", "vectors"),
    [(CONFIGS[0], 256, 8, 1, True), (CONFIGS[1], 128, 4, 2, False)],
)
def test_the_network_has_the_stated_size(name, width, depth, window, vectors, config):
    model = config(name)["components"]["tok2vec"]["model"]
    encode, embed = model["encode"], model["embed"]
    assert (encode["width"], encode["depth"], encode["window_size"]) == (width, depth, window)
    assert embed["width"] == width
    assert embed["include_static_vectors"] is vectors


@pytest.mark.parametrize("section", ["nlp", "initialize", "system"])
def test_both_begin_with_the_same_tokens(section, config):
    full, slim = map(config, CONFIGS)
    assert full[section] == slim[section]


def test_both_are_chosen_by_the_same_texts(config):
    full, slim = map(config, CONFIGS)
    assert full["corpora"]["dev"] == slim["corpora"]["dev"]


def test_both_read_the_same_attributes_and_score_by_the_same_figure(config):
    full, slim = map(config, CONFIGS)
    attrs = [one["components"]["tok2vec"]["model"]["embed"]["attrs"] for one in (full, slim)]
    assert attrs[0] == attrs[1] == ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
    assert full["training"]["score_weights"] == slim["training"]["score_weights"]


@pytest.mark.parametrize("name", CONFIGS)
def test_every_corpus_that_trains_has_a_weight_and_what_chooses_is_a_dev_file(name, config):
    read = config(name)["corpora"]
    assert set(read["train"]["weights"]) == {corpus.name for corpus in CORPORA if corpus.train}
    assert set(read["dev"]["files"]) <= {corpus.name for corpus in CORPORA if corpus.dev}


@pytest.mark.parametrize("name", CONFIGS)
def test_the_training_ends_by_its_steps_since_the_texts_do_not(name, config):
    training = config(name)["training"]
    assert training["max_epochs"] == -1
    assert 0 < training["eval_frequency"] <= training["max_steps"]
    assert training["optimizer"]["learn_rate"]["total_steps"] == training["max_steps"]


def test_what_they_train_is_cut_exactly(config, tmp_path):
    nlp = spacy.util.load_model_from_config(config("config_slim.cfg"), auto_fill=True)
    nlp.initialize()
    nlp.to_disk(tmp_path / "slim")
    pipeline = read_pipeline(tmp_path / "slim")
    names = active_components(pipeline).names
    assert names == ("tok2vec", "ner")
    assert cut_rule(pipeline, names).exact
