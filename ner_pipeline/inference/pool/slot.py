"""One worker process and the tasks it has been given.

Each worker sits in a pebble pool of its own. Workers of one pebble pool share a pipe and its locks, so one
that is killed while it receives or sends would leave the lock taken and half a message in the pipe for all
the others. A pool of one is thrown away whole when its worker dies, and nobody else notices.

Knows nothing of texts: a task is a function of `worker`, its arguments, and the windows it stands for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from pebble import ProcessExpired, ProcessPool

from ner_pipeline.inference.pool.ledger import Piece
from ner_pipeline.inference.pool.spawning import WorkerContext
from ner_pipeline.inference.pool.worker import BatchFailed, LoaderCall, prepare

__all__ = ["Died", "Lost", "Slot", "Task", "TimedOut"]

START_LIMIT_S = 900.0
"""How long a worker may take to load its model before it is given up."""
JOIN_LIMIT_S = 30.0
"""How long to wait for the threads of a discarded pool; they are daemons."""


@dataclass(frozen=True, slots=True)
class Died:
    """The worker died over this task."""

    detail: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The task ran longer than its limit; its worker was killed."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker was gone before it began this task."""


@dataclass(slots=True, eq=False)
class Task:
    """A task given to a worker."""

    future: Future[Any]
    pieces: Sequence[Piece] = field(default_factory=tuple)

    def result(self) -> Any:
        """Give what the worker gave, or `Died`, `TimedOut`, `Lost`."""
        if self.future.cancelled():
            return Lost()
        error = self.future.exception()
        if error is None:
            return self.future.result()
        if isinstance(error, ProcessExpired):
            return Died(f"its worker process ended with {_exit(error.exitcode)}")
        if isinstance(error, TimeoutError):
            return TimedOut()
        if isinstance(error, BrokenProcessPool):
            return Lost()
        return BatchFailed(f"{type(error).__name__}: {error}")


class Slot:
    """A place for one worker."""

    def __init__(self, load: LoaderCall, address: str) -> None:
        self._pool = ProcessPool(
            max_workers=1,
            initializer=prepare,
            initargs=(load, address),
            context=WorkerContext(),
        )
        self._born = time.monotonic()
        self.ready = False
        """Whether the worker has answered once, so that its model is loaded."""
        self.faults = 0
        """How many batches in a row it has failed on."""
        self.tasks: list[Task] = []

    def submit(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        timeout_s: float,
        pieces: Sequence[Piece] = (),
    ) -> None:
        """Queue a task. Its time starts when the worker begins with it."""
        future: Future[Any]
        try:
            future = self._pool.schedule(function, args=arguments, timeout=timeout_s)
        except (RuntimeError, BrokenProcessPool) as error:
            future = Future()
            future.set_exception(BrokenProcessPool(str(error)))
        self.tasks.append(Task(future, pieces))

    def done(self) -> list[Task]:
        """Take out the tasks that are done."""
        done = [task for task in self.tasks if task.future.done()]
        self.tasks = [task for task in self.tasks if task not in done]
        return done

    @property
    def usable(self) -> bool:
        """Whether the slot can still do what it was given.

        A pool that broke while a task was on its way to it never answers for that task.
        """
        late = time.monotonic() - self._born > START_LIMIT_S
        waits = not self.ready and not any(task.future.running() for task in self.tasks)
        return bool(self._pool.active) and not (late and waits)

    def stop(self) -> None:
        """Tell the worker to end."""
        self._pool.stop()  # type: ignore[no-untyped-call]

    def join(self) -> None:
        """Wait until the worker has ended."""
        thread = Thread(target=self._pool.join, name="join-worker", daemon=True)
        thread.start()
        thread.join(JOIN_LIMIT_S)


def _exit(code: int | None) -> str:
    """Say how a process ended; SIGKILL nearly always means that memory ran out."""
    if code is None:
        return "an unknown exit code"
    if code == -9:
        return "signal 9 (killed, most often because memory ran out)"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
