"""`incoming_documents` and `documents`: what was uploaded, and the decoded text of every document.

How bytes become text is not known here: see `ner_pipeline.documents`.
"""

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO

import dagster as dg

from ner_pipeline.documents import Document, Outcome, ReadOptions, action_taken, doc_id, read_documents
from ner_pipeline.documents.decoding import declared_charsets
from ner_pipeline.errors import ObjectArchived, ObjectChanged, ObjectGone, StorageError, Superseded
from ner_pipeline.orchestration.faults import explained_faults
from ner_pipeline.orchestration.handover import ReadSet
from ner_pipeline.orchestration.partitions import SET_VERSION_TAG, document_sets
from ner_pipeline.orchestration.resources import Storage
from ner_pipeline.orchestration.superseded import report_superseded
from ner_pipeline.settings import Settings
from ner_pipeline.storage.document_sets import DocumentSet, SetKind, list_set
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import UNCONDITIONAL, Baseline, read_baseline, read_manifest
from ner_pipeline.storage.objects import ListedObject, open_object
from ner_pipeline.storage.progress import Progress, SetState, note_progress
from ner_pipeline.storage.tables import DOCUMENTS, OUTCOMES, TableWriter

__all__ = ["documents", "incoming_documents"]

SMALL_OBJECT_BYTES = 8 * 1024**2
"""Objects up to this size are fetched ahead, several at a time: to read small files is mostly to wait."""
OBJECTS_AHEAD = 16
BYTES_AHEAD = 16 * 1024**2

_EPOCH = datetime.fromtimestamp(0, UTC)

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
        asked_for = context.run.tags.get(SET_VERSION_TAG, document_set.version)
        if asked_for != document_set.version:
            report_superseded(context, f"asked for {asked_for}, but the inbox holds {document_set.version}")
            return
        progress = Progress(state=SetState.RUNNING, set_version=document_set.version, run_id=context.run_id)
        note_progress(storage.client, storage.places.results, key, progress)
        baseline = _baseline(context, storage)
        try:
            read = _read_set(storage, document_set, settings, run_id=context.run_id, baseline=baseline)
        except Superseded as error:
            report_superseded(context, str(error))
            return
    yield dg.Output(
        read,
        metadata={
            **{f"documents {outcome}": count for outcome, count in read.outcomes.items()},
            "characters": read.characters,
            "set version": read.set_version,
            "documents on S3": dg.MetadataValue.path(
                str(storage.layout.of_set(key).documents(read.set_version))
            ),
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


def _read_set(
    storage: Storage, document_set: DocumentSet, settings: Settings, *, run_id: str, baseline: Baseline
) -> ReadSet:
    """Read all members into the two tables of the set version, and stage them."""
    version = document_set.version
    outcomes: Counter[str] = Counter(dict.fromkeys(Outcome, 0))
    characters = 0
    with storage.scratch() as folder:
        text_file, outcome_file = folder / "documents.parquet", folder / "read.parquet"
        with TableWriter(text_file, DOCUMENTS) as texts, TableWriter(outcome_file, OUTCOMES) as accounts:
            for member, document in _read_members(storage, document_set, settings.read_options):
                text = None if document.text is None else document.text.encode()
                row = _row(member, document, text, version)
                if text is not None:
                    texts.write({**row, "text": document.text}, size=len(text))
                    characters += row["n_chars"]
                accounts.write(row)
                outcomes[document.outcome] += 1
        _refuse_to_lose(storage, document_set, outcomes)
        staged = storage.layout.of_set(document_set.key).run(run_id)
        stored_texts = storage.put(staged / "documents.parquet", text_file)
        stored_accounts = storage.put(staged / "read.parquet", outcome_file)
    return ReadSet(
        key=document_set.key,
        name=document_set.name,
        kind=document_set.kind,
        set_version=version,
        total_bytes=document_set.total_bytes,
        documents=stored_texts,
        reading=stored_accounts,
        outcomes=dict(outcomes),
        characters=characters,
        baseline=baseline,
    )


def _refuse_to_lose(storage: Storage, document_set: DocumentSet, outcomes: Counter[str]) -> None:
    """Objects that have gone since this very version was published must not take its results with them.

    An inbox may be swept after some days, and a new model reads all sets again.
    """
    manifest = read_manifest(storage.client, storage.layout.of_set(document_set.key))
    if manifest is None or manifest.set_version != document_set.version:
        return
    lost = outcomes[Outcome.SKIPPED] - manifest.documents[Outcome.SKIPPED]
    if lost > 0:
        raise StorageError(
            f"{lost} objects of {document_set.name} are no longer in the inbox; what is published stays"
        )


def _row(member: ListedObject, document: Document, text: bytes | None, version: str) -> dict[str, Any]:
    """One row for both tables: each takes the columns of its schema. `text` is the document's, in UTF-8."""
    return {
        "doc_id": doc_id(member.key, document.record),
        "source_key": member.key,
        "source_etag": member.etag,
        # A number, since to convert a time takes as long as all the rest of a row.
        "source_last_modified": (member.last_modified - _EPOCH) // timedelta(microseconds=1),
        "member": document.member,
        "record": document.record,
        "record_id": document.record_id,
        "byte_offset": document.byte_offset,
        "n_chars": None if document.text is None else len(document.text),
        "text_sha256": None if text is None else hashlib.sha256(text).hexdigest(),
        "encoding": document.encoding,
        "had_bom": document.had_bom,
        "outcome": document.outcome,
        "reason": document.reason,
        "detail": document.detail,
        "action": action_taken(document.outcome, record=document.record),
        "warnings": list(document.warnings),
        "replaced_bytes": document.replaced_bytes,
        "entities": 0,
        "set_version": version,
        "model": "",
    }


def _read_members(
    storage: Storage, document_set: DocumentSet, options: ReadOptions
) -> Iterator[tuple[ListedObject, Document]]:
    """Give every document of every member, in the order of the keys."""
    bucket = storage.places.inbox.bucket
    for member, opened in _opened(storage.client, bucket, document_set.members):
        try:
            upload = opened()
        except ObjectGone:
            yield member, _skipped("deleted", "The object was deleted before it was read.")
        except ObjectArchived:
            yield member, _skipped("archived", "It lies in an archive; restore it and upload it again.")
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
            with closing(upload.stream):
                told = replace(options, charsets=upload.charsets)
                for document in read_documents(member.key, upload.stream, size=member.size, options=told):
                    yield member, document


@dataclass(frozen=True, slots=True)
class _Upload:
    """The bytes of a member, and the character sets that its uploader declared."""

    stream: BinaryIO
    charsets: tuple[str, ...]


_Opened = tuple[ListedObject, Callable[[], _Upload]]
"""A member, and what opens it."""


def _opened(client: Any, bucket: str, members: tuple[ListedObject, ...]) -> Iterator[_Opened]:
    """Give each member with what opens it. Small ones are fetched ahead, a bounded number at a time.

    A large one is opened when its turn comes: S3 closes a stream that nobody reads for a while.
    """
    with ThreadPoolExecutor(OBJECTS_AHEAD, "fetch") as threads:
        ahead: deque[_Opened] = deque()
        for member in members:
            if _is_small(member):
                ahead.append((member, threads.submit(_fetch, client, bucket, member).result))
            else:
                ahead.append((member, partial(_open, client, bucket, member)))
            while len(ahead) > OBJECTS_AHEAD or _bytes_held(ahead) > BYTES_AHEAD:
                yield ahead.popleft()
        yield from ahead


def _is_small(member: ListedObject) -> bool:
    return member.size <= SMALL_OBJECT_BYTES


def _bytes_held(ahead: Iterable[_Opened]) -> int:
    return sum(member.size for member, _ in ahead if _is_small(member))


def _open(client: Any, bucket: str, member: ListedObject) -> _Upload:
    """Open the version of the member that was listed."""
    opened = open_object(client, S3Location(bucket, member.key), etag=member.etag)
    return _Upload(opened.body, declared_charsets(opened.content_type, opened.metadata))


def _fetch(client: Any, bucket: str, member: ListedObject) -> _Upload:
    upload = _open(client, bucket, member)
    with closing(upload.stream) as stream:
        return replace(upload, stream=BytesIO(stream.read()))


def _skipped(reason: str, detail: str) -> Document:
    return Document(outcome=Outcome.SKIPPED, reason=reason, detail=detail)
