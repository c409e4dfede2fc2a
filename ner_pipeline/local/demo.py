"""`ner-pipeline demo`: upload the examples, let the sensor find them, wait, and show what came out.

Nothing is started by hand here: no run is launched, no asset materialized. What happened is read from S3
alone, as any user of the pipeline reads it. How it is shown stands in `local.demo_report`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ner_pipeline.errors import NerPipelineError
from ner_pipeline.local.demo_gold import GoldCount, GoldDocument, count, published_spans, read_gold_documents
from ner_pipeline.local.demo_report import SetResult, excerpts, show, write_json
from ner_pipeline.local.stack import INBOX, RESULTS, LocalStack
from ner_pipeline.local.up import end_on_signals
from ner_pipeline.storage.document_sets import SetDescription, SetKind, partition_key
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import get_bytes, list_objects, put_file
from ner_pipeline.storage.progress import SetState, SetStatus, set_status
from ner_pipeline.storage.submission import files_below, submit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ner_pipeline.storage.manifests import Manifest

__all__ = ["Upload", "demo", "find_examples", "upload_examples", "wait_for_sets"]

LOOSE = "loose"
"""The files of the sub-folder of this name go directly into the inbox."""

_INBOX = S3Location.parse_prefix(INBOX)
_RESULTS = S3Location.parse_prefix(RESULTS)


@dataclass(frozen=True, slots=True)
class Upload:
    """What was uploaded, and when the last byte of it had arrived."""

    folders: tuple[str, ...]
    """Names of the folder sets, without a slash."""
    loose_keys: frozenset[str]
    finished_at: datetime


def demo(local_dir: Path, examples: Path, *, within_s: float, say: Callable[[str], None]) -> None:
    """Run the whole system once, on data of its own.

    Raises:
        NerPipelineError: something did not work, with what and why.
    """
    end_on_signals()
    files, gold = find_examples(examples), read_gold_documents(examples)
    with LocalStack(local_dir / "demo", ui=False, fresh=True) as stack:
        say("Starting S3, the code location and the daemon …")
        stack.start()
        client = stack.s3.client()
        say(f"Uploading {len(files)} document sets from {examples} …")
        upload = upload_examples(client, files)
        say("Waiting for the sensor and its runs …")
        statuses = wait_for_sets(
            client, upload, within_s=within_s, check=stack.check, say=say, logs=stack.logs
        )
        results = [_result(client, status, upload) for status in statuses]
        counted = _count(client, gold, [_manifest(status) for status in statuses])
        report = local_dir / "demo.json"
        write_json(report, results, counted, s3_endpoint=stack.s3.endpoint_url)
        show(results, counted, report=report, s3_dir=stack.home / "s3")


def find_examples(examples: Path) -> dict[str, dict[str, Path]]:
    """Return the files of each sub-folder by their path in it.

    Raises:
        NerPipelineError: there is none.
    """
    folders = sorted(path for path in examples.glob("*") if path.is_dir() and not path.name.startswith("."))
    sets = {folder.name: files_below(folder) for folder in folders}
    found = {name: files for name, files in sets.items() if files}
    if not found:
        raise NerPipelineError(f"{examples} holds no sub-folder with documents; name another with --examples")
    return found


def upload_examples(client: Any, sets: Mapping[str, Mapping[str, Path]]) -> Upload:
    """Upload as a user would: the files of a set, then the marker that says it is complete."""
    for name, files in sets.items():
        if name != LOOSE:
            submit(client, _INBOX, name, files, lambda sent: None)
    for relative, path in sets.get(LOOSE, {}).items():
        put_file(client, _INBOX / relative, path)
    return Upload(
        folders=tuple(name for name in sets if name != LOOSE),
        loose_keys=frozenset((_INBOX / relative).key for relative in sets.get(LOOSE, ())),
        finished_at=datetime.now(UTC),
    )


def wait_for_sets(
    client: Any,
    upload: Upload,
    *,
    within_s: float,
    check: Callable[[], None],
    say: Callable[[str], None],
    logs: Path,
) -> list[SetStatus]:
    """Wait until every uploaded document is in a set that is done. `check` raises when a service ends.

    Raises:
        NerPipelineError: a run failed, or the time is over.
    """
    deadline = time.monotonic() + within_s
    said: dict[str, SetState] = {}
    while True:
        check()
        batches, waiting = _loose_batches(client, upload.loose_keys)
        keys = [partition_key(f"{name}/") for name in upload.folders] + batches
        statuses = [set_status(client, _INBOX, _RESULTS, key) for key in keys]
        for status in statuses:
            if said.get(status.key) != status.state:
                said[status.key] = status.state
                say(f"  {status.key}: {status.state}")
            if status.state is SetState.FAILED:
                raise NerPipelineError(f"the run of the document set {status.key} failed: {status.reason}")
        if not waiting and all(status.state is SetState.DONE for status in statuses):
            return statuses
        if time.monotonic() > deadline:
            raise NerPipelineError(_too_late(statuses, waiting, within_s, logs))
        time.sleep(0.25)


def _loose_batches(client: Any, loose_keys: frozenset[str]) -> tuple[list[str], int]:
    """Return the keys of the batches that the sensor made, and how many loose files are in none yet."""
    batches, waiting = [], set(loose_keys)
    if not loose_keys:
        return [], 0
    for entry in list_objects(client, _RESULTS / "state/sets/"):
        content = get_bytes(client, S3Location(_RESULTS.bucket, entry.key))
        description = SetDescription.model_validate_json(content)
        if description.kind is SetKind.BATCH:
            batches.append(partition_key(description.name))
            waiting -= {member.key for member in description.members}
    return batches, len(waiting)


def _too_late(statuses: list[SetStatus], waiting: int, within_s: float, logs: Path) -> str:
    open_sets = [status for status in statuses if status.state is not SetState.DONE]
    lines = [f"not finished within {within_s:g} s; the logs of the services: {logs}"]
    lines += [f"  {status.key}: {status.state} {status.reason}".rstrip() for status in open_sets]
    if waiting:
        lines.append(f"  {waiting} files in the inbox are in no batch: the sensor has not seen them")
    return "\n".join(lines)


def _manifest(status: SetStatus) -> Manifest:
    if status.manifest is None:
        raise NerPipelineError(f"the document set {status.key} is done, but its manifest is gone")
    return status.manifest


def _result(client: Any, status: SetStatus, upload: Upload) -> SetResult:
    manifest = _manifest(status)
    entities = S3Location.parse(manifest.tables["entities"].uri)
    return SetResult(
        name=manifest.name,
        partition_key=status.key,
        documents=dict(manifest.documents),
        entities=manifest.entities,
        labels=dict(manifest.entities_by_label),
        entities_uri=str(entities),
        seconds=round((manifest.published_at - upload.finished_at).total_seconds(), 1),
        model=str(manifest.model),
        device=manifest.model.device,
        extractor=manifest.model.extractor,
        why=manifest.model.why,
        excerpts=excerpts(client, entities, S3Location.parse(manifest.documents_table.uri)),
    )


def _count(client: Any, gold: list[GoldDocument], manifests: list[Manifest]) -> GoldCount:
    found = published_spans(client, manifests, {document.document for document in gold})
    return count(gold, found, {label for manifest in manifests for label in manifest.model.labels})
