"""What to run again, as pure functions: partitions without the result they should have, or with an old one.

Reading Dagster's records and asking for runs is done in `orchestration.schedules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["PartitionRecord", "Repairs", "choose_backfills", "choose_repairs", "needs_repair"]


@dataclass(frozen=True, slots=True)
class PartitionRecord:
    """What is known of one partition."""

    key: str
    published_set_version: str | None = None
    published_model_version: str | None = None
    wanted_set_version: str | None = None
    """The version that the sensor last asked for; None where it does not tell (a batch has only one)."""
    in_flight: bool = False
    """A run of it is queued or running."""
    attempts: int = 0
    """How many runs of it have failed since its wanted version was asked for."""


@dataclass(frozen=True, slots=True)
class Repairs:
    """What a repair tick does."""

    chosen: list[PartitionRecord] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    """Keys of partitions that had all their attempts. A person has to look; a run by hand always works."""
    left: int = 0
    """How many wait for the next tick."""


def needs_repair(record: PartitionRecord) -> bool:
    """Whether the result that should be there is not: no run, a failed one, or one of a former version."""
    if record.published_set_version is None:
        return True
    return record.wanted_set_version not in (None, record.published_set_version)


def choose_repairs(records: Iterable[PartitionRecord], *, limit: int, max_attempts: int) -> Repairs:
    """Choose at most `limit` partitions to repair; those with the fewest attempts go first."""
    broken = [record for record in records if needs_repair(record) and not record.in_flight]
    open_cases = sorted(
        (record for record in broken if record.attempts < max_attempts), key=lambda r: (r.attempts, r.key)
    )
    return Repairs(
        chosen=open_cases[:limit],
        given_up=sorted(record.key for record in broken if record.attempts >= max_attempts),
        left=max(0, len(open_cases) - limit),
    )


def choose_backfills(
    records: Sequence[PartitionRecord], model_version: str, *, limit: int
) -> list[PartitionRecord]:
    """Choose at most `limit` partitions whose published result another model version has made."""
    outdated = (
        record
        for record in records
        if record.published_model_version not in (None, model_version) and not record.in_flight
    )
    return sorted(outdated, key=lambda record: record.key)[:limit]
