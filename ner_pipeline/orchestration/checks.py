"""Asset checks on what `merged_entities` has staged, before anything is published.

They read the tables back from S3 and share no code with their maker. Four of them block: if one fails,
`entities` does not run, and what was published before stands as it was. The others warn.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any

import dagster as dg

from ner_pipeline.documents.document import Outcome
from ner_pipeline.orchestration.assets.merged_entities import merged_entities as merged_entities_asset
from ner_pipeline.orchestration.faults import explained_faults
from ner_pipeline.orchestration.handover import MergedSet
from ner_pipeline.orchestration.partitions import document_sets
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.storage.manifests import read_manifest
from ner_pipeline.storage.tables import ENTITIES, OUTCOMES, QUARANTINE, iter_rows, table_schema

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
        entities = iter_rows(storage.local_copy(merged_entities.tables["entities"]))
        documents = iter_rows(storage.local_copy(read.documents), ["doc_id", "text"])
        rows, faults = 0, []
        for doc_id, found in groupby(entities, key=itemgetter("doc_id")):
            text = next((document["text"] for document in documents if document["doc_id"] == doc_id), "")
            for row, right in _cut_their_entities(found, text):
                rows += 1
                if not right:
                    faults.append(f"{doc_id} [{row['start']}:{row['end']}] {row['label']}")
    return dg.AssetCheckResult(
        passed=not faults, metadata={"rows": rows, "faults": len(faults), "first": faults[:_SHOWN]}
    )


def _cut_their_entities(rows: Iterable[dict[str, Any]], text: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """Tell of each row of one text whether it cuts its entity out.

    UTF-16 units are counted on from one row to the next: counting from the beginning of the text each time
    would take minutes over a long one. So a row that goes back in the text is a fault as well.
    """
    position = units = 0
    for row in rows:
        start, end = row["start"], row["end"]
        right = position <= start < end <= len(text) and text[start:end] == row["entity"]
        if right:
            units += _utf16_length(text[position:start])
            position = start
            inside = _utf16_length(text[start:end])
            right = (row["start_utf16"], row["end_utf16"]) == (units, units + inside)
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
        listed = iter_rows(storage.local_copy(read.reading), ["doc_id"])
        outcomes = iter_rows(
            storage.local_copy(merged_entities.tables["outcomes"]), ["doc_id", "outcome", "entities"]
        )
        known, counts, faults = set(Outcome), Counter[str](), []
        seen: set[str] = set()
        nothing: dict[str, Any] = {}
        for read_row, row in zip_longest(listed, outcomes, fillvalue=nothing):
            doc_id = row.get("doc_id")
            counts["listed"] += bool(read_row)
            counts["accounted for"] += bool(row)
            counts["entities"] += row.get("entities", 0)
            if doc_id != read_row.get("doc_id") or doc_id in seen or row["outcome"] not in known:
                faults.append(f"{read_row.get('doc_id', 'nothing')} became {doc_id or 'nothing'}")
            seen.add(str(doc_id))
    same_number = counts["entities"] == merged_entities.rows["entities"]
    return dg.AssetCheckResult(
        passed=not faults and same_number,
        metadata={
            "listed": counts["listed"],
            "accounted for": counts["accounted for"],
            "faults": len(faults),
            "first": faults[:_SHOWN],
            "entities of outcome rows": counts["entities"],
            "entity rows": merged_entities.rows["entities"],
        },
    )


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
