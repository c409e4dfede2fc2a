"""The network of a device process, as a worker sees it: the same three methods, computed elsewhere.

Four bytes go up for each token and sixteen come back for each entity. The types that are new travel with the
texts in which they first stand, so that a batch is one question and one answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Client

import numpy as np
from numpy.typing import NDArray

from ner_pipeline.inference.pool.shared_network import Failed, Reply, Request
from ner_pipeline.inference.pool.worker import DeviceGone

__all__ = ["DeviceError", "RemoteNetwork"]


class DeviceError(RuntimeError):
    """The network raised in the device process; the message is what it said there."""


class RemoteNetwork:
    """A `Network` that lives in the device process which listens at `address`. Use it from one thread.

    All that asks the process raises `DeviceGone` if it has ended.
    """

    def __init__(self, address: str) -> None:
        with _connected():
            self._connection = Client(address, "AF_UNIX")
        self.forget_types()

    def wait_until_loaded(self) -> None:
        """Wait for the word that the network is loaded, which comes once. To be called before `find`."""
        with _connected():
            self._connection.recv()

    def add_types(self, attributes: NDArray[np.uint64]) -> None:
        """Get to know new types: (n, columns). They are numbered on, from 0."""
        self._new.append(attributes)

    def forget_types(self) -> None:
        """Forget all types; the next ones are numbered from 0."""
        self._told = 0
        self._new: list[NDArray[np.uint64]] = []

    def find(self, types: NDArray[np.int32], lengths: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give the entities of texts; see `Network.find`."""
        new = np.concatenate(self._new) if self._new else np.empty((0, 0), np.uint64)
        reply = self._ask(Request(self._told, new, types, lengths))
        if isinstance(reply, Failed):
            # The types are told again with the next texts: whether they arrived is not known.
            raise DeviceError(reply.detail)
        self._told, self._new = self._told + len(new), []
        return reply

    def _ask(self, request: Request) -> Reply:
        with _connected():
            self._connection.send(request)
            reply: Reply = self._connection.recv()
        return reply


@contextmanager
def _connected() -> Iterator[None]:
    """Tell the end of the device process from all that may go wrong with a text."""
    try:
        yield
    except (OSError, EOFError) as error:
        raise DeviceGone(f"the device process has ended ({type(error).__name__}: {error})") from error
