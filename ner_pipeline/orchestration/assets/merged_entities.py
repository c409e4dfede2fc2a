"""`merged_entities`: results and documents put together again, validated, and staged under `work/`.

The blocking checks of `orchestration.checks` run on what is staged here, so that bad output is stopped
before it is published. What becomes of one document is decided in `orchestration.merging`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import dagster as dg
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ner_pipeline.documents.document import Outcome
from ner_pipeline.errors import StorageError
from ner_pipeline.orchestration.faults import explained_faults
from ner_pipeline.orchestration.handover import MergedSet, RawSet
from ner_pipeline.orchestration.merging import MergedBatch, merge_batch
from ner_pipeline.orchestration.partitions import document_sets
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.orchestration.text_results import StoredResults
from ner_pipeline.settings import Settings
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import ModelRecord, read_manifest
from ner_pipeline.storage.outcome_summary import OutcomeTally
from ner_pipeline.storage.tables import ENTITIES, OUTCOMES, QUARANTINE, TableWriter, iter_batches

__all__ = ["merged_entities"]

BATCH_CHARS = 16_000_000
"""So much text is merged at once."""


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
            "extractor": model.computed_by,
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


@dataclass(slots=True)
class _Counts:
    documents: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(Outcome, 0)))
    outcomes: OutcomeTally = field(default_factory=OutcomeTally)
    labels: Counter[str] = field(default_factory=Counter)
    trimmed: int = 0
    dropped: int = 0

    def add(self, batch: MergedBatch) -> None:
        """Take what became of some documents into account."""
        self.documents.update(_counted(batch.outcomes["outcome"]))
        self.outcomes.add(batch.outcomes)
        self.labels.update(_counted(batch.entities["label"]))
        self.trimmed += batch.trimmed
        self.dropped += batch.dropped


def _counted(values: pa.ChunkedArray) -> dict[str, int]:
    return {entry["values"]: entry["counts"] for entry in values.value_counts().to_pylist()}


def _merge(storage: Storage, raw: RawSet, model: ModelRecord, staged: S3Location, *, utf8: bool) -> MergedSet:
    counts = _Counts()
    with storage.scratch() as folder:
        paths = {name: folder / f"{name}.parquet" for name in ("entities", "outcomes", "quarantine")}
        with (
            TableWriter(paths["entities"], ENTITIES) as entities,
            TableWriter(paths["outcomes"], OUTCOMES) as outcomes,
            TableWriter(paths["quarantine"], QUARANTINE) as quarantine,
        ):
            for batch in _batches(storage, raw, model, utf8=utf8):
                counts.add(batch)
                entities.extend(batch.entities)
                outcomes.extend(batch.outcomes)
                quarantine.extend(batch.quarantine)
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


def _batches(storage: Storage, raw: RawSet, model: ModelRecord, *, utf8: bool) -> Iterator[MergedBatch]:
    """Merge all documents of the set, some at a time."""
    stored = (*(shard.results for shard in raw.shards), *raw.plan.reused)
    results = StoredResults([storage.local_copy(part) for part in stored])
    texts = _texts(storage.local_copy(raw.plan.read.documents))
    for accounts, places in _accounts(storage.local_copy(raw.plan.read.reading), results):
        found = results.at(places.drop_null().to_numpy())
        yield merge_batch(accounts, _texts_of(accounts, texts), found, model, utf8=utf8)


def _accounts(reading: Path, results: StoredResults) -> Iterator[tuple[pa.Table, pa.ChunkedArray]]:
    """Give the outcomes of the reading, some at a time, and where the results of these documents stand."""
    places, first = _places(reading, results), 0
    for batch in iter_batches(reading):
        for start, end in pairwise(_edges(batch["n_chars"])):
            yield batch.slice(start, end - start), places.slice(first + start, end - start)
        first += len(batch)


def _places(reading: Path, results: StoredResults) -> pa.ChunkedArray:
    """Find the results of all documents that are to have one."""
    read = pq.read_table(reading, columns=["text_sha256", "outcome"])
    is_ok = pc.equal(read["outcome"], str(Outcome.OK))
    places = pc.if_else(is_ok, results.places(read["text_sha256"]), None)
    if lost := read["text_sha256"].filter(pc.and_(is_ok, pc.is_null(places))).to_pylist():
        raise StorageError(f"no shard has a result for the text {lost[0]}; materialize raw_entities again")
    return places


def _edges(n_chars: pa.ChunkedArray) -> list[int]:
    """Cut documents where their texts come to `BATCH_CHARS`: that bounds the spans that are held."""
    total = np.cumsum(n_chars.fill_null(0).to_numpy())
    return [0, *(np.flatnonzero(np.diff(total // BATCH_CHARS)) + 1).tolist(), len(total)]


def _texts(documents: Path) -> Iterator[tuple[str, str]]:
    for batch in iter_batches(documents, ["doc_id", "text"]):
        yield from zip(batch["doc_id"].to_pylist(), batch["text"].to_pylist(), strict=True)


def _texts_of(accounts: pa.Table, texts: Iterator[tuple[str, str]]) -> Iterator[str | None]:
    """Give the text of each document, None where it has none.

    Both tables of a set are in the same order; the texts lack the documents that have none.
    """
    columns = accounts["doc_id"].to_pylist(), accounts["n_chars"].to_pylist()
    for doc_id, n_chars in zip(*columns, strict=True):
        found, text = (doc_id, None) if n_chars is None else next(texts)
        if found != doc_id:
            raise StorageError(f"the tables of a set disagree: {found} against {doc_id}")
        yield text
