"""Handing documents over, and getting results back: the two ends of the asynchronous request.

An upload *is* the request. Whoever submits holds a partition key at once, and needs nothing but S3 to
ask (`storage.progress`) and to fetch.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from boto3.exceptions import Boto3Error

from ner_pipeline.errors import NerPipelineError, StorageError, StorageUnavailable
from ner_pipeline.storage.document_sets import SUCCESS_MARKER, partition_key
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import read_manifest
from ner_pipeline.storage.objects import download, put_bytes, translated

__all__ = ["TableFormat", "collect_files", "fetch", "files_below", "new_set_name", "submit"]


class TableFormat(StrEnum):
    """In which form entities can be fetched."""

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"


def collect_files(paths: Iterable[Path]) -> dict[str, Path]:
    """Give the files to upload by their name in the set; folders are walked, and keep their structure.

    Raises:
        NerPipelineError: a path is not there, or two files would get the same name.
    """
    found: dict[str, Path] = {}
    for path in paths:
        if not path.is_dir() and not path.is_file():
            raise NerPipelineError(f"{path}: there is no such file")
        inside = files_below(path) if path.is_dir() else {path.name: path}
        for name, file in inside.items():
            _check_name(name)
            if name in found:
                raise NerPipelineError(
                    f"{found[name]} and {file} would both be {name!r} in the set; rename one"
                )
            found[name] = file
    if not found:
        raise NerPipelineError("there is no file to upload")
    if SUCCESS_MARKER in found:
        raise NerPipelineError(
            f"{found[SUCCESS_MARKER]}: the name {SUCCESS_MARKER} marks a complete set; rename it"
        )
    return found


def files_below(folder: Path) -> dict[str, Path]:
    """Give the files of a folder by their path in it, but for hidden ones, such as a file manager's own."""
    files = ((entry.relative_to(folder), entry) for entry in sorted(folder.rglob("*")) if entry.is_file())
    return {
        path.as_posix(): entry
        for path, entry in files
        if not any(part.startswith(".") for part in path.parts)
    }


def _check_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise NerPipelineError(f"{name!r} is no text in UTF-8, and S3 keys are; rename it") from error


def new_set_name() -> str:
    """Make up a set name that nobody has: the time, and four letters for those of the same second."""
    return f"submit-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def submit(
    client: Any, inbox: S3Location, name: str, files: Mapping[str, Path], uploaded: Callable[[int], None]
) -> str:
    """Upload files as a folder set and mark it complete; give its partition key.

    Args:
        uploaded: called with the number of bytes that have just gone up, from several threads.

    Raises:
        NerPipelineError: the name is no folder name, or S3 refuses.
    """
    if not name or "/" in name:
        raise NerPipelineError(
            f"{name!r} is no name for a set: it is one folder of the inbox, without a slash"
        )
    _check_name(name)
    folder = inbox / f"{name}/"
    for file_name, path in files.items():
        place = folder / file_name
        try:
            with translated(place):
                client.upload_file(str(path), place.bucket, place.key, Callback=uploaded)
        except Boto3Error as error:
            raise StorageUnavailable(f"{place}: {error}") from error
    put_bytes(client, folder / SUCCESS_MARKER, b"")
    return partition_key(f"{name}/")


def fetch(client: Any, results: S3Location, key: str, form: TableFormat, target: Path) -> int:
    """Write the published entities of a set into a local file; give the number of rows.

    The file appears whole or not at all.

    Raises:
        StorageError: nothing is published under the key.
    """
    manifest = read_manifest(client, Layout(results).of_set(key))
    if manifest is None:
        raise StorageError(f"{key}: nothing is published; ask `ner-pipeline status {key}`")
    if target.exists() and not target.is_file():
        raise NerPipelineError(f"{target} is no regular file, and is left as it is; name another one with -o")
    table = manifest.tables["entities"]
    parquet, partial = target.with_name(f".{target.name}.parquet"), target.with_name(f".{target.name}.part")
    try:
        download(client, S3Location.parse(table.uri), parquet, etag=table.etag)
        if form is TableFormat.PARQUET:
            parquet.replace(target)
            return table.rows
        with partial.open("wb") as file:
            _convert(parquet, form, file)
        partial.replace(target)
    except OSError as error:
        raise NerPipelineError(f"{target}: {error.strerror or error}") from error
    finally:
        for leftover in (parquet, partial):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)
    return table.rows


def _convert(parquet: Path, form: TableFormat, file: IO[bytes]) -> None:
    with pq.ParquetFile(parquet) as source:
        if form is TableFormat.CSV:
            with pa_csv.CSVWriter(file, source.schema_arrow) as writer:
                for batch in source.iter_batches():
                    writer.write_batch(batch)
            return
        for batch in source.iter_batches():
            for row in _json_rows(batch):
                file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _json_rows(batch: pa.RecordBatch) -> Iterable[dict[str, Any]]:
    for row in batch.to_pylist():
        yield {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()
        }
