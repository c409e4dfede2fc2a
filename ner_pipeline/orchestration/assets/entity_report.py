"""`entity_report`: what a person wants to see of a set after a run.

Tables and one small chart as metadata of the asset, and a page with sample documents on S3. How it
looks is decided in `orchestration.report`.
"""

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import dagster as dg

from ner_pipeline.documents.document import Outcome
from ner_pipeline.orchestration.faults import explained_faults
from ner_pipeline.orchestration.handover import PublishedSet
from ner_pipeline.orchestration.partitions import document_sets
from ner_pipeline.orchestration.report import (
    bar_chart,
    html_page,
    reason_table,
    record_table,
    shard_table,
    throughput,
)
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.storage.manifests import Manifest
from ner_pipeline.storage.objects import put_bytes
from ner_pipeline.storage.tables import iter_rows

__all__ = ["entity_report"]

TOP_ENTITIES = 20
PREVIEW_ROWS = 10
WORST_DOCUMENTS = 10
SAMPLE_DOCUMENTS = 5
SAMPLE_CHARS = 3000

_BAD = (Outcome.FAILED, Outcome.REJECTED, Outcome.SKIPPED)


@dg.asset(partitions_def=document_sets, group_name="ner", kinds={"html"})
def entity_report(
    context: dg.AssetExecutionContext, entities: PublishedSet, storage: Storage
) -> dg.MaterializeResult[Any]:
    """Counts, top entities, throughput, balance, worst documents, and a page with samples."""
    with explained_faults(context):
        manifest = entities.manifest
        entity_file = _local(storage, manifest, "entities")
        outcome_file = _local(storage, manifest, "outcomes")
        page = storage.layout.of_set(manifest.partition_key).report
        put_bytes(
            storage.client,
            page,
            _page(storage, manifest, entity_file).encode("utf-8"),
            ContentType="text/html; charset=utf-8",
        )
        metadata = _metadata(entities, entity_file, outcome_file)
    return dg.MaterializeResult(metadata={**metadata, "report page": dg.MetadataValue.path(str(page))})


def _local(storage: Storage, manifest: Manifest, table: str) -> Path:
    return storage.local_copy(manifest.tables[table].uri, etag=manifest.tables[table].etag)


def _metadata(published: PublishedSet, entity_file: Path, outcome_file: Path) -> dict[str, Any]:
    manifest, merged = published.manifest, published.merged
    shards = merged.raw.shards
    speed = throughput(shards)
    labels = sorted(manifest.entities_by_label.items(), key=lambda item: (-item[1], item[0]))
    return {
        "entities on S3": dg.MetadataValue.path(manifest.tables["entities"].uri),
        "documents": sum(manifest.documents.values()),
        "entities": manifest.entities,
        "documents by outcome": reason_table(_reasons(outcome_file)),
        "entities by label": record_table(
            ({"label": name, "entities": count} for name, count in labels), ["label", "entities"]
        ),
        "label chart": dg.MetadataValue.md(bar_chart(manifest.entities_by_label, "Entities by label")),
        "top entities": record_table(_top_entities(entity_file), ["entity", "label", "mentions"]),
        "throughput (characters/s)": round(speed) if speed else "nothing had to be computed",
        "texts reused": merged.raw.plan.reused_texts,
        "shard balance": shard_table(shards),
        "model": str(manifest.model),
        "device": manifest.model.device,
        "extractor": f"{manifest.model.extractor}: {manifest.model.why}",
        "preview": record_table(_preview(entity_file), ["doc_id", "entity", "label", "start", "end"]),
        "worst documents": record_table(_worst(outcome_file), ["doc_id", "outcome", "reason", "detail"]),
        "quarantined spans": manifest.tables["quarantine"].rows,
    }


def _reasons(outcome_file: Path) -> list[tuple[str, str, int]]:
    counts = Counter(
        (row["outcome"], row["reason"]) for row in iter_rows(outcome_file, ["outcome", "reason"])
    )
    return [
        (outcome, reason, count)
        for (outcome, reason), count in sorted(counts.items(), key=lambda item: -item[1])
    ]


def _top_entities(entity_file: Path) -> list[dict[str, Any]]:
    counts = Counter((row["entity"], row["label"]) for row in iter_rows(entity_file, ["entity", "label"]))
    top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:TOP_ENTITIES]
    return [{"entity": entity, "label": label, "mentions": count} for (entity, label), count in top]


def _preview(entity_file: Path) -> list[dict[str, Any]]:
    return list(islice(iter_rows(entity_file, ["doc_id", "entity", "label", "start", "end"]), PREVIEW_ROWS))


def _worst(outcome_file: Path) -> list[dict[str, Any]]:
    rows = iter_rows(outcome_file, ["doc_id", "outcome", "reason", "detail"])
    return list(islice((row for row in rows if row["outcome"] in _BAD), WORST_DOCUMENTS))


def _page(storage: Storage, manifest: Manifest, entity_file: Path) -> str:
    facts = {
        "set": manifest.name,
        "set version": manifest.set_version,
        "published": manifest.published_at.isoformat(timespec="seconds"),
        **{f"documents {outcome}": count for outcome, count in manifest.documents.items()},
        "entities": manifest.entities,
        "model": manifest.model,
        "device": manifest.model.device,
        "entities on S3": manifest.tables["entities"].uri,
    }
    return html_page(
        f"Entities of {manifest.name}",
        facts,
        manifest.entities_by_label,
        _samples(storage, manifest, entity_file),
    )


def _samples(storage: Storage, manifest: Manifest, entity_file: Path) -> list[dict[str, Any]]:
    """Give the beginning of the first few documents that have entities there."""
    spans: dict[str, list[dict[str, Any]]] = {}
    for row in iter_rows(entity_file, ["doc_id", "start", "end", "label"]):
        if row["doc_id"] not in spans and len(spans) == SAMPLE_DOCUMENTS:
            break
        if row["end"] <= SAMPLE_CHARS:
            spans.setdefault(row["doc_id"], []).append(
                {name: row[name] for name in ("start", "end", "label")}
            )
    texts: dict[str, str] = {}
    for row in iter_rows(storage.local_copy(manifest.documents_uri), ["doc_id", "text"]):
        if row["doc_id"] in spans:
            texts[row["doc_id"]] = row["text"][:SAMPLE_CHARS]
        if len(texts) == len(spans):
            break
    return [{"text": texts[doc_id], "ents": ents, "title": doc_id} for doc_id, ents in spans.items()]
