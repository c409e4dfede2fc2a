"""`raw_entities`: what the model says of every distinct text, computed shard by shard.

    plan_shards ─> extract_shard* ─> gather

A shard that stands on S3 is not computed again, whichever run wrote it: a re-execution from failure, a
repair and a click in the UI all go on where the last attempt stopped. How texts are packed is decided in
`orchestration.shards`, how they are computed in `ner_pipeline.inference`.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from ner_pipeline.documents.document import Outcome
from ner_pipeline.errors import StorageError
from ner_pipeline.inference.pool import TextResult
from ner_pipeline.orchestration.faults import explained_faults
from ner_pipeline.orchestration.handover import RawSet, ReadSet, ShardDone, ShardPlanned, WorkPlan
from ner_pipeline.orchestration.partitions import document_sets
from ner_pipeline.orchestration.resources import Extraction, Storage
from ner_pipeline.orchestration.reuse import PublishedResults, published_results
from ner_pipeline.orchestration.shards import Shard, TextToDo, pack_shards
from ner_pipeline.settings import Settings
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import ModelRecord
from ner_pipeline.storage.objects import head, put_file
from ner_pipeline.storage.tables import PLAN, TEXT_RESULTS, TableWriter, file_metadata, iter_rows

__all__ = ["EXTRACTION_POOL", "raw_entities"]

EXTRACTION_POOL = "extraction"
"""The Dagster pool of `extract_shard`: a deployment gives it one slot for each machine or GPU."""


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
        plan, shards = _plan(storage, documents, version, published, settings.shard_chars)
        plan = plan.model_copy(update={"recompute": config.recompute})
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
    storage: Storage, read: ReadSet, model_version: str, published: PublishedResults | None, target: int
) -> tuple[WorkPlan, list[Shard]]:
    work = storage.layout.of_set(read.key).work(read.set_version, model_version)
    texts = _distinct_texts(storage.local_copy(read.documents, etag=read.documents_etag))
    known = set() if published is None else texts.keys() & published.doc_of_text.keys()
    shards = pack_shards([text for sha256, text in texts.items() if sha256 not in known], target)
    with storage.scratch() as folder:
        plan_etag = _put_plan(storage, work / "plan.parquet", folder / "plan.parquet", shards)
        reused = () if published is None else _put_reused(storage, work, folder, published, known, target)
    plan = WorkPlan(
        read=read,
        model_version=model_version,
        work=str(work),
        plan=str(work / "plan.parquet"),
        plan_etag=plan_etag,
        shards=tuple(shard.digest for shard in shards),
        planned_texts=sum(len(shard.texts) for shard in shards),
        planned_characters=sum(shard.characters for shard in shards),
        reused=tuple(reused),
        reused_texts=len(known),
    )
    return plan, shards


def _distinct_texts(table: Path) -> dict[str, TextToDo]:
    """Give each distinct text that has something in it, by its hash."""
    texts: dict[str, TextToDo] = {}
    for number, row in enumerate(iter_rows(table, ["text_sha256", "n_chars", "outcome"])):
        if row["outcome"] == Outcome.OK:
            texts.setdefault(row["text_sha256"], TextToDo(number, row["text_sha256"], row["n_chars"]))
    return texts


def _put_reused(
    storage: Storage,
    work: S3Location,
    folder: Path,
    published: PublishedResults,
    texts: set[str],
    target: int,
) -> list[str]:
    """Put published results as shards of about the target size."""
    uris: list[str] = []
    for number, part in enumerate(_parts(published.rows(texts), target)):
        path, place = folder / f"reused-{number}.parquet", work / f"reused-{number}.parquet"
        with TableWriter(path, TEXT_RESULTS) as table:
            for row in part:
                table.write(row)
        put_file(storage.client, place, path)
        path.unlink()
        uris.append(str(place))
    return uris


def _parts(sized: Iterator[tuple[int, dict[str, Any]]], target: int) -> Iterator[list[dict[str, Any]]]:
    """Cut a stream of rows where their sizes add up to the target."""
    part: list[dict[str, Any]] = []
    total = 0
    for size, row in sized:
        part.append(row)
        total += size
        if total >= target:
            yield part
            part, total = [], 0
    if part:
        yield part


def _put_plan(storage: Storage, place: S3Location, path: Path, shards: list[Shard]) -> str:
    with TableWriter(path, PLAN) as table:
        for shard in shards:
            for text in shard.texts:
                table.write({"row": text.row, "text_sha256": text.sha256, "shard": shard.digest})
    return put_file(storage.client, place, path)


@dg.op(pool=EXTRACTION_POOL)
def extract_shard(
    context: dg.OpExecutionContext, shard: ShardPlanned, storage: Storage, extraction: Extraction
) -> ShardDone:
    """Compute one shard, unless it stands already."""
    place = S3Location.parse(shard.plan.work) / f"shards/{shard.shard}.parquet"
    with explained_faults(context):
        if shard.plan.recompute or head(storage.client, place) is None:
            _compute_shard(storage, extraction, shard, place)
            return _shard_done(storage, shard, place, computed_now=True)
        context.log.info(f"shard {shard.shard} stands already")
        return _shard_done(storage, shard, place, computed_now=False)


def _compute_shard(storage: Storage, extraction: Extraction, shard: ShardPlanned, place: S3Location) -> None:
    """Run the texts of a shard through the worker pool, and put the results as one object."""
    plan = shard.plan
    rows = [
        row["row"]
        for row in iter_rows(storage.local_copy(plan.plan, etag=plan.plan_etag))
        if row["shard"] == shard.shard
    ]
    documents = storage.local_copy(plan.read.documents, etag=plan.read.documents_etag)
    texts = (
        (row["text_sha256"], row["text"]) for row in iter_rows(documents, ["text_sha256", "text"], rows=rows)
    )
    with storage.scratch() as folder:
        began = time.perf_counter()
        failed = 0
        with TableWriter(folder / "shard.parquet", TEXT_RESULTS) as table:
            for result in extraction.pool.extract(texts):
                failed += result.outcome == "failed"
                table.write(_result_row(result), size=64 * len(result.spans))
            table.note(
                {
                    "model": extraction.model_record.model_dump_json(),
                    "seconds": repr(time.perf_counter() - began),
                    "failed": str(failed),
                }
            )
        put_file(storage.client, place, folder / "shard.parquet")


def _result_row(result: TextResult) -> dict[str, Any]:
    return {
        "text_sha256": result.id,
        "outcome": result.outcome,
        "reason": result.reason,
        "detail": result.detail,
        "seconds": result.seconds,
        "approximate": result.approximate,
        "spans": [span._asdict() for span in result.spans],
    }


def _shard_done(storage: Storage, shard: ShardPlanned, place: S3Location, *, computed_now: bool) -> ShardDone:
    """Describe a standing shard from what its writer noted in it."""
    noted = file_metadata(storage.local_copy(str(place)))
    return ShardDone(
        shard=shard.shard,
        results=str(place),
        texts=shard.texts,
        failed=int(noted["failed"]),
        characters=shard.characters,
        seconds=float(noted["seconds"]),
        computed_now=computed_now,
        model=ModelRecord.model_validate_json(noted["model"]),
    )


@dg.op
def gather(
    context: dg.OpExecutionContext, plan: WorkPlan, shards: list[ShardDone], storage: Storage
) -> dg.Output[RawSet]:
    """Check that every planned text has its result."""
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
        },
    )


def _check_complete(storage: Storage, plan: WorkPlan, shard: ShardDone) -> None:
    planned = {
        row["text_sha256"]
        for row in iter_rows(storage.local_copy(plan.plan, etag=plan.plan_etag))
        if row["shard"] == shard.shard
    }
    found = {row["text_sha256"] for row in iter_rows(storage.local_copy(shard.results), ["text_sha256"])}
    if planned != found:
        raise StorageError(f"{shard.results} lacks {len(planned - found)} of its {len(planned)} texts")


@dg.graph_asset(partitions_def=document_sets, group_name="ner", kinds={"spacy", "parquet"})
def raw_entities(documents: ReadSet) -> RawSet:
    """What the model says of every distinct text, before any rule is applied."""
    plan, shards = plan_shards(documents)
    gathered: RawSet = gather(plan, shards.map(extract_shard).collect())
    return gathered
