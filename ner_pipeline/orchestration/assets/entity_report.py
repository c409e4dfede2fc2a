"""`entity_report`: what a person wants to see of a set after a run.

Tables and one small chart as metadata of the asset, and a page with sample documents on S3. How it
looks is decided in `orchestration.report`.
"""

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import dagster as dg

from ner_pipeline.orchestration.faults import explained_faults
from ner_pipeline.orchestration.handover import PublishedSet
from ner_pipeline.orchestration.partitions import document_sets
from ner_pipeline.orchestration.report import (
    NOTHING_COMPUTED,
    bar_chart,
    html_page,
    label_table,
    reason_table,
    record_table,
    shard_table,
    throughput,
    worst_table,
)
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.storage.manifests import Manifest
from ner_pipeline.storage.objects import put_bytes
from ner_pipeline.storage.tables import iter_rows

__all__ = ["entity_report"]

TOP_ENTITIES = 20
PREVIEW_ROWS = 10
SAMPLE_DOCUMENTS = 5
SAMPLE_CHARS = 3000


@dg.asset(partitions_def=document_sets, group_name="ner", kinds={"html"})
def entity_report(
    context: dg.AssetExecutionContext, entities: PublishedSet, storage: Storage
) -> dg.MaterializeResult[Any]:
    """What a person wants to see of a set: counts, top entities, the worst documents, speed, a sample page.

    Throughput counts the start of the workers, about three seconds: small sets look slower than they are.
    """
    with explained_faults(context):
        manifest = entities.manifest
        entity_file = _local(storage, manifest, "entities")
        page = storage.layout.of_set(manifest.partition_key).report
        put_bytes(
            storage.client,
            page,
            _page(storage, manifest, entity_file).encode("utf-8"),
            ContentType="text/html; charset=utf-8",
        )
        return dg.MaterializeResult(metadata=_metadata(entities, entity_file, str(page)))


def _local(storage: Storage, manifest: Manifest, table: str) -> Path:
    return storage.local_copy(manifest.tables[table])


def _metadata(published: PublishedSet, entity_file: Path, page: str) -> dict[str, Any]:
    """Give what Dagster shows, in this order; a path gets a button that copies it."""
    manifest, merged = published.manifest, published.merged
    shards = merged.raw.shards
    speed = throughput(shards)
    return {
        "entities on S3": dg.MetadataValue.path(manifest.tables["entities"].uri),
        "outcomes on S3": dg.MetadataValue.path(manifest.tables["outcomes"].uri),
        "report page": dg.MetadataValue.path(page),
        "documents": sum(manifest.documents.values()),
        "entities": manifest.entities,
        "documents by outcome": reason_table(manifest.outcomes.counts),
        "entities by label": label_table(manifest.entities_by_label),
        "label chart": dg.MetadataValue.md(bar_chart(manifest.entities_by_label, "Entities by label")),
        "top entities": record_table(_top_entities(entity_file), ["entity", "label", "mentions"]),
        "preview": record_table(_preview(entity_file), ["entity", "label", "start", "end", "doc_id"]),
        "worst documents": worst_table(manifest.outcomes.worst),
        "quarantined spans": manifest.tables["quarantine"].rows,
        "throughput (characters/s)": round(speed) if speed else NOTHING_COMPUTED,
        "texts reused": merged.raw.plan.reused_texts,
        "shard balance": shard_table(shards),
        "model": str(manifest.model),
        "device": manifest.model.device,
        "extractor": manifest.model.computed_by,
    }


def _top_entities(entity_file: Path) -> list[dict[str, Any]]:
    counts = Counter((row["entity"], row["label"]) for row in iter_rows(entity_file, ["entity", "label"]))
    top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:TOP_ENTITIES]
    return [{"entity": entity, "label": label, "mentions": count} for (entity, label), count in top]


def _preview(entity_file: Path) -> list[dict[str, Any]]:
    """Give the first rows. Offsets are text, since somebody may paste them: no commas."""
    rows = iter_rows(entity_file, ["doc_id", "entity", "label", "start", "end"])
    return [{**row, "start": str(row["start"]), "end": str(row["end"])} for row in islice(rows, PREVIEW_ROWS)]


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
    for row in iter_rows(storage.local_copy(manifest.documents_table), ["doc_id", "text"]):
        if row["doc_id"] in spans:
            texts[row["doc_id"]] = row["text"][:SAMPLE_CHARS]
        if len(texts) == len(spans):
            break
    return [{"text": texts[doc_id], "ents": ents, "title": doc_id} for doc_id, ents in spans.items()]
