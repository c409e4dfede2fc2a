"""Which components of a pipeline run, and what follows from them: where its texts may be cut.

Fixing the components matters twice. Speed: `en_core_web_sm` spends a third of its time on a token-to-vector
layer that its NER does not listen to. Results: a parser sets sentence starts, which an entity must not
cross, so entities with and without it differ. Reads the config only; no weights, no spaCy.
"""

from __future__ import annotations

from dataclasses import dataclass

from ner_pipeline.errors import ModelError
from ner_pipeline.inference.pipeline_files import PipelineFiles
from ner_pipeline.inference.windows import CutRule

__all__ = [
    "ENTITY_WRITERS",
    "ActiveComponents",
    "active_components",
    "cut_rule",
    "leaks_in_batches",
]

ENTITY_WRITERS = frozenset({"ner", "beam_ner", "entity_ruler", "span_ruler"})
"""Factories whose components write entities, and whose labels are therefore the model's."""

_NER = frozenset({"ner", "beam_ner"})
_RULERS = frozenset({"entity_ruler", "span_ruler"})
_TRANSFORMERS = frozenset({"transformer", "curated_transformer"})
_VECTOR_SOURCES = _TRANSFORMERS | {"tok2vec"}
_TOKEN_ARCHITECTURES = ("Tok2Vec.", "Tok2VecListener.", "MultiHashEmbed.", "HashEmbedCNN.", "CharacterEmbed.")
_WINDOW_ENCODERS = ("MaxoutWindowEncoder.", "MishWindowEncoder.")
_LOCAL_ARCHITECTURES = (*_TOKEN_ARCHITECTURES, *_WINDOW_ENCODERS, "TransitionBasedParser.")
_LEAKING_ARCHITECTURES = ("MishWindowEncoder.",)

TRANSFORMER_WHOLE_CHARS = 200_000
"""Up to here a transformer gets a document whole. 35,000 words: a novel's part, and a minute on one core."""


@dataclass(frozen=True, slots=True)
class ActiveComponents:
    """The components that run, in the order of the pipeline."""

    names: tuple[str, ...]
    why: str


def active_components(pipeline: PipelineFiles, choice: str = "ner") -> ActiveComponents:
    """Choose the components: `ner`, `all`, or a list of names between commas."""
    wanted = choice.strip()
    if wanted == "all":
        names = [name for name in pipeline.pipeline if name not in pipeline.disabled]
        active = ActiveComponents(tuple(names), "all components that the pipeline enables")
    elif wanted == "ner":
        active = _for_entities(pipeline)
    else:
        active = _listed(pipeline, wanted)
    if not active.names:
        raise ModelError(f"{pipeline.name}: no component would run; {_choices(pipeline)}")
    return active


def cut_rule(pipeline: PipelineFiles, names: tuple[str, ...]) -> CutRule:
    """Tell how texts may be cut when the components `names` run."""
    factories = {pipeline.factory(name) for name in names}
    if factories & _TRANSFORMERS:
        # Its strided windows start at the document's start: a cut moves the grid, and with it the result.
        return CutRule(
            whole_chars=TRANSFORMER_WHOLE_CHARS,
            own_segments=80,
            overlap_segments=4,
            exact=False,
            cost=8,
            why=f"transformer: documents whole up to {TRANSFORMER_WHOLE_CHARS} characters, beyond it windows",
        )
    obstacle = _reach_of(pipeline, names)
    if obstacle:
        return CutRule(exact=False, why=f"windows, approximate: {obstacle}")
    return CutRule(why="windows: a token sees only a few tokens on each side")


def leaks_in_batches(pipeline: PipelineFiles, names: tuple[str, ...]) -> bool:
    """Tell whether a text's result depends on its neighbours in a batch.

    `MishWindowEncoder` puts no padding between the documents of a batch.
    """
    used = {architecture for name in names for architecture in pipeline.architectures(name)}
    return any(name.split(".", 1)[-1].startswith(_LEAKING_ARCHITECTURES) for name in used)


def _for_entities(pipeline: PipelineFiles) -> ActiveComponents:
    enabled = [name for name in pipeline.pipeline if name not in pipeline.disabled]
    ner = [name for name in enabled if pipeline.factory(name) in _NER]
    if not ner:
        return _for_rules(pipeline, enabled)
    needed = {source for name in ner for source in _upstream(pipeline, name)} | set(ner)
    why = f"{', '.join(ner)} and what it listens to"
    left_out = [name for name in enabled if pipeline.factory(name) in _RULERS]
    if left_out:
        why += f"; {', '.join(left_out)} left out, NER_COMPONENTS=all would run it"
    return ActiveComponents(tuple(name for name in enabled if name in needed), why)


def _for_rules(pipeline: PipelineFiles, enabled: list[str]) -> ActiveComponents:
    """Without NER: everything up to the last component that writes entities, since rules may look at tags."""
    writers = [index for index, name in enumerate(enabled) if pipeline.factory(name) in ENTITY_WRITERS]
    if not writers:
        raise ModelError(
            f"{pipeline.name}: no enabled component is known to write entities (ner, entity_ruler); "
            + _choices(pipeline)
        )
    names = tuple(enabled[: writers[-1] + 1])
    return ActiveComponents(names, f"no ner component: the rules of {names[-1]} and all before it")


def _listed(pipeline: PipelineFiles, choice: str) -> ActiveComponents:
    wanted = {name.strip() for name in choice.split(",") if name.strip()}
    unknown = sorted(wanted.difference(pipeline.pipeline))
    if unknown or not wanted:
        raise ModelError(f"NER_COMPONENTS={choice}: {pipeline.name} has no {unknown}; {_choices(pipeline)}")
    return ActiveComponents(
        tuple(name for name in pipeline.pipeline if name in wanted), f"NER_COMPONENTS={choice}"
    )


def _upstream(pipeline: PipelineFiles, component: str) -> set[str]:
    """Give the components whose vectors `component` listens to."""
    position = pipeline.pipeline.index(component)
    sources = [name for name in pipeline.pipeline[:position] if pipeline.factory(name) in _VECTOR_SOURCES]
    named: set[str] = set()
    for body in pipeline.sections(component).values():
        if "Listener" in str(body.get("@architectures", "")):
            upstream = str(body.get("upstream", body.get("upstream_name", "*")))
            named.update([upstream] if upstream in sources else sources)
    return named


def _reach_of(pipeline: PipelineFiles, names: tuple[str, ...]) -> str:
    """Say what makes a token depend on more than its neighbourhood, if anything does."""
    tokenizer = str(pipeline.config.get("nlp.tokenizer", {}).get("@tokenizers", ""))
    inline = pipeline.config["nlp"].get("tokenizer")
    tokenizer = tokenizer or (str(inline.get("@tokenizers", "")) if isinstance(inline, dict) else "")
    if tokenizer != "spacy.Tokenizer.v1":
        return f"the tokenizer {tokenizer or '(unnamed)'} does not split at white space alone"
    for name in names:
        factory = pipeline.factory(name)
        if factory not in _RULERS | {"ner", "tok2vec"}:
            return f"{name} ({factory}) may look at the whole text"
        for architecture in sorted(pipeline.architectures(name)):
            if not architecture.split(".", 1)[-1].startswith(_LOCAL_ARCHITECTURES):
                return f"{name} uses {architecture}, which may look at the whole text"
    return ""


def _choices(pipeline: PipelineFiles) -> str:
    return f"set NER_COMPONENTS to ner, all, or some of {', '.join(pipeline.pipeline) or '(nothing)'}"
