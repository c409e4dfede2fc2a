"""A rounded pipeline is the same one with shorter numbers: read by plain spaCy, smaller once compressed."""

import zlib

import numpy as np
import precision
import pytest
import spacy

from ner_pipeline.inference.extractor import load_extractor, load_spacy_extractor
from ner_pipeline_tests.inference.compiled.made_pipelines import LABELS, made, save
from ner_pipeline_tests.inference.compiled.odd_texts import odd_texts


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A pipeline with weights that are random in every bit, and what the command makes of it."""
    folder = tmp_path_factory.mktemp("precision")
    nlp = made("xx")
    nlp.meta.update(version="1.2.3", performance={"ents_f": 0.7})
    save(nlp, folder / "full")
    for kind in precision.PRECISIONS:
        precision.main(str(folder / "full"), str(folder / kind), kind)
    return folder


def _weights(folder):
    """Give all numbers of a pipeline by component, layer and name."""
    return {
        (name, at, param): layer.get_param(param)
        for name, component in spacy.load(folder).pipeline
        for at, layer in enumerate(component.model.walk())
        for param in layer.param_names
        if layer.has_param(param)
    }


def _relative(original, rounded):
    """Give the largest difference, in parts of the largest number of its row."""
    return (np.abs(rounded - original) / np.abs(original).max(axis=-1, keepdims=True)).max()


@pytest.mark.parametrize(("kind", "bound"), [("float16", 2**-11), ("int8", 1 / 127)])
def test_weights_move_by_less_than_one_step_and_nothing_else_moves(folders, kind, bound):
    original, rounded = _weights(folders / "full"), _weights(folders / kind)
    assert original.keys() == rounded.keys()
    for place, weights in original.items():
        moved = _relative(weights, rounded[place])
        assert rounded[place].dtype == np.float32
        assert 0 < moved <= bound if place[-1] in precision.ROUNDED else moved == 0, place


def test_int8_leaves_at_most_255_evenly_spaced_numbers_to_a_row(folders):
    for place, weights in _weights(folders / "int8").items():
        if place[-1] in precision.ROUNDED:
            largest = np.abs(weights).max(axis=-1, keepdims=True)
            steps = 2.0 ** np.ceil(np.log2(largest / 127))
            np.testing.assert_array_equal(weights % steps, 0)


def test_the_fewer_bits_the_smaller_when_compressed(folders):
    sizes = {
        kind: sum(len(zlib.compress(file.read_bytes())) for file in (folders / kind).glob("*/model"))
        for kind in ("full", "float16", "int8")
    }
    assert sizes["int8"] < 0.8 * sizes["float16"] < 0.64 * sizes["full"]


def test_rows_of_zeros_stay_zeros():
    zeros = np.zeros((2, 3), dtype=np.float32)
    for rounded in precision.PRECISIONS.values():
        np.testing.assert_array_equal(rounded(zeros), zeros)


@pytest.mark.parametrize("kind", precision.PRECISIONS)
def test_rounded_weights_are_compiled_and_give_what_spacy_gives(folders, kind):
    compiled, texts = load_extractor(str(folders / kind)), odd_texts(40)
    found = compiled.extract(texts)
    assert compiled.card.extractor == "compiled"
    assert any(found)
    assert found == load_spacy_extractor(str(folders / kind)).extract(texts)


def test_a_rounded_pipeline_has_a_version_of_its_own_and_no_scores_of_the_other(folders):
    meta = spacy.load(folders / "int8").meta
    assert meta["version"] == "1.2.3+int8"
    assert "performance" not in meta
    assert set(meta["labels"]["ner"]) == set(LABELS)


def test_an_unknown_precision_is_refused_before_anything_is_written(folders, tmp_path):
    with pytest.raises(SystemExit, match="int4 is none of float16, int8"):
        precision.main(str(folders / "full"), str(tmp_path / "int4"), "int4")
    assert not any(tmp_path.iterdir())
