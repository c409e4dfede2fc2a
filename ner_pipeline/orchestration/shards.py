"""How texts are packed into shards: pure, and the same on every machine and in every attempt.

A shard is the checkpoint: what stands on S3 under its digest is not computed again. So the packing may
depend on nothing but the texts and the target size.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["TEXTS_TO_DO", "Shard", "pack_shards"]

LARGE_SHARE = 0.05
"""A text of more than this share of a shard is placed by weight, not in table order."""

TEXTS_TO_DO = pa.schema([("row", pa.int64()), ("text_sha256", pa.string()), ("n_chars", pa.int64())])
"""One row per distinct text: the first row of the documents table that holds it, its hash, its length."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A group of texts that one step computes."""

    digest: str
    texts: pa.Table
    """`TEXTS_TO_DO`, in table order."""
    characters: int
    """Its cost."""


def pack_shards(texts: pa.Table, target_characters: int) -> list[Shard]:
    """Pack the rows of `TEXTS_TO_DO` into shards of about equal cost, near the target.

    Large texts go first, longest first, each into the lightest shard (Graham's LPT rule, within a third
    of the best possible). The many small ones then fill the shards in table order, one shard after the
    other: that keeps the balance within one small text, and each shard's rows close together, so that a
    shard need not read the whole table.
    """
    if not len(texts):
        return []
    todo = texts.sort_by("row")
    groups = _groups(todo["n_chars"].to_numpy(), target_characters)
    order = np.argsort(groups, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    shards = (_shard(todo.take(group)) for group in members)
    return sorted(shards, key=lambda shard: (-shard.characters, shard.digest))


def _groups(characters: NDArray[np.int64], target: int) -> NDArray[np.int64]:
    """Give the number of each text's shard, int64[texts]."""
    total = int(characters.sum())
    count = min(len(characters), max(1, math.ceil(total / target)))
    share = total / count
    groups = np.empty_like(characters)
    is_large = characters > share * LARGE_SHARE
    groups[is_large], weights = _lightest_first(characters[is_large], count)
    groups[~is_large] = _filled_in_order(characters[~is_large], weights, share)
    return groups


def _lightest_first(characters: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], list[int]]:
    """Give the number of each large text's shard, and the weight of each shard."""
    groups = np.empty_like(characters)
    weights = [(0, group) for group in range(count)]
    for text in np.argsort(-characters, kind="stable"):
        weight, group = weights[0]
        groups[text] = group
        heapq.heapreplace(weights, (weight + int(characters[text]), group))
    return groups, [weight for weight, _ in sorted(weights, key=itemgetter(1))]


def _filled_in_order(
    characters: NDArray[np.int64], weights: Sequence[int], share: float
) -> NDArray[np.int64]:
    """Give the number of each small text's shard: each is filled up to its share, the last takes the rest."""
    begins = np.concatenate(([0], np.cumsum(characters)))
    ends = [0]
    for weight in weights[:-1]:
        full = np.searchsorted(begins, begins[ends[-1]] + share - weight)
        ends.append(int(np.clip(full, ends[-1], len(characters))))
    return np.searchsorted(ends[1:], np.arange(len(characters)), side="right")


def _shard(texts: pa.Table) -> Shard:
    digest = hashlib.sha256("".join(sorted(texts["text_sha256"].to_pylist())).encode()).hexdigest()[:16]
    return Shard(digest, texts, pc.sum(texts["n_chars"]).as_py())
