"""One process for each way, so that ways cannot warm, slow or fatten each other.

The process waits for orders and idles in between: the ways take turns, and whatever else the machine does
meets all of them alike.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from benchmarks.texts import load_texts
from benchmarks.ways import WAYS, Entity, Extract, Way
from ner_pipeline.inference.pool.spawning import WorkerContext

AT_LEAST_S = 2.0
"""A way that is done sooner goes over the texts again: what takes a moment is measured badly."""
WARM_UPS = 2
"""Each worker of a pool meets other texts in each pass; after two passes it has met nearly all words."""
TRIED_TEXTS = 100
"""Stock spaCy keeps little from one text to the next, and is warm after so many."""


class Lap(NamedTuple):
    seconds: float
    passes: int


class WayProcess:
    """The parent's side."""

    def __init__(self, way: Way, share: float) -> None:
        context: Any = WorkerContext() if way.one_thread else get_context("spawn")
        self.way = way
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(way.name, share, theirs))
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        return int(self._process.pid or 0)

    def prepare(self) -> None:
        """Load models and warm up, outside of what is measured."""
        self._ask("prepare")

    def lap(self) -> Lap:
        """Take all texts through, and give the time."""
        lap: Lap = self._ask("lap")
        return lap

    def entities(self) -> list[list[Entity]]:
        """Give what the last lap has found."""
        entities: list[list[Entity]] = self._ask("entities")
        return entities

    def close(self) -> None:
        self._connection.close()
        self._process.join()

    def _ask(self, order: str) -> Any:
        try:
            self._connection.send(order)
            return self._connection.recv()
        except (EOFError, OSError) as error:
            raise RuntimeError(f"the process of the way {self.way.name!r} has ended; see above") from error


class _Runner:
    """The child's side."""

    def __init__(self, way: Way, texts: tuple[str, ...], stack: ExitStack) -> None:
        self._way, self._texts, self._stack = way, texts, stack
        self._extract: Extract | None = None
        self._found: list[list[Entity]] = []

    def prepare(self) -> None:
        if self._extract is None or self._way.each_round_anew:
            self._stack.close()
            self._extract = self._stack.enter_context(self._way.open())
            self._warm_up(self._extract)

    def lap(self) -> Lap:
        if self._extract is None:
            raise RuntimeError("prepare comes first")
        began, passes = time.perf_counter(), 0
        while True:
            self._found = self._extract(self._texts)
            passes += 1
            seconds = time.perf_counter() - began
            if seconds >= AT_LEAST_S or self._way.each_round_anew:
                return Lap(seconds, passes)

    def entities(self) -> list[list[Entity]]:
        return self._found

    def _warm_up(self, extract: Extract) -> None:
        if self._way.each_round_anew:
            return
        keeps_words = self._way.name.startswith("compiled") or not self._way.finds
        for _ in range(WARM_UPS):
            extract(self._texts if keeps_words else self._texts[:TRIED_TEXTS])


def _serve(name: str, share: float, connection: Connection) -> None:
    [way] = [way for way in WAYS if way.name == name]
    with ExitStack() as stack, suppress(EOFError):
        runner = _Runner(way, load_texts().share(share).texts, stack)
        orders = {"prepare": runner.prepare, "lap": runner.lap, "entities": runner.entities}
        while True:
            connection.send(orders[connection.recv()]())
