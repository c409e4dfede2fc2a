"""What assets and ops tell each other: S3 locations and small numbers, as JSON on S3.

Never texts, never Docs, never pickles, nothing on a local disk: any process on any machine can go on
from here. The handover of an asset lies at one place for each partition, that of an op below its run.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg
from pydantic import BaseModel

from ner_pipeline.errors import ObjectGone, StorageUnavailable
from ner_pipeline.orchestration.faults import MAX_RETRIES
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.storage.document_sets import SetKind
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import Baseline, Manifest, ModelRecord
from ner_pipeline.storage.objects import StoredObject, get_bytes, put_bytes
from ner_pipeline.storage.outcome_summary import OutcomeSummary

__all__ = [
    "Handover",
    "HandoverIOManager",
    "MergedSet",
    "PublishedSet",
    "RawSet",
    "ReadSet",
    "ShardDone",
    "ShardPlanned",
    "WorkPlan",
    "handover_io_manager",
]


class Handover(BaseModel, frozen=True):
    """Base of everything that is handed over."""


class ReadSet(Handover, frozen=True):
    """`documents`: a set version has been read."""

    key: str
    name: str
    kind: SetKind
    set_version: str
    total_bytes: int
    documents: StoredObject
    """The table of texts."""
    reading: StoredObject
    """The outcomes so far."""
    outcomes: dict[str, int]
    characters: int
    baseline: Baseline
    """What was published when this run began."""


class WorkPlan(Handover, frozen=True):
    """`plan_shards`: what is to be computed, and what need not be."""

    read: ReadSet
    model_version: str
    work: str
    """URI of the folder in which the shards of this computation stand."""
    plan: StoredObject
    """The table that says which row is computed in which shard."""
    shards: tuple[str, ...]
    planned_texts: int
    planned_characters: int
    reused: tuple[StoredObject, ...] = ()
    """The results that former runs of this set have published, in the form of shards."""
    reused_texts: int = 0
    recompute: bool = False
    """Whether also the shards that stand are computed anew."""


class ShardPlanned(Handover, frozen=True):
    """One shard for one `extract_shard`."""

    plan: WorkPlan
    shard: str
    texts: int
    characters: int


class ShardDone(Handover, frozen=True):
    """One shard stands on S3."""

    shard: str
    results: StoredObject
    texts: int
    failed: int
    characters: int
    seconds: float
    """How long computing it took, wherever and whenever that was."""
    computed_now: bool
    model: ModelRecord


class RawSet(Handover, frozen=True):
    """`raw_entities`: every planned text has its result."""

    plan: WorkPlan
    shards: tuple[ShardDone, ...]


class MergedSet(Handover, frozen=True):
    """`merged_entities`: the staged tables, valid as far as their maker knows."""

    raw: RawSet
    model: ModelRecord
    tables: dict[str, StoredObject]
    """The staged tables: entities, outcomes, quarantine. What the checks see is what is published."""
    rows: dict[str, int]
    """Rows of each staged table."""
    documents: dict[str, int]
    """Documents by outcome."""
    outcomes: OutcomeSummary
    """Why they came to that."""
    entities_by_label: dict[str, int]
    spans_trimmed: int
    spans_dropped: int


class PublishedSet(Handover, frozen=True):
    """`entities`: the set is published."""

    merged: MergedSet
    manifest: Manifest


_KINDS = {kind.__name__: kind for kind in Handover.__subclasses__()}


class HandoverIOManager(dg.IOManager):
    """Keeps handovers as JSON objects under `work/document_set=KEY/`."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Write one handover."""
        if not isinstance(obj, Handover):
            raise TypeError(f"{context.step_key} hands over a {type(obj).__name__}; only a Handover travels")
        content = json.dumps({"kind": type(obj).__name__, "value": obj.model_dump(mode="json")})
        with _retried():
            put_bytes(self.storage.client, self._place(context, context.partition_key), content.encode())

    def load_input(self, context: dg.InputContext) -> Handover:
        """Read what the upstream output handed over."""
        if context.upstream_output is None:
            raise TypeError(f"{context.name} has no upstream output")
        place = self._place(context.upstream_output, context.partition_key)
        try:
            with _retried():
                content = json.loads(get_bytes(self.storage.client, place))
        except ObjectGone as error:
            raise dg.Failure(
                f"{place} is not there: materialize the upstream asset of this partition first",
                allow_retries=False,
            ) from error
        return _KINDS[content["kind"]].model_validate(content["value"])

    def _place(self, output: dg.OutputContext, partition_key: str) -> S3Location:
        layout = self.storage.layout.of_set(partition_key)
        if output.has_asset_key:
            return layout.asset_handovers / f"{'-'.join(output.asset_key.path)}.json"
        run_id, *op_output = output.get_identifier()
        return layout.run(run_id) / f"{'/'.join(op_output)}.json"


@contextmanager
def _retried() -> Iterator[None]:
    """Let the step try again when S3 does not answer, as `faults` does for its body."""
    try:
        yield
    except StorageUnavailable as error:
        raise dg.RetryRequested(max_retries=MAX_RETRIES, seconds_to_wait=1) from error


@dg.io_manager(required_resource_keys={"storage"})
def handover_io_manager(context: dg.InitResourceContext) -> HandoverIOManager:
    """Use the storage that the steps use: one S3 client for a run, not two."""
    return HandoverIOManager(context.resources.storage)
