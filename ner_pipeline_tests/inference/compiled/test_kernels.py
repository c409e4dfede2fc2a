"""Each step against spaCy's own layers: passes, rows of types, token vectors; and all of it as array code."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

spacy = pytest.importorskip("spacy")

from thinc.api import LayerNorm  # noqa: E402

from ner_pipeline.inference import load_extractor  # noqa: E402
from ner_pipeline.inference.compiled import decoder, embedding, encoder  # noqa: E402
from ner_pipeline.inference.compiled.embedding import Embedding, RowTable  # noqa: E402
from ner_pipeline.inference.compiled.encoder import Encoder  # noqa: E402
from ner_pipeline.inference.compiled.kernels import NumpyKernels, kernels_for  # noqa: E402
from ner_pipeline.inference.compiled.token_types import TokenTypes  # noqa: E402
from ner_pipeline.inference.compiled.weights import Maxout, on_device, read_weights  # noqa: E402
from ner_pipeline.inference.pipeline_files import find_pipeline  # noqa: E402
from ner_pipeline_tests.inference.compiled.odd_texts import odd_texts  # noqa: E402

KINDS = ("static vectors", "two pieces, window of two", "four pieces, odd width", "hash embed CNN")
TABLE_BYTES = 8 << 20


def floats(*shape):
    """Arrays of this shape, of eighths: rows that are all but equal would show nothing but rounding."""
    return arrays(np.float32, shape, elements=st.integers(-32, 32).map(lambda number: number / 8))


def close(found, wanted):
    """Check that two arrays are equal but for rounding."""
    np.testing.assert_allclose(
        on_host(found), wanted, rtol=1e-5, atol=1e-5 * max(1, np.abs(wanted).max(initial=0))
    )


def on_host(array):
    return array if isinstance(array, np.ndarray) else array.get()


@st.composite
def passes(draw):
    """A layer, and what goes into it: products, residual windows, slots of a small table."""
    width, pieces = draw(st.sampled_from([1, 2, 5, 8, 17])), draw(st.integers(1, 4))
    window, behind, rows = draw(st.integers(0, 2)), draw(st.integers(0, 2)), draw(st.integers(1, 9))
    layer = Maxout(
        np.empty((0, pieces * width), dtype=np.float32),
        *(draw(floats(size)) for size in (pieces * width, width, width)),
    )
    table, places = 4, 2 * window + 1
    return {
        "layer": layer,
        "window": window,
        "products": draw(floats(rows, pieces * width)),
        "residual": draw(floats(rows, places * width)),
        "projected": draw(floats(table, places, pieces * width)),
        "rows": draw(floats(table, width)),
        "slots": draw(arrays(np.int32, rows + 2 * window, elements=st.integers(0, table - 1))),
        "shape": (max(0, rows - 2 * behind), (2 * behind + 1) * width),
    }


@given(passes())
def test_the_fused_passes_give_what_plain_array_code_gives(xp, drawn):
    there = {name: on_device(value, xp) for name, value in drawn.items() if name != "shape"}
    results = []
    for kernels, given_ in ((kernels_for(xp), there), (NumpyKernels(), drawn)):
        module = xp if given_ is there else np
        outs = [module.full(drawn["shape"], np.nan, dtype=np.float32) for _ in range(2)]
        layer, window = given_["layer"], given_["window"]
        kernels.norm(given_["products"], layer, given_["residual"], outs[0])
        kernels.gathered_norm(given_["projected"], given_["rows"], given_["slots"], layer, window, outs[1])
        results.append(outs)
    for found, wanted in zip(*results, strict=True):
        close(found, wanted)


@given(floats(5, 12), floats(12), floats(12))
def test_the_norm_is_that_of_thinc(products, gain, shift):
    theirs = LayerNorm(nI=12)
    theirs.initialize()
    theirs.set_param("G", gain)
    theirs.set_param("b", shift)
    found, nothing = np.empty_like(products), np.zeros_like(products)
    layer = Maxout(np.empty((0, 12), dtype=np.float32), np.zeros(12, dtype=np.float32), gain, shift)
    NumpyKernels().norm(products, layer, nothing, found)
    close(found, theirs.predict(products))


class Steps:
    """A pipeline's own layers, and the steps of its compiled network."""

    def __init__(self, directory, xp):
        nlp = spacy.load(find_pipeline(directory))
        self.upstream = nlp.get_pipe("tok2vec") if "tok2vec" in nlp.pipe_names else None
        self.ner = nlp.get_pipe("ner").model
        self.docs = [nlp.make_doc(text) for text in odd_texts(30) if text]
        self.xp, self.weights = xp, on_device(read_weights(nlp, "ner"), xp)
        types = TokenTypes(self.weights.embedding)
        self.numbers = [types.of(types.rows(doc)) for doc in self.docs]
        self.attributes = types.new()
        self.table = RowTable(self.weights, xp, max_bytes=TABLE_BYTES)
        self.table.add(self.attributes)
        self.encoder = Encoder(self.weights, self.table, xp, block=max(map(len, self.docs)))

    def vectors(self, number):
        slots = np.pad(self.table.slot_of(self.numbers[number]), self.weights.reach)
        vectors = self.xp.empty((len(self.docs[number]), self.weights.width), dtype=np.float32)
        self.encoder.vectors(self.xp.asarray(slots), vectors)
        return vectors

    def scores(self, hidden):
        """Give the scores of all moves where no entity is open."""
        weights = self.weights.decoder
        states = hidden @ weights.features[0] + weights.absent[1:].sum(axis=0) + weights.bias
        units = states.reshape(len(hidden), weights.pieces, -1).max(axis=1)
        return on_host(units @ weights.scores.weights + weights.scores.bias)

    def spacys_hidden(self, doc):
        if self.upstream is not None:
            self.upstream.set_annotations([doc], self.upstream.predict([doc]))
        return self.xp.asarray(self.ner.get_ref("tok2vec").predict([doc]))


@pytest.fixture(scope="module", params=KINDS)
def steps(request, pipeline, xp):
    return Steps(pipeline(request.param), xp)


def test_the_row_of_a_type_is_what_spacy_embeds_a_token_as(steps):
    rows = on_host(Embedding(steps.weights.embedding, steps.xp).rows(steps.attributes))
    embed = steps.ner.get_ref("tok2vec").layers[0].get_ref("embed")
    for doc, number in zip(steps.docs, steps.numbers, strict=True):
        close(rows[number], embed.predict([doc])[0])


def test_token_vectors_are_those_of_spacy(steps):
    tok2vec = steps.ner.get_ref("tok2vec").layers[0]
    for number, doc in enumerate(steps.docs):
        close(steps.vectors(number), tok2vec.predict([doc])[0])


@pytest.mark.parametrize("kind", ["shared and trained", "full and trained"])
def test_what_counts_as_a_tie_is_more_than_rounding_can_turn(kind, pipeline, xp):
    steps = Steps(pipeline(kind), xp)
    hidden = steps.weights.decoder.hidden
    for number, doc in enumerate(steps.docs):
        ours = steps.scores(steps.vectors(number) @ hidden.weights + hidden.bias)
        error = np.abs(ours - steps.scores(steps.spacys_hidden(doc))).max()
        # Of two scores each may be off by so much.
        assert 2 * error < decoder.TIE * np.abs(ours).max()


def test_without_a_fused_pass_the_entities_are_the_same(pipeline, monkeypatch):
    for module in (embedding, encoder):
        monkeypatch.setattr(module, "kernels_for", NumpyKernels)
    extractor = load_extractor(pipeline("static vectors"), "cpu")
    texts = odd_texts(60)
    wanted = load_extractor(pipeline("static vectors"), "cpu", prefer="spacy").extract(texts)
    assert extractor.extract(texts) == wanted
