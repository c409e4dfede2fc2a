"""What to run again, as pure functions: partitions without the result they should have, or with an old one.

Reading Dagster's records and asking for runs is done in `orchestration.schedules`. How many are asked for
in one tick is decided there too, since only who looks into the inbox knows which can be run at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["Candidates", "PartitionRecord", "backfill_candidates", "needs_repair", "repair_candidates"]


@dataclass(frozen=True, slots=True)
class PartitionRecord:
    """What is known of one partition."""

    key: str
    published_set_version: str | None = None
    published_model_version: str | None = None
    wanted_set_version: str | None = None
    """The version that the sensor last asked for; None where it does not tell (a batch has only one)."""
    in_flight: bool = False
    """A run of it is queued or running, or has just been asked for."""
    cancelled: bool = False
    """Its newest run was cancelled, by a person."""
    attempts: int = 0
    """How many runs have ended since this version, or this model, was asked for; interrupted ones apart."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What could be run again."""

    in_order: list[PartitionRecord] = field(default_factory=list)
    """The least tried first, so that one that always fails keeps nobody waiting."""
    given_up: list[str] = field(default_factory=list)
    """Keys of partitions that had all their attempts. A person has to look; a run by hand always works."""


def needs_repair(record: PartitionRecord) -> bool:
    """Whether the result that should be there is not: no run, a failed one, or one of a former version."""
    if record.in_flight or record.cancelled:
        return False
    if record.published_set_version is None:
        return True
    return record.wanted_set_version not in (None, record.published_set_version)


def repair_candidates(records: Iterable[PartitionRecord], *, max_attempts: int) -> Candidates:
    """Put the partitions that need a repair in order."""
    return _in_order((record for record in records if needs_repair(record)), max_attempts)


def backfill_candidates(
    records: Iterable[PartitionRecord], model_version: str, *, max_attempts: int
) -> Candidates:
    """Put the partitions whose published result another model version has made in order."""
    outdated = (
        record
        for record in records
        if record.published_model_version not in (None, model_version) and not record.in_flight
    )
    return _in_order(outdated, max_attempts)


def _in_order(records: Iterable[PartitionRecord], max_attempts: int) -> Candidates:
    candidates = Candidates()
    for record in sorted(records, key=lambda record: (record.attempts, record.key)):
        if record.attempts < max_attempts:
            candidates.in_order.append(record)
        else:
            candidates.given_up.append(record.key)
    return candidates
