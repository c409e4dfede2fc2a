"""The model version: one hash of all that can change a span.

Rows of different versions are never mixed, and a finished document is not computed again while its
version stands. So the hash must be the same in every process and on every machine, and must not move
for what cannot matter: where the files lie, or the weights of components that do not run.

Not in it: code of custom components that a model package brings along. Give such a package a new
version in its meta.json when its code changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from ner_pipeline.errors import ModelError
from ner_pipeline.inference.components import active_components, cut_rule
from ner_pipeline.inference.pipeline_files import PipelineFiles, read_pipeline

__all__ = ["RULES", "is_unchanged", "model_version", "version_for_input"]

RULES = 2
"""Raised by hand whenever our own code gives other spans for the same model and text."""

_NLP_KEYS = ("lang", "tokenizer", "vectors", "before_creation", "after_creation", "after_pipeline_creation")
_SHARED = ("tokenizer", "vocab")


def model_version(directory: Path, components: str = "ner", normalize: bool = False) -> str:
    """Give 16 hex digits for the pipeline in `directory` with the components that `components` chooses.

    `normalize` is whether it is shown simpler characters than those of the text.
    """
    pipeline = read_pipeline(directory)
    names = active_components(pipeline, components).names
    total = hashlib.sha256(_settings(pipeline, names))
    for path in _files(directory, names):
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").digest()
        total.update(path.relative_to(directory).as_posix().encode() + b"\0" + digest)
    return version_for_input(total.hexdigest()[:16], normalize)


def is_unchanged(directory: Path, components: str, version: str) -> bool:
    """Tell whether the files of a pipeline are those of a version: what is gone, or half there, is not."""
    try:
        return model_version(directory, components) == version
    except (ModelError, OSError):
        return False


def version_for_input(version: str, normalize: bool) -> str:
    """Give the version of a model, whatever its extractor, by what it is shown of a text."""
    return hashlib.sha256(f"{version} normalize".encode()).hexdigest()[:16] if normalize else version


def _settings(pipeline: PipelineFiles, names: tuple[str, ...]) -> bytes:
    """Give all that matters besides the files, as canonical JSON."""
    nlp = pipeline.config["nlp"]
    content = {
        "rules": RULES,
        "spacy": version("spacy"),
        "model": [pipeline.name, pipeline.meta.get("lang")],
        "components": names,
        "cut": cut_rule(pipeline, names).key,
        "nlp": {key: nlp.get(key) for key in _NLP_KEYS},
        "nlp_parts": {key: body for key, body in pipeline.config.items() if key.startswith("nlp.")},
        "sections": {name: pipeline.sections(name) for name in names},
    }
    return json.dumps(content, sort_keys=True, ensure_ascii=True).encode()


def _files(directory: Path, names: tuple[str, ...]) -> Iterator[Path]:
    """Give the files of the components `names`, of the tokenizer and of the vocabulary, sorted.

    A component is saved as a folder or a file of its name, or as NAME.jsonl.
    """
    wanted = {*names, *_SHARED}
    for entry in sorted(directory.iterdir()):
        if entry.name in wanted or entry.name.partition(".")[0] in names:
            inside = sorted(entry.rglob("*")) if entry.is_dir() else [entry]
            yield from (path for path in inside if path.is_file())
