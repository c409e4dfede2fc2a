"""How much is measured: about twelve minutes on two cores, more with `--full`, a trial with `--small`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    text_share: float
    """The share of the texts that go through all the ways of `throughput`."""
    rounds: int
    """How often a figure is taken; the median counts."""
    batches: int
    """Batches after which the memory of a worker is read."""
    distinct_words: int
    records: int
    """Records of about 100 tokens from S3 to S3."""
    latency_chars: int
    one_document_sets: int
    listed_keys: tuple[int, ...]
    """Sizes of the inbox that the sensor looks through."""


SIZES = {
    "small": Size(0.02, 2, 10, 20_000, 1_000, 20_000, 2, (1_000,)),
    "default": Size(0.5, 3, 100, 1_000_000, 200_000, 1_000_000, 10, (1_000, 10_000)),
    "full": Size(1.0, 5, 100, 10_000_000, 200_000, 1_000_000, 50, (1_000, 10_000, 100_000)),
}
