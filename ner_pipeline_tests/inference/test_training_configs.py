"""The two training configs: spaCy accepts them, and they build the network that model/README.md names."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

spacy = pytest.importorskip("spacy")

from ner_pipeline.inference.components import active_components, cut_rule  # noqa: E402
from ner_pipeline.inference.pipeline_files import read_pipeline  # noqa: E402

MODEL = Path(__file__).parents[2] / "model"
CONFIGS = ["config.cfg", "config_slim.cfg"]


@pytest.mark.parametrize("name", CONFIGS)
def test_spacy_accepts_the_config(name, tmp_path):
    corpus = tmp_path / "corpus.spacy"
    spacy.tokens.DocBin(docs=[spacy.blank("xx")("Bob lives in London.")]).to_disk(corpus)
    paths = ["--paths.train", str(corpus), "--paths.dev", str(corpus)]
    command = [sys.executable, "-m", "spacy", "debug", "config", str(MODEL / name), *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "width", "depth", "vectors"), [(CONFIGS[0], 256, 8, True), (CONFIGS[1], 128, 4, False)]
)
def test_the_network_has_the_stated_size(name, width, depth, vectors):
    config = spacy.util.load_config(MODEL / name, interpolate=True)
    model = config["components"]["tok2vec"]["model"]
    assert (model["encode"]["width"], model["encode"]["depth"]) == (width, depth)
    assert model["embed"]["width"] == width
    assert model["embed"]["include_static_vectors"] is vectors
    assert model["embed"]["rows"] == [5000, 2500, 2500, 2500]


def test_the_two_differ_in_the_size_of_the_network_only():
    full, slim = ((MODEL / name).read_text().splitlines() for name in CONFIGS)
    assert len(full) == len(slim)
    keys = {re.split(r" = ", line)[0] for line, other in zip(full, slim, strict=True) if line != other}
    assert {key for key in keys if not key.startswith("#")} == {"width", "depth", "include_static_vectors"}


def test_what_they_train_is_cut_exactly(tmp_path):
    nlp = spacy.util.load_model_from_config(spacy.util.load_config(MODEL / "config_slim.cfg"), auto_fill=True)
    nlp.initialize()
    nlp.to_disk(tmp_path / "slim")
    pipeline = read_pipeline(tmp_path / "slim")
    names = active_components(pipeline).names
    assert names == ("tok2vec", "ner")
    assert cut_rule(pipeline, names).exact
