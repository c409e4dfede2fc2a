"""Loading a spaCy pipeline with just the components that run."""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import version

import spacy
from spacy.language import Language

from ner_pipeline.errors import ModelError
from ner_pipeline.inference.pipeline_files import PipelineFiles

__all__ = ["load_pipeline"]


def load_pipeline(pipeline: PipelineFiles, names: tuple[str, ...]) -> Language:
    """Load the pipeline with the components `names`, and no others. Without any it still tokenizes.

    Raises:
        ModelError: spaCy cannot load it.
    """
    exclude = [name for name in pipeline.pipeline if name not in names]
    try:
        with warnings.catch_warnings():
            # W095: another minor version than the one it was trained with. It is in the model version.
            warnings.filterwarnings("ignore", message=r"\[W095\]")
            nlp = spacy.load(pipeline.directory, exclude=exclude)
    except Exception as error:  # a config may name any function of any package
        raise ModelError(
            f"{pipeline.directory}: spaCy {version('spacy')} cannot load {pipeline.name} "
            f"({type(error).__name__}: {error}); install what the model requires: {_requirements(pipeline)}"
        ) from error
    for name in names:
        if name in nlp.disabled:
            nlp.enable_pipe(name)
    # The limit is for parsers, whose memory grows with the text; windows bound that already.
    nlp.max_length = sys.maxsize
    return nlp


def _requirements(pipeline: PipelineFiles) -> str:
    stated = pipeline.meta.get("requirements", [])
    return ", ".join([f"spacy{pipeline.meta.get('spacy_version', '')}", *map(str, stated)])
