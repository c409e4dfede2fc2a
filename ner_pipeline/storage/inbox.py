"""What the inbox sensor decides, as a pure function, and what it remembers, as immutable objects.

`plan_tick` gets a listing, the former state, the clock and the limits, and gives the runs to ask for
and the next state. No request is made in it. Around it stand `load_state` and `save_state`.

Why a full comparison of listings and no watermark on LastModified: S3 dates a multipart upload at its
*beginning*, so a file of an hour's upload appears an hour in the past, and any watermark loses it. And
why the state is an object of its own for each tick, written before the tick returns: a daemon that dies
in between finds the object of the tick it had not finished, and asks for exactly the same runs again,
which their run keys make harmless.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from ner_pipeline.errors import ObjectGone
from ner_pipeline.storage.document_sets import DocumentSet, Inbox, SetDescription, batch_of
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import (
    ABSENT,
    ListedObject,
    delete_objects,
    get_bytes,
    list_objects,
    put_bytes,
)

__all__ = [
    "Cursor",
    "FolderState",
    "InboxState",
    "SetRequest",
    "TickLimits",
    "TickPlan",
    "described_keys",
    "listing_digest",
    "load_state",
    "newest_tick",
    "plan_tick",
    "save_state",
]

KEPT_STATES = 20
"""Older states are removed. Only the newest one is read; the others are there for people."""

MAX_BATCH_MEMBERS = 10_000
"""More loose files become several batches, so that no description and no run grows without bound."""


class FolderState(BaseModel, frozen=True):
    """What is remembered of one folder set."""

    seen_version: str
    seen_since: float
    """When this version was first seen, in seconds of the sensor's own clock."""
    requested_version: str | None = None
    requested_at: float = 0.0
    requested_marker: float = 0.0
    """The date of the `_SUCCESS` that was there when the newest run was requested."""
    attempt: int = 0
    """How often a run was requested for this set: makes the run key of each request its own."""


class SetRequest(BaseModel, frozen=True):
    """One run to ask for."""

    key: str
    version: str
    attempt: int
    epoch: str
    description: SetDescription
    objects: int
    total_bytes: int

    @property
    def run_key(self) -> str:
        """Dagster never starts two runs with the same run key, whatever became of the first."""
        return f"{self.key}:{self.version}:{self.attempt}:{self.epoch}"


class InboxState(BaseModel, frozen=True):
    """What the sensor knew after tick number `tick`."""

    tick: int = 0
    at: float = 0.0
    """When that tick was, by the sensor's own clock."""
    epoch: str = ""
    """Made up with the first state: after RESULTS was emptied, run keys are such as Dagster has not seen."""
    folders: Mapping[str, FolderState] = {}
    loose: frozenset[str] = frozenset()
    """Fingerprints of (key, ETag) of the loose files that were given to a batch and still lie there."""
    requests: tuple[SetRequest, ...] = ()
    """What this tick asked for."""
    wake_at: float | None = None
    """When there is something to do even if nothing changes."""
    listing: str = ""
    """Digest of the listing that this tick saw."""


class Cursor(BaseModel, frozen=True):
    """What Dagster keeps between two ticks: a tick with nothing to do needs to read no state."""

    tick: int = 0
    """The number of the newest state."""
    listing: str = ""
    """Digest of the listing behind that state."""
    wake_at: float | None = None
    """When there is something to do even if nothing changes."""
    looked_at: float = 0.0
    """When the inbox was last listed and all of it was considered."""

    @classmethod
    def after(cls, state: InboxState, *, listing: str) -> Cursor:
        """Point to a state. One that was made from another listing than the present one counts as no look."""
        looked_at = state.at if state.listing == listing else 0.0
        return cls(tick=state.tick, listing=state.listing, wake_at=state.wake_at, looked_at=looked_at)


@dataclass(frozen=True, slots=True)
class TickLimits:
    """How patient and how busy one tick is."""

    settle_seconds: float = 30.0
    sets_per_tick: int = 100


@dataclass(frozen=True, slots=True)
class TickPlan:
    """What a tick does."""

    requests: tuple[SetRequest, ...]
    state: InboxState


def listing_digest(objects: Iterable[ListedObject]) -> str:
    """Hash a listing, so that a tick can tell that nothing has changed."""
    digest = hashlib.sha256()
    for entry in sorted(objects):
        digest.update(repr((entry.key, entry.etag, entry.size, entry.last_modified.timestamp())).encode())
    return digest.hexdigest()[:32]


def plan_tick(inbox: Inbox, state: InboxState, *, now: float, limits: TickLimits, listing: str) -> TickPlan:
    """Decide which sets are ready and not yet asked for.

    A run is requested when the listed version of a set differs from that of the set's newest request.
    Sets beyond `limits.sets_per_tick` wait for the next tick, folders in order of their names first.
    """
    seen = {name: _look(state.folders.get(name), found, now) for name, found in inbox.folders.items()}
    ready = [name for name, folder in seen.items() if _is_ready(inbox.folders[name], folder, now, limits)]
    chosen = ready[: limits.sets_per_tick]
    asked = {name: _ask(seen[name], inbox.folders[name], now) for name in chosen}

    known, fresh = _split_loose(inbox.loose, state.loose)
    batches = _batches(fresh, limits.sets_per_tick - len(chosen))
    given = {_fingerprint(member) for batch in batches for member in batch.members}

    requests = tuple(
        [_request(inbox.folders[name], asked[name].attempt, state.epoch) for name in chosen]
        + [_request(batch, 1, state.epoch) for batch in batches]
    )
    gone = {name: _forget(folder) for name, folder in state.folders.items() if name not in seen}
    folders = {**gone, **seen, **asked}
    next_state = InboxState(
        tick=state.tick + 1,
        at=now,
        epoch=state.epoch,
        folders=folders,
        loose=frozenset(known | given),
        requests=requests,
        wake_at=_wake_at(seen, chosen, ready, len(given) < len(fresh), now, limits),
        listing=listing,
    )
    return TickPlan(requests, next_state)


def _look(remembered: FolderState | None, found: DocumentSet, now: float) -> FolderState:
    version = found.version
    if remembered is None:
        return FolderState(seen_version=version, seen_since=now)
    if remembered.seen_version != version:
        # What was asked for may have met this version; if the former one comes back, it is asked for again.
        return remembered.model_copy(
            update={"seen_version": version, "seen_since": now, "requested_version": None}
        )
    return remembered


def _forget(folder: FolderState) -> FolderState:
    """Let a folder that is gone be new when it comes back, but for its number of attempts.

    Its next request must not repeat an old run key.
    """
    return folder.model_copy(update={"seen_version": "", "requested_version": None, "requested_marker": 0.0})


def _is_ready(found: DocumentSet, folder: FolderState, now: float, limits: TickLimits) -> bool:
    if folder.requested_version == folder.seen_version:
        return False
    # A marker that was there at the last request says nothing of what has happened since: of a folder that is
    # being deleted file by file, it often goes last.
    freshly_marked = found.is_marked_complete and found.marked > folder.requested_marker
    return freshly_marked or now - folder.seen_since >= limits.settle_seconds


def _ask(folder: FolderState, found: DocumentSet, now: float) -> FolderState:
    return folder.model_copy(
        update={
            "requested_version": folder.seen_version,
            "requested_at": now,
            "requested_marker": found.marked,
            "attempt": folder.attempt + 1,
        }
    )


def _request(document_set: DocumentSet, attempt: int, epoch: str) -> SetRequest:
    return SetRequest(
        key=document_set.key,
        version=document_set.version,
        attempt=attempt,
        epoch=epoch,
        description=SetDescription.of(document_set),
        objects=len(document_set.members),
        total_bytes=document_set.total_bytes,
    )


def _fingerprint(entry: ListedObject) -> str:
    return hashlib.sha256(repr((entry.key, entry.etag)).encode()).hexdigest()[:24]


def _split_loose(
    listed: Sequence[ListedObject], known: Collection[str]
) -> tuple[set[str], list[ListedObject]]:
    """Part the loose files into fingerprints of known ones and the new ones."""
    still_there: set[str] = set()
    fresh: list[ListedObject] = []
    for entry in listed:
        mark = _fingerprint(entry)
        if mark in known:
            still_there.add(mark)
        else:
            fresh.append(entry)
    return still_there, fresh


def _batches(fresh: Sequence[ListedObject], room: int) -> list[DocumentSet]:
    starts = range(0, len(fresh), MAX_BATCH_MEMBERS)
    return [batch_of(fresh[start : start + MAX_BATCH_MEMBERS]) for start in list(starts)[: max(room, 0)]]


def _wake_at(
    seen: Mapping[str, FolderState],
    chosen: Sequence[str],
    ready: Sequence[str],
    loose_left: bool,
    now: float,
    limits: TickLimits,
) -> float | None:
    if loose_left or len(ready) > len(chosen):
        return now
    waiting = [
        folder.seen_since + limits.settle_seconds
        for name, folder in seen.items()
        if folder.requested_version != folder.seen_version and name not in chosen
    ]
    return min(waiting, default=None)


def load_state(client: Any, results: S3Location, tick: int) -> InboxState | None:
    """Read the state after a tick; None where that tick never got so far."""
    try:
        content = get_bytes(client, Layout(results).inbox_state(tick))
    except ObjectGone:
        return None
    return InboxState.model_validate_json(content)


def save_state(client: Any, results: S3Location, state: InboxState, *, exclusive: bool = True) -> None:
    """Write the state of a tick, once and for ever, and remove old ones.

    `exclusive` is for servers that honour conditional puts: of two sensors one wins.

    Raises:
        Superseded: another sensor has written this tick; its plan holds.
    """
    layout = Layout(results)
    condition = ABSENT if exclusive else None
    put_bytes(client, layout.inbox_state(state.tick), state.model_dump_json().encode(), condition=condition)
    if (old := state.tick - KEPT_STATES) > 0:
        delete_objects(client, results.bucket, [layout.inbox_state(old).key])


def newest_tick(client: Any, results: S3Location) -> int:
    """Find the number of the newest state, for a sensor that has lost its cursor; 0 where there is none."""
    entries = list_objects(client, results / "state/inbox-")
    numbers = [
        int(match[1]) for entry in entries if (match := re.search(r"state/inbox-(\d+)\.json$", entry.key))
    ]
    return max(numbers, default=0)


def described_keys(client: Any, results: S3Location) -> list[str]:
    """List the partition keys of all sets that were ever asked for."""
    place = results / "state/sets/"
    return [entry.key.removeprefix(place.key).removesuffix(".json") for entry in list_objects(client, place)]
