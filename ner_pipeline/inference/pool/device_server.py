"""What runs in the device process: take in the requests that wait, compute them together, answer.

One thread computes. Another accepts clients, and one for each client receives, so that a client which is
slow or dies holds up nobody. What is computed is for `shared_network`; how a worker asks, for
`remote_network`; who starts and replaces the process, for `device_process`.
"""

from __future__ import annotations

import socket
import threading
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from ner_pipeline.inference.pool.shared_network import Reply, Request, SharedNetwork

__all__ = ["serve"]

TOGETHER_TOKENS = 500_000
"""About so many tokens are computed together at most: a bound on memory."""
LOADED = "loaded"
"""The first word to each client; there is nobody to say it before."""

Client: TypeAlias = "Connection[Any, Any]"


class Inbox:
    """The requests of all clients, as they arrive."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._arrived: SimpleQueue[tuple[Client, Request | None]] = SimpleQueue()
        threading.Thread(target=self._accept, name="accept", daemon=True).start()

    def take(self) -> tuple[list[tuple[Client, Request]], list[Client]]:
        """Wait for something to arrive; give the requests that wait, and the clients that have left."""
        requests: list[tuple[Client, Request]] = []
        left: list[Client] = []
        item: tuple[Client, Request | None] | None = self._arrived.get()
        while item is not None:
            client, request = item
            if request is None:
                left.append(client)
            else:
                requests.append((client, request))
            tokens = sum(len(request.types) for _, request in requests)
            item = self._next() if tokens < TOGETHER_TOKENS else None
        return requests, left

    def _next(self) -> tuple[Client, Request | None] | None:
        try:
            return self._arrived.get_nowait()
        except Empty:
            return None

    def _accept(self) -> None:
        while True:
            client: Client = Connection(self._listener.accept()[0].detach())
            threading.Thread(target=self._receive, args=(client,), name="receive", daemon=True).start()

    def _receive(self, client: Client) -> None:
        try:
            client.send(LOADED)
            while True:
                self._arrived.put((client, client.recv()))
        except (OSError, EOFError):
            self._arrived.put((client, None))


def serve(listener: socket.socket, network: SharedNetwork) -> None:
    """Answer until the process is ended, or the network broken: then what it raises ends the process."""
    inbox = Inbox(listener)
    while True:
        requests, left = inbox.take()
        replies = network.answer(requests) if requests else []
        for (client, _), reply in zip(requests, replies, strict=True):
            _send(client, reply)
        for client in left:
            network.drop(client)
            client.close()


def _send(client: Client, reply: Reply) -> None:
    try:
        client.send(reply)
    except OSError:
        # It has left, and its thread says so.
        return
