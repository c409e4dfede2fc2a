"""One set of services for each directory."""

from __future__ import annotations

import fcntl
import os
import time
from typing import TYPE_CHECKING

from ner_pipeline.errors import NerPipelineError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["HomeLock"]


class HomeLock:
    """The lock on a directory of services, as two files beside it.

    The owner alone holds the first lock, so it is free the moment the owner is dead. The services inherit
    the second one, `descriptor`, so it is free when the last of them has ended: a new S3 server on the
    files of a dying one would damage them. A process number in a file could not tell the two cases apart,
    for numbers are used again.
    """

    def __init__(self, home: Path, *, leftovers_end_within_s: float = 20.0) -> None:
        self._home = home
        self._leftovers_end_within_s = leftovers_end_within_s
        self._owner: int | None = None
        self._services: int | None = None

    @property
    def descriptor(self) -> int:
        """The open file that services are to inherit."""
        if self._services is None:
            raise RuntimeError("the lock is not held")
        return self._services

    def acquire(self) -> None:
        """Take the lock. Waits only for what a dead owner left behind.

        Raises:
            NerPipelineError: another process runs services there.
        """
        self._home.parent.mkdir(parents=True, exist_ok=True)
        self._owner = _open(self._home.with_name(f"{self._home.name}.lock"))
        self._services = _open(self._home.with_name(f"{self._home.name}.services.lock"))
        if not _lock(self._owner, within_s=0):
            self.release()
            raise NerPipelineError(f"services are running on {self._home} already; end them first")
        if not _lock(self._services, within_s=self._leftovers_end_within_s):
            self.release()
            raise NerPipelineError(f"services of a former start still run on {self._home}; end them first")

    def release(self) -> None:
        """Give the lock back. Does nothing when it is not held."""
        for descriptor in filter(None, (self._services, self._owner)):
            os.close(descriptor)
        self._owner = self._services = None


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _lock(descriptor: int, *, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.1)
        else:
            return True
