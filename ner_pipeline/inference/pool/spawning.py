"""How worker processes are started, and how they end when their parent does.

Imports nothing heavy: a new process reads this module first, before NumPy is loaded.

Start method spawn: fork breaks CUDA and can deadlock with threads. Two things differ from plain spawn.
The number of threads has to be in the environment before NumPy or Numba loads, so it is set around the start.
And `__main__` is not run again in the worker, which needs nothing of it: for a Dagster run that would
import all of Dagster into each worker, and for a script without `if __name__ == "__main__"` never end.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

__all__ = ["WorkerContext", "WorkerProcess", "end_with_parent"]

ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
"""One worker per core and one thread per worker: more threads only fight for the same cores."""

PARENT_POLL_S = 2.0

_starting = threading.Lock()


class WorkerProcess(SpawnProcess):
    """A spawned process that sees one thread per core and no `__main__` of its parent."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 - the name multiprocessing gives this hook
        with _starting, _one_thread(), _without_main():
            return SpawnProcess._Popen(process_obj)


class WorkerContext(SpawnContext):
    """The multiprocessing context that starts `WorkerProcess`."""

    Process = WorkerProcess


def end_with_parent() -> None:
    """End this process as soon as its parent has ended, however that happened."""
    threading.Thread(target=_wait_for_parent, name="end-with-parent", daemon=True).start()


def _wait_for_parent() -> None:
    """Wait for the parent's end, then leave at once.

    The sentinel is a pipe that a process forked by the parent may hold open, so the parent's id is
    looked at too.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    while not multiprocessing.connection.wait([parent.sentinel], timeout=PARENT_POLL_S):
        if os.getppid() != parent.pid:
            break
    os._exit(1)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _without_main() -> Iterator[None]:
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
