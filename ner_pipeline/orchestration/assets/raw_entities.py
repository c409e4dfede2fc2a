"""`raw_entities`: what the model says of every distinct text, computed shard by shard.

    plan_shards ─> extract_shard* ─> gather

A shard that stands on S3 is not computed again, whichever run wrote it: a re-execution from failure, a
repair and a click in the UI all go on where the last attempt stopped. How texts are packed is decided in
`orchestration.shards`, how they are computed in `ner_pipeline.inference`.
"""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ner_pipeline.documents.document import Outcome
from ner_pipeline.errors import ModelError, StorageError
from ner_pipeline.inference.pool import TextResult
from ner_pipeline.orchestration.faults import explained_faults
from ner_pipeline.orchestration.handover import RawSet, ReadSet, ShardDone, ShardPlanned, WorkPlan
from ner_pipeline.orchestration.partitions import document_sets
from ner_pipeline.orchestration.report import NOTHING_COMPUTED
from ner_pipeline.orchestration.resources import Extraction, Storage
from ner_pipeline.orchestration.reuse import PublishedResults, published_results
from ner_pipeline.orchestration.shards import TEXTS_TO_DO, Shard, pack_shards
from ner_pipeline.orchestration.text_results import results_table
from ner_pipeline.settings import Settings
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import ModelRecord
from ner_pipeline.storage.objects import StoredObject, head
from ner_pipeline.storage.tables import (
    PLAN,
    TEXT_RESULTS,
    TableWriter,
    file_metadata,
    iter_batches,
    rows_where,
)

__all__ = ["EXTRACTION_POOL", "raw_entities"]

EXTRACTION_POOL = "extraction"
"""The Dagster pool of `extract_shard`: a deployment gives it one slot for each machine or GPU."""

RESULTS_AT_ONCE = 1_000
"""So many results wait as Python objects until they become rows."""


class PlanConfig(dg.Config):
    """How to plan."""

    recompute: bool = False
    """Compute every text anew, also those whose results by this model are published or stand as shards."""


@dg.op(out={"plan": dg.Out(WorkPlan), "shards": dg.DynamicOut(ShardPlanned)})
def plan_shards(
    context: dg.OpExecutionContext,
    config: PlanConfig,
    documents: ReadSet,
    storage: Storage,
    extraction: Extraction,
    settings: dg.ResourceParam[Settings],
) -> Iterator[dg.Output[WorkPlan] | dg.DynamicOutput[ShardPlanned]]:
    """Pack the distinct texts that this model has not yet seen in this set into shards."""
    with explained_faults(context):
        version = extraction.model_version
        published = None if config.recompute else published_results(storage, documents.key, version)
        staged = storage.layout.of_set(documents.key).run(context.run_id)
        plan, shards = _plan(
            storage, documents, version, published, settings.shard_chars, staged, recompute=config.recompute
        )
    context.log.info(
        f"{plan.planned_texts} texts in {len(shards)} shards; {plan.reused_texts} texts need no computing"
    )
    yield dg.Output(plan, "plan")
    for shard in shards:
        planned = ShardPlanned(
            plan=plan, shard=shard.digest, texts=len(shard.texts), characters=shard.characters
        )
        yield dg.DynamicOutput(planned, output_name="shards", mapping_key=shard.digest)


def _plan(
    storage: Storage,
    read: ReadSet,
    model_version: str,
    published: PublishedResults | None,
    target: int,
    staged: S3Location,
    *,
    recompute: bool,
) -> tuple[WorkPlan, list[Shard]]:
    work = storage.layout.of_set(read.key).work(read.set_version, model_version)
    texts = _distinct_texts(storage.local_copy(read.documents))
    standing = pa.array([] if published is None else published.doc_of_text, pa.string())
    is_known = pc.is_in(texts["text_sha256"], value_set=standing)
    known = set(texts["text_sha256"].filter(is_known).to_pylist())
    shards = pack_shards(texts.filter(pc.invert(is_known)), target)
    with storage.scratch() as folder:
        plan = WorkPlan(
            read=read,
            model_version=model_version,
            work=str(work),
            plan=_put_plan(storage, staged / "plan.parquet", folder / "plan.parquet", shards),
            shards=tuple(shard.digest for shard in shards),
            planned_texts=sum(len(shard.texts) for shard in shards),
            planned_characters=sum(shard.characters for shard in shards),
            reused=()
            if published is None
            else _put_reused(storage, staged, folder, published, known, target),
            reused_texts=len(known),
            recompute=recompute,
        )
    return plan, shards


def _distinct_texts(table: Path) -> pa.Table:
    """Give `TEXTS_TO_DO`: each distinct text that has something in it."""
    read = pq.read_table(table, columns=["text_sha256", "n_chars", "outcome"])
    sha256s = pc.if_else(pc.equal(read["outcome"], str(Outcome.OK)), read["text_sha256"], None)
    first_rows = pc.index_in(sha256s.unique().drop_null(), value_set=sha256s)
    columns = [first_rows, sha256s.take(first_rows), read["n_chars"].take(first_rows)]
    return pa.table(columns, schema=TEXTS_TO_DO)


def _put_reused(
    storage: Storage,
    staged: S3Location,
    folder: Path,
    published: PublishedResults,
    texts: set[str],
    target: int,
) -> tuple[StoredObject, ...]:
    """Put published results as shards of about the target size."""
    stored: list[StoredObject] = []
    for number, part in enumerate(_parts(published.results(texts), target)):
        path, place = folder / f"reused-{number}.parquet", staged / f"reused-{number}.parquet"
        with TableWriter(path, TEXT_RESULTS) as table:
            table.extend(results_table(part))
        stored.append(storage.put(place, path))
        path.unlink()
    return tuple(stored)


def _parts(sized: Iterator[tuple[int, TextResult]], target: int) -> Iterator[list[TextResult]]:
    """Cut a stream of results where their sizes add up to the target."""
    part: list[TextResult] = []
    total = 0
    for size, result in sized:
        part.append(result)
        total += size
        if total >= target:
            yield part
            part, total = [], 0
    if part:
        yield part


def _put_plan(storage: Storage, place: S3Location, path: Path, shards: list[Shard]) -> StoredObject:
    with TableWriter(path, PLAN) as table:
        for shard in shards:
            table.extend(shard.texts.append_column("shard", pa.repeat(shard.digest, len(shard.texts))))
    return storage.put(place, path)


@dg.op(pool=EXTRACTION_POOL)
def extract_shard(
    context: dg.OpExecutionContext, shard: ShardPlanned, storage: Storage, extraction: Extraction
) -> ShardDone:
    """Compute one shard, unless it stands already."""
    place = S3Location.parse(shard.plan.work) / f"shards/{shard.shard}.parquet"
    with explained_faults(context):
        standing = None if shard.plan.recompute else _standing(storage, place, context.run_id)
        if standing is not None:
            context.log.info(f"shard {shard.shard} stands already")
            return _shard_done(storage, shard, standing, computed_now=False)
        stored = _compute_shard(storage, extraction, shard, place, context.run_id)
        return _shard_done(storage, shard, stored, computed_now=True)


def _standing(storage: Storage, place: S3Location, run_id: str) -> StoredObject | None:
    """Give the shard that stands, if it need not be computed again.

    One in which documents have failed does not stand for a later run: their workers may have been killed
    by something that has passed.
    """
    headers = head(storage.client, place)
    if headers is None:
        return None
    stored = StoredObject(uri=str(place), etag=headers["ETag"])
    noted = file_metadata(storage.local_copy(stored))
    return stored if noted["failed"] == "0" or noted["run_id"] == run_id else None


def _compute_shard(
    storage: Storage, extraction: Extraction, shard: ShardPlanned, place: S3Location, run_id: str
) -> StoredObject:
    """Run the texts of a shard through the worker pool, and put the results as one object."""
    texts = _texts(storage, shard.plan, shard.shard)
    with storage.scratch() as folder:
        began = time.perf_counter()
        failed = 0
        with TableWriter(folder / "shard.parquet", TEXT_RESULTS) as table:
            results = extraction.pool.extract(texts)
            while some := list(islice(results, RESULTS_AT_ONCE)):
                failed += sum(result.outcome == "failed" for result in some)
                table.extend(results_table(some))
            seconds = time.perf_counter() - began
            model = extraction.model_record
            if model.version != shard.plan.model_version:
                raise ModelError(
                    f"the workers have loaded {model}, but {shard.plan.model_version} was planned: the model "
                    "has changed meanwhile. The next run plans with what is there then"
                )
            noted = {"seconds": repr(seconds), "failed": str(failed), "run_id": run_id}
            table.note({**noted, "model": model.model_dump_json()})
        return storage.put(place, folder / "shard.parquet")


def _texts(storage: Storage, plan: WorkPlan, shard: str) -> Iterator[tuple[str, str]]:
    """Give the texts of a shard, each with its hash; read as they are asked for."""
    rows = rows_where(storage.local_copy(plan.plan), "shard", shard)["row"].to_numpy()
    documents = storage.local_copy(plan.read.documents)
    for batch in iter_batches(documents, ["text_sha256", "text"], rows=rows):
        yield from zip(batch["text_sha256"].to_pylist(), batch["text"].to_pylist(), strict=True)


def _shard_done(
    storage: Storage, shard: ShardPlanned, stored: StoredObject, *, computed_now: bool
) -> ShardDone:
    """Describe a shard from what its writer noted in it."""
    noted = file_metadata(storage.local_copy(stored))
    return ShardDone(
        shard=shard.shard,
        results=stored,
        texts=shard.texts,
        failed=int(noted["failed"]),
        characters=shard.characters,
        seconds=float(noted["seconds"]),
        computed_now=computed_now,
        model=ModelRecord.model_validate_json(noted["model"]),
    )


@dg.op
def gather(
    context: dg.OpExecutionContext,
    plan: WorkPlan,
    shards: list[ShardDone],
    storage: Storage,
    extraction: Extraction,
) -> dg.Output[RawSet]:
    """Check that every planned text has its result. The workers have nothing left to do, and end."""
    extraction.close_pool()
    with explained_faults(context):
        if missing := set(plan.shards) - {shard.shard for shard in shards}:
            raise StorageError(
                f"{len(missing)} of {len(plan.shards)} shards did not come back: {sorted(missing)}"
            )
        for shard in shards:
            _check_complete(storage, plan, shard)
    return dg.Output(
        RawSet(plan=plan, shards=tuple(shards)),
        metadata={
            "texts computed": sum(shard.texts for shard in shards if shard.computed_now),
            "texts of standing shards": sum(shard.texts for shard in shards if not shard.computed_now),
            "texts reused": plan.reused_texts,
            "shards": len(shards),
            "model version": plan.model_version,
            "extractor": shards[0].model.computed_by if shards else NOTHING_COMPUTED,
        },
    )


def _check_complete(storage: Storage, plan: WorkPlan, shard: ShardDone) -> None:
    results = pq.read_table(storage.local_copy(shard.results), columns=["text_sha256"])
    planned, found = (
        set(table["text_sha256"].to_pylist())
        for table in (rows_where(storage.local_copy(plan.plan), "shard", shard.shard), results)
    )
    if planned != found:
        raise StorageError(f"{shard.results.uri} lacks {len(planned - found)} of its {len(planned)} texts")


@dg.graph_asset(partitions_def=document_sets, group_name="ner", kinds={"spacy", "parquet"})
def raw_entities(documents: ReadSet) -> RawSet:
    """What the model says of every distinct text, before any rule is applied."""
    plan, shards = plan_shards(documents)
    gathered: RawSet = gather(plan, shards.map(extract_shard).collect())
    return gathered
