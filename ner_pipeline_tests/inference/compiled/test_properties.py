"""What a text's tokens and entities do not depend on: its neighbours, all sizes, and what was seen before."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

spacy = pytest.importorskip("spacy")

from spacy.attrs import NORM, ORTH, SHAPE, SPACY  # noqa: E402
from spacy.tokenizer import Tokenizer  # noqa: E402

from ner_pipeline.inference import load_extractor  # noqa: E402
from ner_pipeline.inference.compiled.extractor import CompiledExtractor  # noqa: E402
from ner_pipeline.inference.compiled.joints import Joints  # noqa: E402
from ner_pipeline.inference.compiled.lexicon import Lexicon  # noqa: E402
from ner_pipeline.inference.compiled.network import Network, Sizes  # noqa: E402
from ner_pipeline.inference.compiled.token_types import TokenTypes  # noqa: E402
from ner_pipeline.inference.compiled.tokens import DocReader  # noqa: E402
from ner_pipeline.inference.compiled.weights import EmbeddingWeights, read_weights  # noqa: E402
from ner_pipeline.inference.device import Device  # noqa: E402
from ner_pipeline_tests.inference.compiled.odd_texts import ATOMS, SPACES, odd_texts  # noqa: E402

# Of different tokenizers: with many special cases, with few, with white space in them, with infixes.
LANGUAGES = ("en", "fr", "de", "es", "ru", "it", "tr", "he", "hi", "fi", "ca", "uk", "xx")
CPU = Device("cpu", "a test")


def embedding(*attributes):
    """Describe a network that reads these attributes of a token."""
    return EmbeddingWeights(attributes, (), None, None, mixer=None)


def of_atoms(*atoms):
    """Texts of these atoms, with all kinds of space between them and mostly a single one."""
    spaces = st.one_of(st.just(" "), st.just(" "), st.sampled_from(sorted(set(SPACES))))
    pairs = st.lists(st.tuples(spaces, st.sampled_from(sorted({*ATOMS, *atoms}))), max_size=12)
    return st.tuples(pairs, spaces).map(lambda drawn: "".join(map("".join, drawn[0])) + drawn[1])


@cache
def special_parts(lang):
    """Give the special cases of a language, and the tokens that they would be without the rule."""
    tokenizer = spacy.blank(lang).tokenizer
    bare = Tokenizer(
        tokenizer.vocab,
        prefix_search=tokenizer.prefix_search,
        suffix_search=tokenizer.suffix_search,
        infix_finditer=tokenizer.infix_finditer,
    )
    cases = [case for case in tokenizer.rules if not case.isspace()]
    several = {case: [token.text for token in bare(case)] for case in cases}
    return sorted({part for case, tokens in several.items() if len(tokens) > 1 for part in (case, *tokens)})


@pytest.mark.parametrize("lang", LANGUAGES)
def test_looked_up_tokens_are_those_of_the_tokenizer(lang):
    types = TokenTypes(embedding(ORTH, NORM, SHAPE, SPACY))
    tokenizer = spacy.blank(lang).tokenizer
    lexicon = Lexicon(tokenizer, types, Joints(tokenizer))
    reader = DocReader(spacy.blank(lang), types)

    @given(
        st.lists(st.one_of(of_atoms(*special_parts(lang)), st.text(max_size=8)), max_size=6), st.booleans()
    )
    def check(texts, forgets):
        if forgets:
            lexicon.forget()
        found, wanted = lexicon.tokens(texts), reader.tokens(texts)
        for column in ("lengths", "starts", "ends", "types"):
            np.testing.assert_array_equal(getattr(found, column), getattr(wanted, column), column)

    check()


@pytest.mark.parametrize("kind", ["xx", pytest.param("endless", marks=pytest.mark.proof)])
def test_a_texts_entities_depend_on_nothing_but_the_text(kind, pipeline):
    directory = pipeline(kind)
    reference = load_extractor(directory, "cpu", prefer="spacy")
    weights = read_weights(spacy.load(directory), "ner")
    slot_bytes = 4 * (weights.width + weights.layers[0].weights.size // weights.width)

    @settings(max_examples=max(6, settings().max_examples // 25))
    @given(
        texts=st.lists(of_atoms(), max_size=5),
        block=st.integers(1, 40),
        stretch=st.integers(1, 100),
        slots=st.integers(2, 60),
        held=st.sampled_from([(0, 0), (30, 1_000), (1_000_000, 1_000_000)]),
    )
    def check(texts, block, stretch, slots, held):
        table_bytes = slot_bytes * (2 * weights.reach + slots)
        network = Network(weights, sizes=Sizes(block, stretch, table_bytes))
        bounds = {"held_tokens": held[0], "held_types": held[1]}
        extractor = CompiledExtractor(Path(directory), "ner", CPU, network=network, **bounds)
        wanted = reference.extract(texts)
        assert extractor.extract(texts) == wanted
        assert [extractor.extract([text])[0] for text in texts] == wanted
        assert extractor.extract(texts[::-1]) == wanted[::-1]

    check()


def test_one_text_of_all_is_found_as_by_spacy(pipeline):
    directory = pipeline("plain")
    text = "\n".join(odd_texts(100))
    wanted = load_extractor(directory, "cpu", prefer="spacy").extract([text])
    assert load_extractor(directory, "cpu").extract([text]) == wanted
