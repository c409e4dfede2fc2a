"""Asset checks on what `merged_entities` has staged, before anything is published.

They read the tables back from S3 and share no code with their maker. Four of them block: if one fails,
`entities` does not run, and what was published before stands as it was. The others warn.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ner_pipeline.documents.document import Outcome
from ner_pipeline.orchestration.assets.merged_entities import merged_entities as merged_entities_asset
from ner_pipeline.orchestration.faults import explained_faults
from ner_pipeline.orchestration.handover import MergedSet
from ner_pipeline.orchestration.partitions import document_sets
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.storage.manifests import read_manifest
from ner_pipeline.storage.tables import ENTITIES, OUTCOMES, QUARANTINE, iter_batches, table_schema

__all__ = ["all_checks"]

MAX_FAILURE_RATE = 0.05
"""Share of documents that may be rejected or failed without a warning."""
MIN_FAILED = 5
"""So many failed documents are taken for accidents, whatever the size of the set."""
MAX_FAILED_SHARE = 0.5
"""Share of the documents with text that may fail before nothing is published."""
MAX_DENSITY_RATIO = 3.0
"""How far entities per character may move from the published result without a warning."""
MIN_DRIFT_ENTITIES = 50
"""Below this number of entities a ratio says nothing."""
MAX_SHARD_RATIO = 1.5
"""How much dearer than the average the dearest shard may be without a warning."""

_SHOWN = 5


@dg.asset_check(asset=merged_entities_asset, blocking=True, partitions_def=document_sets)
def spans_match_text(
    context: dg.AssetCheckExecutionContext, merged_entities: MergedSet, storage: Storage
) -> dg.AssetCheckResult:
    """Every row's offsets cut its entity out of the stored text, in code points and in UTF-16 units."""
    with explained_faults(context):
        read = merged_entities.raw.plan.read
        entities = _columns(storage.local_copy(merged_entities.tables["entities"]), _CUT)
        documents = _columns(storage.local_copy(read.documents), ["doc_id", "text"])
        rows, faults = 0, []
        for doc_id, found in groupby(entities, key=itemgetter(0)):
            text = next((text for other, text in documents if other == doc_id), "")
            for (_, _, label, start, end, *_), right in _cut_their_entities(found, text):
                rows += 1
                if not right:
                    faults.append(f"{doc_id} [{start}:{end}] {label}")
    return dg.AssetCheckResult(
        passed=not faults, metadata={"rows": rows, "faults": len(faults), "first": faults[:_SHOWN]}
    )


_CUT = ["doc_id", "entity", "label", "start", "end", "start_utf16", "end_utf16"]


def _columns(path: Path, names: list[str]) -> Iterator[tuple[Any, ...]]:
    """Give some columns of a table row by row, in this order."""
    for batch in iter_batches(path, names):
        yield from zip(*(batch[name].to_pylist() for name in names), strict=True)


def _cut_their_entities(rows: Iterable[tuple[Any, ...]], text: str) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Tell of each row of one text whether it cuts its entity out.

    UTF-16 units are counted on from one row to the next: counting from the beginning of the text each time
    would take minutes over a long one. So a row that goes back in the text is a fault as well.
    """
    position = units = 0
    for row in rows:
        _, entity, _, start, end, *edges = row
        right = position <= start < end <= len(text) and text[start:end] == entity
        if right:
            units += _utf16_length(text[position:start])
            position = start
            inside = _utf16_length(text[start:end])
            right = edges == [units, units + inside]
        yield row, right


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@dg.asset_check(asset=merged_entities_asset, blocking=True, partitions_def=document_sets)
def every_document_accounted_for(
    context: dg.AssetCheckExecutionContext, merged_entities: MergedSet, storage: Storage
) -> dg.AssetCheckResult:
    """Each document has exactly one outcome row: listed = ok + empty + rejected + failed + skipped."""
    with explained_faults(context):
        read = merged_entities.raw.plan.read
        listed = pq.read_table(storage.local_copy(read.reading), columns=["doc_id"])["doc_id"]
        outcomes = pq.read_table(
            storage.local_copy(merged_entities.tables["outcomes"]), columns=["doc_id", "outcome", "entities"]
        )
    faults = list(_unaccounted(listed, outcomes))
    entities = pc.sum(outcomes["entities"]).as_py() or 0
    return dg.AssetCheckResult(
        passed=not faults and entities == merged_entities.rows["entities"],
        metadata={
            "listed": len(listed),
            "accounted for": len(outcomes),
            "faults": len(faults),
            "first": faults[:_SHOWN],
            "entities of outcome rows": entities,
            "entity rows": merged_entities.rows["entities"],
        },
    )


def _unaccounted(listed: pa.ChunkedArray, outcomes: pa.Table) -> Iterator[str]:
    """Tell of each document that has no outcome row in its own place, a strange one, or more than one."""
    found, both = outcomes["doc_id"], min(len(listed), len(outcomes))
    is_other = pc.not_equal(listed.slice(0, both), found.slice(0, both))
    is_known = pc.is_in(outcomes["outcome"].slice(0, both), value_set=pa.array(list(Outcome), pa.string()))
    wrong = pc.or_(is_other, pc.invert(is_known))
    pairs = zip(*(ids.slice(0, both).filter(wrong).to_pylist() for ids in (listed, found)), strict=True)
    yield from (f"{doc_id} became {other}" for doc_id, other in pairs)
    yield from (f"{doc_id} became nothing" for doc_id in listed.slice(both).to_pylist())
    yield from (f"nothing became {doc_id}" for doc_id in found.slice(both).to_pylist())
    if repeated := len(found) - len(found.unique()):
        yield f"{repeated} outcome rows are of documents that have one already"


@dg.asset_check(asset=merged_entities_asset, blocking=True, partitions_def=document_sets)
def schema_is_fixed(
    context: dg.AssetCheckExecutionContext, merged_entities: MergedSet, storage: Storage
) -> dg.AssetCheckResult:
    """Every staged table has the one schema of its kind, also with zero rows."""
    fixed = {"entities": ENTITIES, "outcomes": OUTCOMES, "quarantine": QUARANTINE}
    with explained_faults(context):
        differing = [
            name
            for name, schema in fixed.items()
            if not table_schema(storage.local_copy(merged_entities.tables[name])).equals(schema)
        ]
    return dg.AssetCheckResult(passed=not differing, metadata={"differing": differing})


@dg.asset_check(asset=merged_entities_asset, blocking=True, partitions_def=document_sets)
def extractor_works(merged_entities: MergedSet) -> dg.AssetCheckResult:
    """The extractor has not failed on most of what it was given.

    One document that kills its worker costs itself. An extractor that fails on nearly all of them is broken,
    and must not replace a good result with an empty one.
    """
    failed = merged_entities.documents[Outcome.FAILED]
    given = failed + merged_entities.documents[Outcome.OK]
    broken = failed >= MIN_FAILED and failed > given * MAX_FAILED_SHARE
    return dg.AssetCheckResult(passed=not broken, metadata={"failed": failed, "documents with text": given})


@dg.asset_check(asset=merged_entities_asset, partitions_def=document_sets)
def failure_rate(merged_entities: MergedSet) -> dg.AssetCheckResult:
    """Few documents are rejected or failed."""
    total = sum(merged_entities.documents.values())
    bad = merged_entities.documents[Outcome.REJECTED] + merged_entities.documents[Outcome.FAILED]
    rate = bad / total if total else 0.0
    return _warning(rate <= MAX_FAILURE_RATE, {"rate": rate, "rejected or failed": bad, "documents": total})


@dg.asset_check(asset=merged_entities_asset, partitions_def=document_sets)
def entity_density_drift(
    context: dg.AssetCheckExecutionContext, merged_entities: MergedSet, storage: Storage
) -> dg.AssetCheckResult:
    """Entities per character are near those of what is published of this set."""
    with explained_faults(context):
        published = read_manifest(storage.client, storage.layout.of_set(context.partition_key))
    now, characters = merged_entities.rows["entities"], merged_entities.raw.plan.read.characters
    if published is None or not published.characters or not characters:
        return _warning(True, {"compared with": "nothing published before"})
    before = published.entities
    if max(now, before) < MIN_DRIFT_ENTITIES:
        return _warning(True, {"compared with": f"{before} entities, too few to tell"})
    # One entity more on both sides keeps a set that had none comparable.
    ratio = ((now + 1) / characters) / ((before + 1) / published.characters)
    return _warning(
        1 / MAX_DENSITY_RATIO <= ratio <= MAX_DENSITY_RATIO, {"ratio": ratio, "before": before, "now": now}
    )


@dg.asset_check(asset=merged_entities_asset, partitions_def=document_sets)
def shard_balance(merged_entities: MergedSet) -> dg.AssetCheckResult:
    """The dearest shard costs little more than the average one."""
    costs = [shard.seconds for shard in merged_entities.raw.shards]
    if len(costs) < 2 or not sum(costs):
        return _warning(True, {"shards": len(costs)})
    ratio = max(costs) / (sum(costs) / len(costs))
    return _warning(ratio <= MAX_SHARD_RATIO, {"shards": len(costs), "dearest over average": ratio})


def _warning(passed: bool, metadata: dict[str, Any]) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=passed, severity=dg.AssetCheckSeverity.WARN, metadata=metadata)


all_checks = [
    spans_match_text,
    every_document_accounted_for,
    schema_is_fixed,
    extractor_works,
    failure_rate,
    entity_density_drift,
    shard_balance,
]
