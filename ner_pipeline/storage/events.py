"""What messages about the inbox say, and whether a tick has to look into it. Pure: no requests, no clock.

An event is a hint to look; the listing is the truth. So an event that comes twice, late, out of order or
never is harmless, and what it says of sizes, ETags and versions is not even read. Receiving messages is
done in `storage.event_queue`; what a look finds is judged by `storage.inbox`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from ner_pipeline.storage.inbox import Cursor
from ner_pipeline.storage.locations import S3Location

__all__ = ["Message", "read_message", "why_look"]


@dataclass(frozen=True, slots=True)
class Message:
    """What one message says."""

    created: tuple[S3Location, ...] = ()
    """The objects that were written, in whichever bucket."""
    is_understood: bool = True
    """Whether all of it is of a known form. What is not must be kept for a person."""

    def speaks_of(self, inbox: S3Location) -> bool:
        """Tell whether something was written in the inbox."""
        return any(place.bucket == inbox.bucket and place.key.startswith(inbox.key) for place in self.created)


_FOREIGN = Message(is_understood=False)
_NOTHING_NEW = Message()


def read_message(body: str) -> Message:
    """Read the body of a message, whoever has wrapped it. Nothing that stands in it raises.

    Known are the notifications of S3 and of servers that speak as it does, straight or through SNS, and the
    events of EventBridge. Of all of them only those about written objects say anything.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return _FOREIGN
    match content:
        case {"Records": [*records]}:
            return _joined([_record(record) for record in records])
        case {"Type": "Notification", "Message": str(wrapped)}:
            return read_message(wrapped)
        case {"source": "aws.s3", "detail-type": str(kind)}:
            return _event_bridge(kind, content.get("detail"))
        case {"Event": "s3:TestEvent"}:
            return _NOTHING_NEW
    return _FOREIGN


def _record(record: Any) -> Message:
    """Read one record of a notification. Some servers write `s3:` before the names of their events."""
    match record:
        case {
            "eventSource": "aws:s3" | "minio:s3" | "ceph:s3",
            "eventName": str(name),
            "s3": {"bucket": {"name": str(bucket)}, "object": {"key": str(key)}},
        }:
            is_new = name.removeprefix("s3:").startswith("ObjectCreated:")
            return Message((S3Location(bucket, unquote_plus(key)),)) if is_new else _NOTHING_NEW
    return _FOREIGN


def _event_bridge(kind: str, detail: Any) -> Message:
    """Read an event of EventBridge, which names the key as it is: decoding it would make another key."""
    if kind != "Object Created":
        return _NOTHING_NEW
    match detail:
        case {"bucket": {"name": str(bucket)}, "object": {"key": str(key)}}:
            return Message((S3Location(bucket, key),))
    return _FOREIGN


def _joined(parts: Sequence[Message]) -> Message:
    created = tuple(place for part in parts for place in part.created)
    return Message(created, all(part.is_understood for part in parts))


def why_look(cursor: Cursor, *, arrived: bool, fault: str, now: float, look_seconds: float) -> str:
    """Give the reason to list the inbox in this tick; empty where there is none.

    `arrived` says that a message spoke of the inbox, `fault` why the queue could not be read. Without the
    queue a tick looks as if there were none: that costs requests, and waiting would cost results.
    """
    if fault:
        return f"without its events: {fault}"
    if arrived:
        return "something has arrived"
    if cursor.wake_at is not None and now >= cursor.wake_at:
        return "a set was waiting"
    if not 0 <= now - cursor.looked_at < look_seconds:
        return f"nobody has looked for {look_seconds:g} s"
    return ""
