"""Where a set stands, told by S3 alone: whoever uploads need not reach Dagster to ask.

The run notes that it runs, the failure sensor notes why it failed, the manifest says that it is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

from ner_pipeline.errors import ObjectGone
from ner_pipeline.storage.document_sets import DocumentSet, group_inbox, list_set, read_description
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import Manifest, read_manifest
from ner_pipeline.storage.objects import get_bytes, list_objects, put_bytes

__all__ = [
    "Progress",
    "SetState",
    "SetStatus",
    "decide_state",
    "note_progress",
    "read_progress",
    "set_status",
]


class SetState(StrEnum):
    """Where a set stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Progress(BaseModel, frozen=True):
    """What the newest run of a set noted."""

    state: SetState
    set_version: str
    run_id: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SetStatus:
    """The answer to: what about my documents?"""

    key: str
    state: SetState
    reason: str = ""
    manifest: Manifest | None = None
    """What is published, also where it is of a former version."""


def note_progress(client: Any, results: S3Location, key: str, progress: Progress) -> None:
    """Note what a run of the set is doing."""
    put_bytes(client, Layout(results).of_set(key).progress, progress.model_dump_json().encode())


def read_progress(client: Any, results: S3Location, key: str) -> Progress | None:
    """Read what the newest run noted; None before the first one."""
    try:
        return Progress.model_validate_json(get_bytes(client, Layout(results).of_set(key).progress))
    except ObjectGone:
        return None


def set_status(client: Any, inbox: S3Location, results: S3Location, key: str) -> SetStatus:
    """Tell where the set of a partition key stands."""
    listed = _find_set(client, inbox, results, key)
    manifest = read_manifest(client, Layout(results).of_set(key))
    state, reason = decide_state(
        version=None if listed is None or listed.is_gone else listed.version,
        published=None if manifest is None else manifest.set_version,
        progress=read_progress(client, results, key),
    )
    return SetStatus(key, state, reason, manifest)


def decide_state(
    *, version: str | None, published: str | None, progress: Progress | None
) -> tuple[SetState, str]:
    """Put together what was uploaded, what is published and what the newest run noted.

    A run that computes what is already published (a forced one) does not make a set less done.
    """
    if version is None and published is not None:
        return SetState.DONE, "its upload is no longer in the inbox; the published result stays"
    if version is None:
        return SetState.UNKNOWN, "no such set: nothing in the inbox has this key"
    if published == version:
        return SetState.DONE, ""
    if progress is None or progress.set_version != version:
        return SetState.QUEUED, "waiting for the sensor, or for a free place in the run queue"
    return progress.state, progress.reason


def _find_set(client: Any, inbox: S3Location, results: S3Location, key: str) -> DocumentSet | None:
    """Find the set of a key, also before the sensor has seen it."""
    description = read_description(client, results, key)
    if description is not None:
        return list_set(client, inbox, description)
    folders = group_inbox(list_objects(client, inbox), inbox).folders.values()
    return next((folder for folder in folders if folder.key == key), None)
