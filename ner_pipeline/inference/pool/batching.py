"""How much goes together: into a batch, to another worker, ahead of the work. Plain numbers.

All are in characters of the pipeline that runs: where one is dearer, there are fewer in a batch. Which
windows make a batch is for `ledger`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

__all__ = ["BATCH_CHARS", "CHARS_PER_WORKER", "Batching"]

BATCH_CHARS = 120_000
"""About 25,000 tokens, 0.2 s of one core for a compiled pipeline: far more than it costs to send them. Larger
ones make the parent slower, since it then meets each text again when that has left the cache."""
CHARS_PER_WORKER = 480_000
"""Another worker is started for each so much work: it takes about as long as loading a small model."""
SMALLEST = 4
"""The last batches become smaller, so that all workers end together: down to this part of a whole one."""
WAITING = 4
"""So many batches for each worker are read ahead. Each may be given two at once, which leaves it two."""
OPEN_CHARS = 20_000_000
"""Texts are held up to here: a bound on memory. With many workers it is what they need instead."""
OPEN = 2 * WAITING
"""So many batches for each worker: those that wait, those that are computed, and texts of which a part is."""


@dataclass(frozen=True, slots=True)
class Batching:
    """The sizes for one pipeline and so many workers."""

    workers: int
    batch: int
    smallest: int
    per_worker: int

    @classmethod
    def of(cls, workers: int, cost: int, batch_chars: int, chars_per_worker: int) -> Self:
        """Make them from what a character that costs 1 would have."""
        batch, smallest = batch_chars // cost, min(batch_chars, BATCH_CHARS // SMALLEST) // cost
        return cls(workers, max(1, batch), max(1, smallest), max(1, chars_per_worker // cost))

    def wants_more(self, waiting: int, held: int) -> bool:
        """Tell whether to read on: the workers could run dry, and memory allows it."""
        room = held < max(OPEN_CHARS, OPEN * self.batch * self.workers)
        return waiting < WAITING * self.batch * self.workers and (room or not waiting)

    def share(self, waiting: int) -> int:
        """Give the size of the next batch."""
        return min(self.batch, max(self.smallest, waiting // (2 * self.workers)))

    def needs_worker(self, waiting: int, there: int) -> bool:
        """Tell whether another worker is worth its start."""
        return there < self.workers and waiting > self.per_worker * there

    def may_queue(self, waiting: int) -> bool:
        """Tell whether so much waits that a busy worker may be given a second batch."""
        return waiting > 2 * self.batch * self.workers
