"""A transformer pipeline (extra `trf`): documents whole, long ones in windows and flagged."""

import pytest

pytest.importorskip("spacy_curated_transformers", reason="the extra `trf` is not installed")
spacy = pytest.importorskip("spacy")

from ner_pipeline.inference.components import TRANSFORMER_WHOLE_CHARS  # noqa: E402
from ner_pipeline.inference.extractor import load_extractor  # noqa: E402
from ner_pipeline.inference.pool import ExtractionPool  # noqa: E402
from ner_pipeline.inference.spans import Span  # noqa: E402

CONFIG = """
[nlp]
lang = "en"
pipeline = ["transformer","ner"]

[components]

[components.transformer]
factory = "curated_transformer"

[components.transformer.model]
@architectures = "spacy-curated-transformers.BertTransformer.v1"
vocab_size = 200
hidden_width = 16
intermediate_width = 32
num_attention_heads = 2
num_hidden_layers = 1
piece_encoder = {"@architectures":"spacy-curated-transformers.CharEncoder.v1"}
with_spans = {"@architectures":"spacy-curated-transformers.WithStridedSpans.v1"}

[components.ner]
factory = "ner"

[components.ner.model]
@architectures = "spacy.TransitionBasedParser.v2"
state_type = "ner"
extra_state_tokens = false
hidden_width = 16
maxout_pieces = 2
use_upper = false

[components.ner.model.tok2vec]
@architectures = "spacy-curated-transformers.LastTransformerLayerListener.v1"
width = ${components.transformer.model:hidden_width}
upstream = "transformer"
pooling = {"@layers":"reduce_mean.v1"}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pipeline with random weights: what it finds means nothing, that it is the same everywhere does."""
    base = tmp_path_factory.mktemp("trf")
    pieces = base / "vocab.txt"
    pieces.write_text("\n".join(["[PAD]", "[CLS]", "[SEP]", "[UNK]", *map(chr, range(33, 127))]) + "\n")
    spacy.util.fix_random_seed(1)
    nlp = spacy.util.load_model_from_config(spacy.util.Config().from_str(CONFIG), auto_fill=True)
    loader = spacy.registry.model_loaders.get("spacy-curated-transformers.CharEncoderLoader.v1")
    piece_encoder = nlp.get_pipe("transformer").model.get_ref("piece_encoder")
    piece_encoder.init = loader(path=pieces)
    for label in ("PERSON", "GPE"):
        nlp.get_pipe("ner").add_label(label)
    nlp.initialize()
    nlp.to_disk(base / "model")
    return base / "model"


@pytest.fixture(scope="module")
def reference(folder):
    nlp = spacy.load(folder)
    return lambda text: [Span(e.start_char, e.end_char, e.label_) for e in nlp(text).ents]


TEXT = "Angela Merkel met Bob in Berlin. They did not talk about Paris, or about anything else. "


def test_a_document_is_computed_whole_and_equals_spacys(folder, reference):
    texts = {"short": TEXT, "long": TEXT * 100, "blank": " "}
    with ExtractionPool(str(folder), "cpu", workers=2) as workers:
        assert "transformer" in workers.card.why
        results = {result.id: result for result in workers.extract(texts.items())}
    assert {result.outcome for result in results.values()} == {"ok"}
    assert not any(result.approximate for result in results.values())
    for name in ("short", "long"):
        assert results[name].spans == reference(texts[name])
    assert results["long"].spans


def test_a_document_beyond_the_limit_is_cut_and_called_approximate(folder):
    text = TEXT * (TRANSFORMER_WHOLE_CHARS // len(TEXT) + 1)
    with ExtractionPool(str(folder), "cpu", workers=2) as workers:
        (result,) = workers.extract([("novel", text)])
    assert result.outcome == "ok"
    assert result.approximate


def test_the_card_says_that_documents_stay_whole(folder):
    card = load_extractor(str(folder), "cpu").card
    assert "spaCy runs transformer, ner (" in card.why
    assert f"whole up to {TRANSFORMER_WHOLE_CHARS}" in card.why
    assert card.labels == ("GPE", "PERSON")
