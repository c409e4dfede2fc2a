"""`merged_entities`: results and documents put together again, validated, and staged under `work/`.

The blocking checks of `orchestration.checks` run on what is staged here, so that bad output is stopped
before it is published. What makes a span valid is written in `inference.validation`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq

from ner_pipeline.documents.document import Outcome, Warned, action_taken
from ner_pipeline.errors import StorageError
from ner_pipeline.inference.scripts import describe_mismatch, foreign_script
from ner_pipeline.inference.spans import Span
from ner_pipeline.inference.validation import utf8_offsets, utf16_offsets, validate
from ner_pipeline.orchestration.faults import explained_faults
from ner_pipeline.orchestration.handover import MergedSet, RawSet
from ner_pipeline.orchestration.partitions import document_sets
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.settings import Settings
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import ModelRecord, read_manifest
from ner_pipeline.storage.outcome_summary import OutcomeTally
from ner_pipeline.storage.tables import ENTITIES, OUTCOMES, QUARANTINE, TableWriter, iter_rows

__all__ = ["merged_entities"]

_Accounted = tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]
"""The outcome row of a document, its entity rows, its quarantined ones."""

_SOURCE_COLUMNS = ("doc_id", "source_key", "source_etag", "source_last_modified", "set_version", "model")


@dg.asset(partitions_def=document_sets, group_name="ner", kinds={"parquet"})
def merged_entities(
    context: dg.AssetExecutionContext,
    raw_entities: RawSet,
    storage: Storage,
    settings: dg.ResourceParam[Settings],
) -> dg.Output[MergedSet]:
    """Every entity with its document, every rule applied: staged, not yet published."""
    with explained_faults(context):
        staged = storage.layout.of_set(context.partition_key).run(context.run_id)
        model = _model(storage, raw_entities)
        merged = _merge(storage, raw_entities, model, staged, utf8=settings.utf8_offsets)
    return dg.Output(
        merged,
        metadata={
            "entities": merged.rows["entities"],
            "quarantined": merged.rows["quarantine"],
            "spans trimmed": merged.spans_trimmed,
            "spans dropped": merged.spans_dropped,
            **{f"documents {outcome}": count for outcome, count in merged.documents.items()},
        },
    )


def _model(storage: Storage, raw: RawSet) -> ModelRecord:
    """Tell which model it was: the shards say so, or, when all was reused, the manifest does."""
    if raw.shards:
        return raw.shards[0].model
    manifest = read_manifest(storage.client, storage.layout.of_set(raw.plan.read.key))
    if manifest is not None and manifest.model.version == raw.plan.model_version:
        return manifest.model
    return ModelRecord(
        name="no model needed",
        version=raw.plan.model_version,
        labels=(),
        device="none",
        extractor="none",
        why="no document of the set has a text to compute",
    )


class _Results:
    """The results of all shards, by text.

    Only a few shards are held at a time. The documents of a shard lie close together in the table, so in
    the order of the documents a shard is loaded once, or a few times where long texts lie in between.
    """

    def __init__(self, files: list[Path]) -> None:
        self._files = files
        self._places = {
            sha256: (file, row)
            for file, path in enumerate(files)
            for row, sha256 in enumerate(pq.read_table(path, columns=["text_sha256"]).column(0).to_pylist())
        }
        self._table = lru_cache(maxsize=4)(self._load)

    def _load(self, file: int) -> pa.Table:
        return pq.read_table(self._files[file])

    def of(self, sha256: str) -> dict[str, Any]:
        """Give the result of a text."""
        if sha256 not in self._places:
            raise StorageError(f"no shard has a result for the text {sha256}; materialize raw_entities again")
        file, row = self._places[sha256]
        result: dict[str, Any] = self._table(file).slice(row, 1).to_pylist()[0]
        return result


@dataclass(slots=True)
class _Counts:
    documents: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(Outcome, 0)))
    outcomes: OutcomeTally = field(default_factory=OutcomeTally)
    labels: Counter[str] = field(default_factory=Counter)
    trimmed: int = 0
    dropped: int = 0


def _merge(storage: Storage, raw: RawSet, model: ModelRecord, staged: S3Location, *, utf8: bool) -> MergedSet:
    read = raw.plan.read
    stored_results = (*(shard.results for shard in raw.shards), *raw.plan.reused)
    results = _Results([storage.local_copy(stored) for stored in stored_results])
    texts = iter_rows(storage.local_copy(read.documents), ["doc_id", "text"])
    accounts = iter_rows(storage.local_copy(read.reading))
    counts = _Counts()
    with storage.scratch() as folder:
        paths = {name: folder / f"{name}.parquet" for name in ("entities", "outcomes", "quarantine")}
        with (
            TableWriter(paths["entities"], ENTITIES) as entities,
            TableWriter(paths["outcomes"], OUTCOMES) as outcomes,
            TableWriter(paths["quarantine"], QUARANTINE) as quarantine,
        ):
            for account, found, refused in _account(accounts, texts, results, model, counts, utf8=utf8):
                outcomes.write(account)
                for row in found:
                    entities.write(row)
                for row in refused:
                    quarantine.write(row)
        tables = {name: storage.put(staged / f"{name}.parquet", path) for name, path in paths.items()}
    return MergedSet(
        raw=raw,
        model=model,
        tables=tables,
        rows={"entities": entities.rows, "outcomes": outcomes.rows, "quarantine": quarantine.rows},
        documents=dict(counts.documents),
        outcomes=counts.outcomes.summary(),
        entities_by_label=dict(sorted(counts.labels.items())),
        spans_trimmed=counts.trimmed,
        spans_dropped=counts.dropped,
    )


def _account(
    accounts: Iterator[dict[str, Any]],
    texts: Iterator[dict[str, Any]],
    results: _Results,
    model: ModelRecord,
    counts: _Counts,
    *,
    utf8: bool,
) -> Iterator[_Accounted]:
    """Give each document's outcome row with its entity rows and its quarantined ones.

    Both tables of a set are in the same order; the texts lack the documents that have none.
    """
    for account in accounts:
        row = {**account, "model": str(model)}
        found: list[dict[str, Any]] = []
        refused: list[dict[str, Any]] = []
        if account["n_chars"] is not None:
            document = next(texts)
            if document["doc_id"] != account["doc_id"]:
                raise StorageError(
                    f"the tables of a set disagree: {document['doc_id']} against {account['doc_id']}"
                )
            if account["outcome"] == Outcome.OK:
                result = results.of(account["text_sha256"])
                row, found, refused = _judge(row, document["text"], result, model, counts, utf8=utf8)
        counts.documents[row["outcome"]] += 1
        counts.outcomes.add(row)
        yield row, found, refused


def _judge(
    row: dict[str, Any],
    text: str,
    result: dict[str, Any],
    model: ModelRecord,
    counts: _Counts,
    *,
    utf8: bool,
) -> _Accounted:
    """Apply the rules to one document's spans."""
    if result["outcome"] != Outcome.OK:
        return _failed(row, result), [], []
    # A model that names no labels (some custom components do not) may give any.
    judged = validate(text, [Span(**span) for span in result["spans"]], model.labels or None)
    counts.trimmed += judged.trimmed
    counts.dropped += judged.dropped
    counts.labels.update(span.label for span in judged.spans)
    source = {column: row[column] for column in _SOURCE_COLUMNS}
    found = [{**source, **entity} for entity in _entities(text, judged.spans, utf8=utf8)]
    refused = [
        {**source, "start": span.start, "end": span.end, "label": span.label, "reason": reason}
        for span, reason in judged.quarantined
    ]
    return {**_warned(row, text, result, model), "entities": len(found)}, found, refused


def _failed(row: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    action = action_taken(Outcome.FAILED, record=row["record"])
    told = {name: result[name] for name in ("reason", "detail")}
    return {**row, **told, "outcome": Outcome.FAILED, "action": action}


def _warned(row: dict[str, Any], text: str, result: dict[str, Any], model: ModelRecord) -> dict[str, Any]:
    """Add what is to be known of a document that was read and computed."""
    warned: dict[str, str] = {}
    if result["approximate"]:
        warned[Warned.APPROXIMATE] = "the text was cut where its model wants it whole"
    if script := foreign_script(text, model.scripts):
        warned[Warned.LANGUAGE_MISMATCH] = describe_mismatch(script, model.scripts)
    if not warned:
        return row
    detail = "; ".join(filter(None, (row["detail"], *warned.values())))
    return {**row, "warnings": sorted({*row["warnings"], *warned}), "detail": detail}


def _entities(text: str, spans: list[Span], *, utf8: bool) -> Iterator[dict[str, Any]]:
    """Give what an entity row says of each span, offsets in all units."""
    units = utf16_offsets(text, spans)
    octets = utf8_offsets(text, spans) if utf8 else [(None, None)] * len(spans)
    for span, (start_utf16, end_utf16), (start_utf8, end_utf8) in zip(spans, units, octets, strict=True):
        yield {
            "entity": text[span.start : span.end],
            "label": span.label,
            "start": span.start,
            "end": span.end,
            "start_utf16": start_utf16,
            "end_utf16": end_utf16,
            "start_utf8": start_utf8,
            "end_utf8": end_utf8,
            "kb_id": span.kb_id or None,
        }
