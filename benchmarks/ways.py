"""The ways from texts to spans that are compared: what others do, and what this project does.

All run the same model, pruned to its NER, and give (start, end, label) of each entity of each text. A way is
opened once, with its model loaded wherever it will be needed, and then called again and again.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import spacy

from benchmarks import flops
from benchmarks.texts import MODEL, count_tokens
from ner_pipeline.inference.components import active_components
from ner_pipeline.inference.extractor import DEFAULT_LOADER, load_extractor
from ner_pipeline.inference.pipeline_files import find_pipeline, read_pipeline
from ner_pipeline.inference.pool import ExtractionPool
from ner_pipeline.inference.pool.cores import usable_cores
from ner_pipeline.inference.spans import Span

Entity = tuple[int, int, str]
Extract = Callable[[Sequence[str]], list[list[Entity]]]

NEUTRAL = ["It was so . " * 100] * 200
"""Enough to do that every worker is started and has loaded its model, in hardly any words."""


@dataclass(frozen=True)
class Way:
    name: str
    open: Callable[[], AbstractContextManager[Extract]]
    each_round_anew: bool = False
    """Opened anew for each measurement: it must not have seen the texts."""
    one_thread: bool = False
    """Computes on one core, so that its arithmetic may have one thread only."""
    finds: bool = True
    """Whether it gives entities at all."""


def load_pruned(model: str = MODEL) -> Any:
    """Load a model with its NER and what that listens to, and nothing else."""
    return spacy.load(find_pipeline(model), exclude=excluded(model))


def excluded(model: str = MODEL) -> list[str]:
    """Name the components that no way runs."""
    pipeline = read_pipeline(find_pipeline(model))
    return [name for name in pipeline.pipeline if name not in active_components(pipeline).names]


@contextmanager
def nlp_pipe(processes: int) -> Iterator[Extract]:
    nlp = load_pruned()
    yield lambda texts: [_entities(doc) for doc in nlp.pipe(texts, n_process=processes)]


@contextmanager
def process_pool() -> Iterator[Extract]:
    """What many write: a process pool that maps the pipeline over the texts, and gets Docs back."""
    with multiprocessing.Pool(CORES, initializer=_load_in_worker) as pool:
        yield lambda texts: [_entities(doc) for doc in pool.map(_doc, texts)]


@contextmanager
def extraction_pool(loader: str) -> Iterator[Extract]:
    """The worker pool of this project, with every worker started."""
    with ExtractionPool(MODEL, "cpu", loader=loader, chars_per_worker=1) as pool:

        def extract(texts: Sequence[str]) -> list[list[Entity]]:
            found = {int(result.id): result for result in pool.extract(_numbered(texts))}
            return [_plain(found[number].spans) for number in range(len(texts))]

        extract(NEUTRAL)
        yield extract


@contextmanager
def in_process() -> Iterator[Extract]:
    extractor = load_extractor(MODEL, "cpu")
    yield lambda texts: [_plain(spans) for spans in extractor.extract(texts)]


@contextmanager
def bare_products() -> Iterator[Extract]:
    """The matrix products of the model and nothing else: what one core could do at the most."""
    layers, counted = flops.products(load_pruned()), 0

    def multiply(texts: Sequence[str]) -> list[list[Entity]]:
        nonlocal counted
        counted = counted or count_tokens(tuple(texts))
        flops.multiply(layers, counted)
        return []

    yield multiply


@contextmanager
def ray_data() -> Iterator[Extract]:
    """Ray Data with an actor for each core. Only where Ray is installed: nothing here depends on it."""
    import ray

    ray.init(num_cpus=CORES, include_dashboard=False, log_to_driver=False)
    yield _through_ray
    ray.shutdown()


def _through_ray(texts: Sequence[str]) -> list[list[Entity]]:
    import ray

    rows = [{"number": number, "text": text} for number, text in enumerate(texts)]
    items = ray.data.from_items(rows, override_num_blocks=8 * CORES)
    done = items.map_batches(_RayActor, batch_size=256, concurrency=CORES).take_all()
    found = {row["number"]: row["entities"] for row in done}
    return [[(s, e, label) for s, e, label in found[number]] for number in range(len(texts))]


class _RayActor:
    def __init__(self) -> None:
        self._nlp = load_pruned()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        docs = self._nlp.pipe(map(str, batch["text"]))
        return {"number": batch["number"], "entities": [_entities(doc) for doc in docs]}


CORES = usable_cores()
ONE = "nlp.pipe, one process"
ALL = f"nlp.pipe, {CORES} processes"
COMPILED = "compiled, worker pool"
COMPILED_ONE = "compiled, one process"
BOUND = "bare matrix products, one core"

WAYS = (
    Way(ONE, lambda: nlp_pipe(1)),
    Way(ALL, lambda: nlp_pipe(CORES)),
    Way(f"Pool({CORES}).map, Docs back", process_pool),
    *((Way("Ray Data, an actor for each core", ray_data),) if importlib.util.find_spec("ray") else ()),
    Way(
        "spaCy extractor, worker pool",
        lambda: extraction_pool("ner_pipeline.inference.extractor:load_spacy_extractor"),
    ),
    Way("compiled, worker pool, first pass", lambda: extraction_pool(DEFAULT_LOADER), each_round_anew=True),
    Way(COMPILED, lambda: extraction_pool(DEFAULT_LOADER)),
    Way(COMPILED_ONE, in_process, one_thread=True),
    Way(BOUND, bare_products, one_thread=True, finds=False),
)


def _entities(doc: Any) -> list[Entity]:
    return [(entity.start_char, entity.end_char, entity.label_) for entity in doc.ents]


def _plain(spans: Sequence[Span]) -> list[Entity]:
    return [(span.start, span.end, span.label) for span in spans]


def _numbered(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    return ((str(number), text) for number, text in enumerate(texts))


_nlp: Any = None


def _load_in_worker() -> None:
    global _nlp
    _nlp = load_pruned()


def _doc(text: str) -> Any:
    return _nlp(text)
