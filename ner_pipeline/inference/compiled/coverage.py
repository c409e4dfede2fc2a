"""Which pipelines are compiled, and what is in the way of the others.

What a pipeline's files say is asked here, without loading it; what only its layers show is asked where they
are read (`weights`). The rule is the same in both: what is not known to be equal is left to spaCy.
"""

from __future__ import annotations

import json
from pathlib import Path

from ner_pipeline.inference.components import active_components
from ner_pipeline.inference.pipeline_files import PipelineFiles, read_pipeline

__all__ = ["NotCovered", "check_coverage", "uncovered"]

_COVERED = frozenset(
    f"{name}.v{version}"
    for version in (1, 2)
    for name in (
        "spacy.Tok2Vec",
        "spacy.Tok2VecListener",
        "spacy.MultiHashEmbed",
        "spacy.MaxoutWindowEncoder",
        "spacy.HashEmbedCNN",
        "spacy.TransitionBasedParser",
    )
)
_PARSER = "spacy.TransitionBasedParser.v2"


class NotCovered(Exception):
    """The pipeline is not of the kind that is compiled; the message says in what."""


def uncovered(directory: Path, components: str = "ner") -> str:
    """Say what is in the way of compiling a pipeline, as far as its files tell; empty if nothing is."""
    try:
        check_coverage(read_pipeline(directory), components)
    except NotCovered as obstacle:
        return str(obstacle)
    return ""


def check_coverage(pipeline: PipelineFiles, components: str = "ner") -> str:
    """Check what the files of a pipeline say, and give the name of its entity recognizer.

    Raises:
        NotCovered: it is not compiled.
    """
    names = active_components(pipeline, components).names
    for name in names:
        if pipeline.factory(name) not in {"ner", "tok2vec"}:
            raise NotCovered(f"{name} ({pipeline.factory(name) or 'without a factory'}) runs too")
    recognizers = [name for name in names if pipeline.factory(name) == "ner"]
    if len(recognizers) != 1:
        raise NotCovered(f"{len(recognizers)} entity recognizers run")
    for name in names:
        _check_architectures(pipeline, name)
    _check_parser(pipeline, recognizers[0])
    _check_vectors(pipeline, names)
    return recognizers[0]


def _check_architectures(pipeline: PipelineFiles, component: str) -> None:
    for architecture in sorted(pipeline.architectures(component)):
        if architecture not in _COVERED:
            raise NotCovered(f"{component} uses {architecture}")


def _check_parser(pipeline: PipelineFiles, ner: str) -> None:
    parser = pipeline.config[f"components.{ner}.model"]
    if parser.get("@architectures") != _PARSER:
        raise NotCovered(f"{ner} is no {_PARSER} but {parser.get('@architectures')}")
    if parser.get("state_type") != "ner" or parser.get("extra_state_tokens"):
        raise NotCovered(f"{ner} reads more of its states (state_type, extra_state_tokens)")


def _check_vectors(pipeline: PipelineFiles, names: tuple[str, ...]) -> None:
    """Refuse vectors that are no plain table. What spaCy saves says which they are, if any are read."""
    sections = (body for name in names for body in pipeline.sections(name).values())
    if not any(body.get("include_static_vectors") or body.get("pretrained_vectors") for body in sections):
        return
    saved = pipeline.directory / "vocab" / "vectors.cfg"
    mode = json.loads(saved.read_text(encoding="utf-8")).get("mode") if saved.is_file() else "default"
    if mode != "default":
        raise NotCovered(f"its static vectors are no plain table ({mode})")
