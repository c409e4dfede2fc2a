"""Pipelines of all kinds that are compiled: small ones with random weights, and trained ones.

Random weights are the harder test. They begin and end entities everywhere, where a trained network is sure
of nearly every token. `KINDS` names them all; each is made in a second and saved by `save`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.training import Example
from spacy.vectors import Vectors

from ner_pipeline_tests.inference.compiled.odd_texts import ATOMS

CONFIGS = Path(__file__).parents[3] / "model"
LABELS = ("PER", "LOC", "ORG")
ATTRS = ("NORM", "PREFIX", "SUFFIX", "SHAPE")
NAMES = {
    "PER": ("Bob", "Angela Merkel", "张伟"),
    "LOC": ("Paris", "New York", "北京"),
    "ORG": ("Acme", "Foo & Sons Ltd."),
}
PATTERNS = (
    "{PER} left {LOC} .",
    "They say {ORG}'s boss,\n{PER}, met {PER} in {LOC}!",
    "Nobody's there.",
    "{PER} 在 {LOC} 工作。",
)


def made(
    lang: str = "xx",
    *,
    attrs: Sequence[str] = ATTRS,
    vectors: bool = False,
    embed: str = "spacy.MultiHashEmbed.v2",
    encode: str = "spacy.MaxoutWindowEncoder.v2",
    width: int = 32,
    depth: int = 2,
    window: int = 1,
    pieces: int = 3,
    labels: Sequence[str] = LABELS,
    settings: dict[str, Any] | None = None,
    **parser: Any,
) -> Language:
    """Make a pipeline with a small network of random weights."""
    nlp = _blank(lang)
    if vectors:
        plant_vectors(nlp)
    embedding = {
        "@architectures": embed,
        "width": width,
        "attrs": list(attrs),
        "rows": [50 + 7 * number for number in range(len(attrs))],
        "include_static_vectors": vectors,
    }
    encoder = {
        "@architectures": encode,
        "width": width,
        "depth": depth,
        "window_size": window,
        "maxout_pieces": pieces,
    }
    if encode == "spacy.MishWindowEncoder.v2":
        del encoder["maxout_pieces"]
    tok2vec = {"@architectures": "spacy.Tok2Vec.v2", "embed": embedding, "encode": encoder}
    add_recognizer(nlp, tok2vec, labels, settings, **parser)
    return shaken(nlp)


def add_recognizer(
    nlp: Language,
    tok2vec: dict[str, Any],
    labels: Sequence[str] = LABELS,
    settings: dict[str, Any] | None = None,
    **parser: Any,
) -> None:
    """Add an entity recognizer with a network of its own."""
    model = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": 16,
        "maxout_pieces": 2,
        "use_upper": True,
        **parser,
        "tok2vec": tok2vec,
    }
    recognizer: Any = nlp.add_pipe("ner", config={"model": model, **(settings or {})})
    for label in labels:
        recognizer.add_label(label)


def shaken(nlp: Language, seed: int = 0, *, scale: float = 0.3) -> Language:
    """Initialise a pipeline and add noise to all weights, of which spaCy leaves some at zero."""
    nlp.initialize()
    chance = np.random.default_rng(seed)
    for _, component in nlp.pipeline:
        for node in component.model.walk():
            for name in node.param_names:
                if node.has_param(name):
                    weights = node.get_param(name)
                    noise = chance.standard_normal(weights.shape, dtype=np.float32)
                    node.set_param(name, weights + np.float32(scale) * noise)
    return nlp


def plant_vectors(nlp: Language, dimensions: int = 20, attr: str = "ORTH") -> None:
    """Give random vectors to most words; some share a row."""
    words = sorted({part for atom in ATOMS for part in (*atom.split(), atom.lower())})[::2]
    chance = np.random.default_rng(1)
    data = chance.standard_normal((len(words), dimensions), dtype=np.float32)
    vectors = Vectors(strings=nlp.vocab.strings, data=data, attr=attr)
    for number, word in enumerate(words):
        vectors.add(nlp.vocab.strings.add(word), row=number // 2)
    nlp.vocab.vectors = vectors


def trained(
    nlp: Language, steps: int, examples: Sequence[Example] = (), learn_rate: float = 0.001
) -> Language:
    """Train a pipeline for a few steps, if on nothing else on made-up sentences."""
    chance = random.Random(0)
    examples = examples or [_example(nlp, chance) for _ in range(64)]
    optimizer = nlp.initialize(lambda: examples)
    optimizer.learn_rate = learn_rate
    for step in range(steps):
        nlp.update(examples[step * 16 % len(examples) :][:16], sgd=optimizer)
    return nlp


def from_config(name: str, *, steps: int, lang: str = "xx", **vectors: Any) -> Language:
    """Make a pipeline of `model/`, and train it for so many steps; without any it is only initialised."""
    overrides = {"nlp.lang": lang, "paths.train": "", "paths.dev": ""}
    config = spacy.util.load_config(CONFIGS / name, overrides, interpolate=True)
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    nlp.config["initialize"].update(vectors=None, before_init=None)
    spacy.util.fix_random_seed(0)
    if name == "config.cfg":
        plant_vectors(nlp, **vectors)
    return trained(nlp, steps)


def endless() -> Language:
    """Make a network whose entities, once begun, do not end before the text does."""
    nlp = made()
    recognizer: Any = nlp.get_pipe("ner")
    upper = recognizer.model.layers[-1]
    inside = [recognizer.moves.get_class_name(move)[:2] == "I-" for move in range(recognizer.moves.n_moves)]
    upper.set_param("b", upper.get_param("b") + np.where(inside, np.float32(1e3), np.float32(0)))
    return nlp


def hash_embed_cnn() -> Language:
    """Make the network that has embedding and encoder in one."""
    nlp = _blank("xx")
    sizes = {"width": 24, "depth": 3, "embed_size": 100, "window_size": 1, "maxout_pieces": 2}
    tok2vec = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, **sizes}
    add_recognizer(nlp, {**tok2vec, "subword_features": True})
    return shaken(nlp)


def later_label() -> Language:
    """Make a network that got another label after its training; saved and loaded, it may give that too."""
    nlp = made()
    recognizer: Any = nlp.get_pipe("ner")
    recognizer.add_label("LATER")
    return nlp


def lower_case_vectors() -> Language:
    """Make a network whose static vectors are those of the lower-case words."""
    nlp = made(vectors=True)
    plant_vectors(nlp, attr="LOWER")
    return nlp


KINDS: dict[str, Callable[[], Language]] = {
    "shared and trained": lambda: from_config("config_slim.cfg", steps=24),
    "full and trained": lambda: from_config("config.cfg", steps=4),
    "full and initialised": lambda: from_config("config.cfg", steps=0),
    "plain": lambda: made("en"),
    "endless": endless,
    "without an upper layer": lambda: made(use_upper=False),
    "one piece": lambda: made(maxout_pieces=1, pieces=1),
    "two pieces, window of two": lambda: made(pieces=2, window=2, depth=3),
    "four pieces, odd width": lambda: made(pieces=4, maxout_pieces=3, width=17, depth=1, hidden_width=9),
    "space attributes": lambda: made(attrs=("LOWER", "SPACY", "IS_SPACE", "ENT_TYPE", "LENGTH")),
    "one attribute": lambda: made(attrs=("SHAPE",), labels=("X",)),
    "many labels": lambda: made(labels=[f"LABEL{number}" for number in range(60)]),
    "later label": later_label,
    "static vectors": lambda: made(vectors=True),
    "lower-case vectors": lower_case_vectors,
    "hash embed CNN": hash_embed_cnn,
    "xx": lambda: made("xx"),
    "zh": lambda: made("zh"),
    "es": lambda: made("es"),
}


def save(nlp: Language, folder: Path) -> str:
    """Save a pipeline, and give the name to load it by."""
    nlp.to_disk(folder)
    return str(folder)


def _blank(lang: str) -> Language:
    spacy.util.fix_random_seed(0)
    return spacy.blank(lang)


def _example(nlp: Language, chance: random.Random) -> Example:
    """Fill a pattern with names."""
    text, entities = "", []
    for part in chance.choice(PATTERNS).replace("{", "\x00{").replace("}", "}\x00").split("\x00"):
        label = part.strip("{}")
        name = chance.choice(NAMES[label]) if label in NAMES else part
        if label in NAMES:
            entities.append((len(text), len(text) + len(name), label))
        text += name
    return Example.from_dict(nlp.make_doc(text), {"entities": entities})
