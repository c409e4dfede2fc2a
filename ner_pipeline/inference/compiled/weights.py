"""The numbers of a pipeline, read out of its thinc layers and laid out for the passes that use them.

Here, and nowhere else, is known how spaCy builds its models. A model whose layers are not exactly the
expected ones is refused with `NotCovered`: what we do not know we do not compute.

Layouts. Maxout weights come as (width, pieces, inputs); here they are (inputs, pieces * width), piece by
piece, so that a product is one matrix multiplication and the maximum one of slices. Sources: spaCy 3.8,
`ml/models/tok2vec.py`, `ml/models/parser.py`, `ml/_precomputable_affine.py`; thinc 8.3, `layers/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IDS, intify_attr
from spacy.pipeline import EntityRecognizer
from spacy.pipeline._parser_internals.ner import BiluoPushDown
from spacy.vectors import Mode, Vectors

from ner_pipeline.inference.compiled.coverage import NotCovered
from ner_pipeline.inference.windows import MIN_PIECES

if TYPE_CHECKING:
    from spacy.language import Language

__all__ = [
    "DecoderWeights",
    "EmbeddingWeights",
    "HashTable",
    "Linear",
    "Maxout",
    "NetworkWeights",
    "VectorTable",
    "on_device",
    "read_weights",
]

Floats = NDArray[np.float32]

_HASH_EMBED = ("ints-getitem", "hashembed")
_MIXER = ("maxout", "layernorm", "dropout")
_WINDOW = ("expand_window", *_MIXER)
_LISTENER = "tok2vec-listener"
_OF_A_TOKEN = frozenset(
    IDS[name]
    for name in (
        *("ORTH", "LOWER", "NORM", "SHAPE", "PREFIX", "SUFFIX", "LENGTH", "SPACY", "LANG"),
        *("LEMMA", "POS", "TAG", "DEP", "MORPH", "ENT_TYPE", "ENT_IOB"),
    )
) | frozenset(range(IDS["IS_ALPHA"], IDS["FLAG63"] + 1))
"""Attributes that do not depend on where a token stands. Of the second line only a tokenizer can set any."""
_STATE_FEATURES = 3
"""nF of a NER model: the token itself, the first one of the open entity, the one before."""


@dataclass(frozen=True, slots=True)
class Linear:
    """x @ weights + bias."""

    weights: Floats
    """(inputs, outputs)."""
    bias: Floats
    """(outputs,)."""


@dataclass(frozen=True, slots=True)
class Maxout:
    """A maxout layer and the layer norm that follows it."""

    weights: Floats
    """(inputs, pieces * width), piece by piece."""
    bias: Floats
    """(pieces * width,), piece by piece."""
    gain: Floats
    """(width,)."""
    shift: Floats
    """(width,)."""


@dataclass(frozen=True, slots=True)
class HashTable:
    """One hash embedding: a key's vector is the sum of four rows of the table."""

    rows: Floats
    """(buckets, width)."""
    seed: int


@dataclass(frozen=True, slots=True)
class VectorTable:
    """Static vectors, and the projection that brings them to the network's width."""

    vectors: Floats
    """(rows, dimensions)."""
    row_of_key: dict[int, int]
    projection: Floats
    """(dimensions, width)."""


@dataclass(frozen=True, slots=True)
class EmbeddingWeights:
    """From token attributes to rows."""

    attributes: tuple[int, ...]
    """The attributes as spaCy numbers them, in the order of the tables."""
    tables: tuple[HashTable, ...]
    vectors: VectorTable | None
    vector_attribute: int | None
    """The attribute whose value is the key of a static vector, if there are such."""
    mixer: Maxout

    @property
    def columns(self) -> int:
        """How many values describe a type: the attributes, the vector's key, whether it is white space."""
        return len(self.attributes) + (self.vectors is not None) + 1


@dataclass(frozen=True, slots=True)
class DecoderWeights:
    """From token vectors to the scores of moves.

    Moves are those that spaCy may choose: in each of the arrays below they keep spaCy's order, so that of
    two equal scores the same one wins.
    """

    hidden: Linear
    """From the encoder's width to the decoder's."""
    features: Floats
    """(3, hidden, pieces * units): what a token adds to a state as each of its three features."""
    absent: Floats
    """(3, pieces * units): what a feature adds that is not there."""
    bias: Floats
    """(pieces * units,)."""
    pieces: int
    scores: Linear
    """From units to all moves."""
    labels: tuple[str, ...]
    closed: tuple[int, ...]
    """The moves outside an entity: begin, unit, out."""
    begins: dict[int, int]
    """Move -> label, for the moves that begin an entity."""
    singles: dict[int, int]
    """Move -> label, for the moves that are a whole entity."""
    inside: tuple[int, ...]
    """For each label the move that goes on."""
    last: tuple[int, ...]
    """For each label the move that ends."""


@dataclass(frozen=True, slots=True)
class NetworkWeights:
    """All numbers of one network."""

    embedding: EmbeddingWeights
    window: int
    """How many tokens a window holds on each side."""
    layers: tuple[Maxout, ...]
    decoder: DecoderWeights

    @property
    def width(self) -> int:
        """The width of a token vector."""
        return len(self.embedding.mixer.gain)

    @property
    def reach(self) -> int:
        """How many tokens on each side can change a token's vector; spaCy's padding too."""
        return self.window * len(self.layers)


def read_weights(nlp: Language, ner: str) -> NetworkWeights:
    """Read the network of the component `ner`, and of the tok2vec that it listens to.

    Raises:
        NotCovered: a layer is missing, unknown, or in another place.
    """
    component: Any = nlp.get_pipe(ner)
    if type(component) is not EntityRecognizer or type(component.moves) is not BiluoPushDown:
        raise NotCovered(f"{ner} is a {type(component).__name__} of its own")
    if component.cfg.get("beam_width", 1) != 1:
        raise NotCovered(f"{ner} searches with a beam of {component.cfg['beam_width']}")
    token_model, lower, upper = component.model.layers
    tok2vec = token_model.layers[0]
    if tok2vec.name == _LISTENER:
        tok2vec = _upstream(nlp, ner)
    if not {"embed", "encode"} <= set(tok2vec.ref_names):
        raise NotCovered(f"its token vectors come from {tok2vec.name}")
    window, layers = _encoder(tok2vec.get_ref("encode"))
    if window * len(layers) >= MIN_PIECES:
        raise NotCovered(
            f"a token sees {window * len(layers)} others on each side, more than a cut leaves it"
        )
    return NetworkWeights(
        embedding=_embedding(nlp, tok2vec.get_ref("embed")),
        window=window,
        layers=layers,
        decoder=_decoder(component, token_model.layers[-1], lower, upper),
    )


def on_device(weights: Any, xp: Any) -> Any:
    """Give the same numbers as arrays of `xp`."""
    if isinstance(weights, np.ndarray):
        return xp.asarray(weights)
    if isinstance(weights, tuple):
        return tuple(on_device(part, xp) for part in weights)
    if is_dataclass(weights) and not isinstance(weights, type):
        moved = {part.name: on_device(getattr(weights, part.name), xp) for part in fields(weights)}
        return replace(weights, **moved)
    return weights


def _upstream(nlp: Language, ner: str) -> Any:
    """Give the shared tok2vec: a listener reads what the last one before it has left in the Doc."""
    before = nlp.pipe_names[: nlp.pipe_names.index(ner)]
    sources = [pipe for pipe in before if nlp.get_pipe_meta(pipe).factory == "tok2vec"]
    if len(sources) != 1:
        raise NotCovered(f"{ner} listens, and {len(sources)} tok2vec components run before it")
    source: Any = nlp.get_pipe(sources[0])
    return source.model


def _embedding(nlp: Language, model: Any) -> EmbeddingWeights:
    leaves = _leaves(model)
    tables = [leaf for leaf in leaves if leaf.name == "hashembed"]
    vectors = [leaf for leaf in leaves if leaf.name == "static_vectors"]
    expected = [
        *("extract_features", "list2ragged"),
        *_HASH_EMBED * len(tables),
        *["static_vectors"] * len(vectors),
        *(*_MIXER, "ragged2list"),
    ]
    _expect("the embedding", leaves, expected)
    mixer = next(index for index, leaf in enumerate(leaves) if leaf.name == "maxout")
    return EmbeddingWeights(
        attributes=_attributes(leaves[0].attrs["columns"]),
        tables=tuple(HashTable(_floats(t.get_param("E")), int(t.attrs["seed"])) for t in tables),
        vectors=_vectors(nlp, vectors[0]) if vectors else None,
        vector_attribute=int(nlp.vocab.vectors.attr) if vectors else None,
        mixer=_maxout(leaves[mixer], leaves[mixer + 1]),
    )


def _attributes(columns: Sequence[int | str]) -> tuple[int, ...]:
    """Give the attributes by number. One that depends on more than the token itself is not known to us."""
    attributes = tuple(int(intify_attr(column)) for column in columns)
    if unknown := [
        str(column) for column, number in zip(columns, attributes, strict=True) if number not in _OF_A_TOKEN
    ]:
        raise NotCovered(f"it embeds {', '.join(unknown)}")
    return attributes


def _vectors(nlp: Language, layer: Any) -> VectorTable:
    table = nlp.vocab.vectors
    if not isinstance(table, Vectors) or table.mode != Mode.default:
        raise NotCovered("its static vectors are no plain table")
    projection = _floats(layer.get_param("W").T)
    if table.shape[1] != len(projection):
        raise NotCovered(f"its static vectors have {table.shape[1]} dimensions and not {len(projection)}")
    return VectorTable(_floats(table.data), table.key2row, projection)


def _encoder(model: Any) -> tuple[int, tuple[Maxout, ...]]:
    leaves = _leaves(model)
    depth = sum(leaf.name == "expand_window" for leaf in leaves)
    _expect("the encoder", leaves, list(_WINDOW * depth))
    windows = {leaf.attrs["window_size"] for leaf in leaves if leaf.name == "expand_window"}
    if len(windows) != 1 or model.attrs.get("pad") != depth * min(windows):
        raise NotCovered("its windows differ, or are not padded by what they see")
    layers = tuple(_maxout(leaves[at], leaves[at + 1]) for at in range(1, len(leaves), len(_WINDOW)))
    return int(min(windows)), layers


def _decoder(component: Any, hidden: Any, lower: Any, upper: Any) -> DecoderWeights:
    if hidden.name != "linear" or lower.name != "precomputable_affine":
        raise NotCovered(f"its states are computed by {hidden.name} and {lower.name}")
    weights = lower.get_param("W")
    features, units, pieces, width = weights.shape
    if features != _STATE_FEATURES:
        raise NotCovered(f"its states have {features} features (extra_state_tokens)")
    if component.model.attrs["unseen_classes"]:
        raise NotCovered("labels were added after it was trained")
    moves = [component.moves.get_class_name(move) for move in range(component.moves.n_moves)]
    scores = _linear(upper) if component.model.attrs["has_upper"] else _identity(units)
    if scores.weights.shape[1] != len(moves):
        raise NotCovered(f"it scores {scores.weights.shape[1]} moves of {len(moves)}")
    return DecoderWeights(
        hidden=_linear(hidden),
        features=_floats(weights.transpose(0, 3, 2, 1).reshape(features, width, pieces * units)),
        absent=_floats(lower.get_param("pad")[0].transpose(0, 2, 1).reshape(features, pieces * units)),
        bias=_floats(lower.get_param("b").T.reshape(pieces * units)),
        pieces=pieces,
        scores=scores,
        **_moves(moves),
    )


def _moves(names: list[str]) -> dict[str, Any]:
    """Sort the moves by what they do. `U-` without a label is for blocked tokens only: nobody blocks any."""
    labels = tuple(name.removeprefix("B-") for name in names if name.startswith("B-"))
    of = {name: move for move, name in enumerate(names)}
    missing = [f"{kind}-{label}" for label in labels for kind in "BILU" if f"{kind}-{label}" not in of]
    known = {f"{kind}-{label}" for label in labels for kind in "BILU"} | {"O", "U-"}
    if not all(labels) or missing or "O" not in of or not known.issuperset(names):
        odd = [*missing, *sorted(set(names) - known)]
        raise NotCovered(f"its moves are not those of some labels: {', '.join(odd) or 'it has no label'}")
    begins = {of[f"B-{label}"]: index for index, label in enumerate(labels)}
    singles = {of[f"U-{label}"]: index for index, label in enumerate(labels)}
    return {
        "labels": labels,
        "closed": tuple(sorted({*begins, *singles, of["O"]})),
        "begins": begins,
        "singles": singles,
        "inside": tuple(of[f"I-{label}"] for label in labels),
        "last": tuple(of[f"L-{label}"] for label in labels),
    }


def _leaves(model: Any) -> list[Any]:
    """Give the layers that are made of no others, in the order in which they compute."""
    return [leaf for layer in model.layers for leaf in _leaves(layer)] if model.layers else [model]


def _expect(part: str, leaves: list[Any], names: list[str]) -> None:
    found = [leaf.name for leaf in leaves]
    if found != names or not names:
        unknown = sorted(set(found) - {*_HASH_EMBED, *_WINDOW, "extract_features", "list2ragged"})
        raise NotCovered(f"{part} is made otherwise: {', '.join(unknown or found)}")


def _maxout(layer: Any, norm: Any) -> Maxout:
    weights, bias = layer.get_param("W"), layer.get_param("b")
    width, pieces, inputs = weights.shape
    return Maxout(
        weights=_floats(weights.transpose(2, 1, 0).reshape(inputs, pieces * width)),
        bias=_floats(bias.T.reshape(pieces * width)),
        gain=_floats(norm.get_param("G")),
        shift=_floats(norm.get_param("b")),
    )


def _linear(layer: Any) -> Linear:
    return Linear(_floats(layer.get_param("W").T), _floats(layer.get_param("b")))


def _identity(units: int) -> Linear:
    """Without an upper layer the units are the scores."""
    return Linear(np.eye(units, dtype=np.float32), np.zeros(units, dtype=np.float32))


def _floats(array: Any) -> Floats:
    return np.ascontiguousarray(array, dtype=np.float32)
