"""One network for many clients: what the device process computes, without processes or sockets.

Each client numbers the token types that it has met in its own way, so the same word is another number for
each. Here they are one type, known to the network once. A type becomes known when it first stands in a text:
so the network may forget all of them when they grow too many, and learn again those that are still used.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Failed", "Network", "Reply", "Request", "SharedNetwork"]

MOST_TYPES = 2_000_000
"""So many types are known at a time. A novel has 20,000; each takes some 200 bytes here."""


class Network(Protocol):
    """What turns token types into spans; it numbers the types from 0, as they are added."""

    def add_types(self, attributes: NDArray[np.uint64]) -> None:
        """Get to know new types: (n, columns)."""
        ...

    def find(self, types: NDArray[np.int32], lengths: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give the entities of texts.

        types: (tokens,), the texts one behind the other; lengths: (texts,), the tokens of each. Gives
        (entities, 4): text, first token, token behind the last, label; by text and token.
        """
        ...

    def forget_types(self) -> None:
        """Forget all types; the next ones are numbered from 0."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """The texts of a client, and the types that are new in them."""

    first_new: int
    """The client's number of the first new type; types from here on that were told before are void."""
    attributes: NDArray[np.uint64]
    """(new types, columns)."""
    types: NDArray[np.int32]
    """(tokens,): the client's numbers."""
    lengths: NDArray[np.int32]
    """(texts,)."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The network raised on this request."""

    detail: str


Reply = NDArray[np.int32] | Failed


@dataclass(slots=True)
class _Client:
    """The types of one client: their attributes, and the network's number of each, -1 for none.

    Both have room for more, so that telling a few more types does not copy all.
    """

    attributes: NDArray[np.uint64] = field(default_factory=lambda: np.empty((0, 0), np.uint64))
    numbers: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    def learn(self, first: int, attributes: NDArray[np.uint64]) -> None:
        end = first + len(attributes)
        if end > len(self.numbers):
            self._make_room(2 * end, attributes.shape[1])
        self.attributes[first:end] = attributes
        self.numbers[first:] = -1

    def _make_room(self, size: int, columns: int) -> None:
        known = len(self.numbers)
        attributes, numbers = np.zeros((size, columns), np.uint64), np.full(size, -1, np.int32)
        if known:
            attributes[:known], numbers[:known] = self.attributes, self.numbers
        self.attributes, self.numbers = attributes, numbers


class SharedNetwork:
    """Answers the requests of all clients with one network."""

    def __init__(self, network: Network, most_types: int = MOST_TYPES) -> None:
        self._network = network
        self._most_types = most_types
        self._number_of: dict[bytes, int] = {}
        self._clients: dict[Hashable, _Client] = {}
        self._proven: NDArray[np.uint64] | None = None

    def answer(self, requests: Sequence[tuple[Hashable, Request]]) -> list[Reply]:
        """Compute requests together, each from another client; if that fails, each alone.

        Raises what the network raises if it is broken, as a GPU is after some faults: no request is to blame.
        """
        try:
            return self._find(requests)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others must not pay for it
            # Where it stopped is not known, nor then what the network still knows.
            self._forget()
            if len(requests) == 1:
                self._check()
                return [Failed(f"{type(error).__name__}: {error}")]
        return [reply for request in requests for reply in self.answer([request])]

    def drop(self, client: Hashable) -> None:
        """Forget a client that is gone."""
        self._clients.pop(client, None)

    def _find(self, requests: Sequence[tuple[Hashable, Request]]) -> list[Reply]:
        """Ask the network once for the texts of all requests, and deal the entities out again."""
        used = [(self._told(client, request), request.types) for client, request in requests]
        self._make_known(used)
        found = self._network.find(
            np.concatenate([client.numbers[types] for client, types in used]),
            np.concatenate([request.lengths for _, request in requests]),
        )
        self._remember(used)
        ends = np.cumsum([len(request.lengths) for _, request in requests])
        parts = np.split(found, np.searchsorted(found[:, 0], ends[:-1]))
        firsts = [0, *ends[:-1].tolist()]
        return [
            part - np.array([first, 0, 0, 0], np.int32) for part, first in zip(parts, firsts, strict=True)
        ]

    def _remember(self, used: Sequence[tuple[_Client, NDArray[np.int32]]]) -> None:
        """Keep a type that has been computed, for `_check`."""
        if self._proven is None:
            self._proven = next((client.attributes[types[:1]] for client, types in used if len(types)), None)

    def _check(self) -> None:
        """Compute once more what has been computed before."""
        if self._proven is not None:
            self._network.add_types(self._proven)
            self._network.find(np.zeros(1, np.int32), np.ones(1, np.int32))
            self._forget()

    def _told(self, key: Hashable, request: Request) -> _Client:
        client = self._clients.setdefault(key, _Client())
        if len(request.attributes):
            client.learn(request.first_new, request.attributes)
        return client

    def _make_known(self, used: Sequence[tuple[_Client, NDArray[np.int32]]]) -> None:
        """Give each type that is used its number; all together if they are too many with the older ones."""
        fresh = self._unknown(used)
        if self._number_of and len(self._number_of) + len(fresh) > self._most_types:
            self._forget()
            fresh = self._unknown(used)
        if fresh:
            self._network.add_types(np.stack(list(fresh.values())))
            first = len(self._number_of)
            self._number_of.update({key: number for number, key in enumerate(fresh, first)})
        for client, types in used:
            self._number(client, types)

    def _unknown(self, used: Iterable[tuple[_Client, NDArray[np.int32]]]) -> dict[bytes, NDArray[np.uint64]]:
        """Give the attributes of each type that the network does not know, once."""
        rows = (row for client, types in used for row in client.attributes[_unnumbered(client, types)])
        return {key: row for row in rows if (key := row.tobytes()) not in self._number_of}

    def _number(self, client: _Client, types: NDArray[np.int32]) -> None:
        new = _unnumbered(client, types)
        client.numbers[new] = [self._number_of[row.tobytes()] for row in client.attributes[new]]

    def _forget(self) -> None:
        self._network.forget_types()
        self._number_of.clear()
        for client in self._clients.values():
            client.numbers.fill(-1)


def _unnumbered(client: _Client, types: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.unique(types[client.numbers[types] < 0])
