"""What Dagster knows of all published results, told in one query however many partitions there are.

The data version of `entities` says which set version and which model version a result is of. Dagster keeps
no other tag in a form that can be asked for all partitions at once.
"""

from __future__ import annotations

from typing import NamedTuple

import dagster as dg
from dagster import DagsterEventType

__all__ = ["Published", "published_version", "published_versions"]

_DATA_VERSION_TAG = "dagster/data_version"


class Published(NamedTuple):
    """Which versions a published result is of."""

    set_version: str
    model_version: str


def published_version(set_version: str, model_version: str) -> dg.DataVersion:
    """Give the data version of a published result."""
    return dg.DataVersion(f"{set_version}-{model_version}")


def published_versions(instance: dg.DagsterInstance) -> dict[str, Published]:
    """Give the versions of the newest published result of each partition that has one."""
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        dg.AssetKey("entities"), DagsterEventType.ASSET_MATERIALIZATION, [_DATA_VERSION_TAG]
    )
    found = {key: values[_DATA_VERSION_TAG].partition("-") for key, values in tags.items()}
    return {
        key: Published(set_version, model_version) for key, (set_version, _, model_version) in found.items()
    }
