"""`incoming_documents` and `documents`: what was uploaded, and the decoded text of every document.

How bytes become text is not known here: see `ner_pipeline.documents`.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO

import dagster as dg

from ner_pipeline.documents import Document, Fields, Outcome, ReadLimits, doc_id, read_documents
from ner_pipeline.errors import ObjectChanged, ObjectGone, StorageError, Superseded
from ner_pipeline.orchestration.faults import explained_faults
from ner_pipeline.orchestration.handover import ReadSet
from ner_pipeline.orchestration.partitions import SET_VERSION_TAG, document_sets
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.orchestration.superseded import report_superseded
from ner_pipeline.settings import Settings
from ner_pipeline.storage.document_sets import DocumentSet, SetKind, list_set
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import UNCONDITIONAL, Baseline, read_baseline, read_manifest
from ner_pipeline.storage.objects import ListedObject, open_object, put_file
from ner_pipeline.storage.progress import Progress, SetState, note_progress
from ner_pipeline.storage.tables import DOCUMENTS, OUTCOMES, TableWriter

__all__ = ["documents", "incoming_documents"]

SMALL_OBJECT_BYTES = 1024**2
"""Objects up to this size are fetched ahead, several at a time: reading small files is mostly waiting."""
FETCHED_AHEAD = 16

incoming_documents = dg.AssetSpec(
    "incoming_documents",
    description="What lies in the inbox. The sensor reports each ready version of a set here.",
    partitions_def=document_sets,
    group_name="ner",
    kinds={"s3"},
)


@dg.asset(
    partitions_def=document_sets,
    deps=[incoming_documents],
    output_required=False,
    group_name="ner",
    kinds={"s3", "parquet"},
)
def documents(
    context: dg.AssetExecutionContext, storage: Storage, settings: dg.ResourceParam[Settings]
) -> Iterator[dg.Output[ReadSet]]:
    """The decoded text of every document of the set, and an account of those that have none.

    Every offset refers to the text stored here.
    """
    key = context.partition_key
    with explained_faults(context):
        document_set = list_set(storage.client, storage.places.inbox, storage.description(key))
        if document_set.is_gone:
            raise StorageError(
                f"nothing is left in {storage.places.inbox}{document_set.name}; what is published stays"
            )
        progress = Progress(state=SetState.RUNNING, set_version=document_set.version, run_id=context.run_id)
        note_progress(storage.client, storage.places.results, key, progress)
        baseline = _baseline(context, storage)
        try:
            read = _read_set(storage, document_set, settings, baseline=baseline)
        except Superseded as error:
            report_superseded(context, str(error))
            return
        _refuse_to_lose(storage, read)
    yield dg.Output(
        read,
        metadata={
            **{f"documents {outcome}": count for outcome, count in read.outcomes.items()},
            "characters": read.characters,
            "set version": read.set_version,
            "documents on S3": dg.MetadataValue.path(read.documents),
            "dagster/uri": read.documents,
        },
        data_version=dg.DataVersion(read.set_version),
        tags={SET_VERSION_TAG: read.set_version},
    )


def _baseline(context: dg.AssetExecutionContext, storage: Storage) -> Baseline:
    if storage.honours_conditions:
        return read_baseline(storage.client, storage.layout.of_set(context.partition_key))
    context.log.warning(
        "This S3 server honours no conditional puts: of two runs that publish this set at once, the last "
        "one wins. The run queue's limit of one run for each partition is all that keeps them apart."
    )
    return UNCONDITIONAL


def _refuse_to_lose(storage: Storage, read: ReadSet) -> None:
    """Objects that have gone since this very version was published must not take its results with them.

    An inbox may be swept after some days, and a new model reads all sets again.
    """
    manifest = read_manifest(storage.client, storage.layout.of_set(read.key))
    if manifest is None or manifest.set_version != read.set_version:
        return
    lost = read.outcomes[Outcome.SKIPPED] - manifest.documents[Outcome.SKIPPED]
    if lost > 0:
        raise StorageError(
            f"{lost} objects of {read.name} are no longer in the inbox; what is published stays"
        )


def _read_set(
    storage: Storage, document_set: DocumentSet, settings: Settings, *, baseline: Baseline
) -> ReadSet:
    """Read all members into the two tables of the set version, and put them on S3."""
    layout = storage.layout.of_set(document_set.key)
    version = document_set.version
    outcomes: Counter[str] = Counter(dict.fromkeys(Outcome, 0))
    characters = 0
    with storage.scratch() as folder:
        text_file, outcome_file = folder / "documents.parquet", folder / "read.parquet"
        with TableWriter(text_file, DOCUMENTS) as texts, TableWriter(outcome_file, OUTCOMES) as accounts:
            for member, document in _read_members(storage, document_set, settings.limits, settings.fields):
                row = _row(member, document, version)
                if document.text is not None:
                    texts.write({**row, "text": document.text}, size=len(document.text))
                    characters += len(document.text)
                accounts.write(row)
                outcomes[document.outcome] += 1
        reading_etag = put_file(storage.client, layout.reading(version), outcome_file)
        documents_etag = put_file(storage.client, layout.documents(version), text_file)
    return ReadSet(
        key=document_set.key,
        name=document_set.name,
        kind=document_set.kind,
        set_version=version,
        total_bytes=document_set.total_bytes,
        documents=str(layout.documents(version)),
        documents_etag=documents_etag,
        reading=str(layout.reading(version)),
        reading_etag=reading_etag,
        outcomes=dict(outcomes),
        characters=characters,
        baseline=baseline,
    )


def _row(member: ListedObject, document: Document, version: str) -> dict[str, Any]:
    """One row for both tables: each takes the columns of its schema."""
    text = document.text
    return {
        "doc_id": doc_id(member.key, document.record),
        "source_key": member.key,
        "source_etag": member.etag,
        "source_last_modified": member.last_modified,
        "record": document.record,
        "record_id": document.record_id,
        "byte_offset": document.byte_offset,
        "n_chars": None if text is None else len(text),
        "text_sha256": None if text is None else hashlib.sha256(text.encode("utf-8")).hexdigest(),
        "encoding": document.encoding,
        "had_bom": document.had_bom,
        "outcome": document.outcome,
        "reason": document.reason,
        "detail": document.detail,
        "entities": 0,
        "set_version": version,
        "model": "",
    }


def _read_members(
    storage: Storage, document_set: DocumentSet, limits: ReadLimits, fields: Fields
) -> Iterator[tuple[ListedObject, Document]]:
    """Give every document of every member, in the order of the keys."""
    bucket = storage.places.inbox.bucket
    for member, opened in _open_ahead(storage.client, bucket, document_set.members):
        try:
            stream = opened.result()
        except ObjectGone:
            yield member, _skipped("deleted", "The object was deleted before it was read.")
        except ObjectChanged as error:
            if document_set.kind is SetKind.FOLDER:
                raise Superseded(f"{document_set.name} has changed while it was read: {error}") from error
            yield (
                member,
                _skipped(
                    "replaced", "A newer upload of it was there before it was read; a later batch has it."
                ),
            )
        else:
            with closing(stream):
                for document in read_documents(
                    member.key, stream, size=member.size, limits=limits, fields=fields
                ):
                    yield member, document


def _open_ahead(
    client: Any, bucket: str, members: tuple[ListedObject, ...]
) -> Iterator[tuple[ListedObject, Future[BinaryIO]]]:
    """Open each member; keep a bounded number of small ones on their way."""
    with ThreadPoolExecutor(FETCHED_AHEAD, "fetch") as threads:
        rest = iter(members)
        ahead = [
            (member, threads.submit(_open, client, bucket, member)) for member in islice(rest, FETCHED_AHEAD)
        ]
        while ahead:
            yield ahead.pop(0)
            ahead += [(member, threads.submit(_open, client, bucket, member)) for member in islice(rest, 1)]


def _open(client: Any, bucket: str, member: ListedObject) -> BinaryIO:
    """Open the version of the member that was listed."""
    stream = open_object(client, S3Location(bucket, member.key), etag=member.etag)
    if member.size > SMALL_OBJECT_BYTES:
        return stream
    with closing(stream):
        return BytesIO(stream.read())


def _skipped(reason: str, detail: str) -> Document:
    return Document(outcome=Outcome.SKIPPED, reason=reason, detail=detail)
