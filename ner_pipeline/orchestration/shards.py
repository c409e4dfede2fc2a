"""How texts are packed into shards: pure, and the same on every machine and in every attempt.

A shard is the checkpoint: what stands on S3 under its digest is not computed again. So the packing may
depend on nothing but the texts and the target size.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Shard", "TextToDo", "pack_shards"]

LARGE_SHARE = 0.05
"""A text of more than this share of a shard is placed by weight, not in table order."""


@dataclass(frozen=True, slots=True)
class TextToDo:
    """One distinct text: the first row of the documents table that holds it, and its length."""

    row: int
    sha256: str
    characters: int


@dataclass(frozen=True, slots=True)
class Shard:
    """A group of texts that one step computes."""

    digest: str
    texts: tuple[TextToDo, ...]
    """In table order."""

    @property
    def characters(self) -> int:
        """Its cost, in characters."""
        return sum(text.characters for text in self.texts)


def pack_shards(texts: Iterable[TextToDo], target_characters: int) -> list[Shard]:
    """Pack texts into shards of about equal cost, near the target.

    Large texts go first, longest first, each into the lightest shard (Graham's LPT rule, within a third
    of the best possible). The many small ones then fill the shards in table order, one shard after the
    other: that keeps the balance within one small text, and each shard's rows close together, so that a
    shard need not read the whole table.
    """
    todo = sorted(texts, key=lambda text: text.row)
    total = sum(text.characters for text in todo)
    if not todo:
        return []
    count = min(len(todo), max(1, math.ceil(total / target_characters)))
    share = total / count
    large = [text for text in todo if text.characters > share * LARGE_SHARE]
    groups = _lightest_first(large, count)
    _fill_in_order(groups, [text for text in todo if text.characters <= share * LARGE_SHARE], share)
    shards = [_shard(group) for group in groups if group]
    return sorted(shards, key=lambda shard: (-shard.characters, shard.digest))


def _lightest_first(large: Sequence[TextToDo], count: int) -> list[list[TextToDo]]:
    groups: list[list[TextToDo]] = [[] for _ in range(count)]
    weights = [(0, number) for number in range(count)]
    for text in sorted(large, key=lambda text: (-text.characters, text.row)):
        weight, number = heapq.heappop(weights)
        groups[number].append(text)
        heapq.heappush(weights, (weight + text.characters, number))
    return groups


def _fill_in_order(groups: list[list[TextToDo]], small: Sequence[TextToDo], share: float) -> None:
    weights = [sum(text.characters for text in group) for group in groups]
    number = 0
    for text in small:
        while weights[number] >= share and number < len(groups) - 1:
            number += 1
        groups[number].append(text)
        weights[number] += text.characters


def _shard(group: Sequence[TextToDo]) -> Shard:
    in_order = tuple(sorted(group, key=lambda text: text.row))
    digest = hashlib.sha256("".join(sorted(text.sha256 for text in in_order)).encode()).hexdigest()[:16]
    return Shard(digest, in_order)
