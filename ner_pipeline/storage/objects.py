"""Single S3 objects: get, put, list, delete, with conditions, and with our errors for botocore's.

What an object holds is not known here. ETags are opaque change tokens. Every function takes a boto3
S3 client; clients are safe to share between threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import boto3
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoCredentialsError,
    ResponseStreamingError,
)
from botocore.exceptions import ConnectionError as NoConnection
from pydantic import BaseModel
from urllib3.exceptions import ProtocolError

from ner_pipeline.errors import (
    ObjectArchived,
    ObjectChanged,
    ObjectGone,
    StorageError,
    StorageUnavailable,
    Superseded,
)
from ner_pipeline.storage.locations import S3Location

__all__ = [
    "ABSENT",
    "ListedObject",
    "OpenObject",
    "PutCondition",
    "StoredObject",
    "connect",
    "copy_object",
    "delete_objects",
    "download",
    "get_bytes",
    "head",
    "honours_conditions",
    "list_objects",
    "open_object",
    "put_bytes",
    "put_file",
    "translated",
    "translated_as",
]

PART_BYTES = 64 * 1024**2
"""Files above this size go up as multipart uploads of parts of this size. S3 allows 10,000 parts: 640 GB."""

ABSENT = ""
"""As a put condition: the object must not be there yet."""

PutCondition = str | None
"""An ETag that the object must still have, `ABSENT`, or None for a put without condition."""


@dataclass(frozen=True, slots=True, order=True)
class ListedObject:
    """One entry of a listing."""

    key: str
    etag: str
    size: int
    last_modified: datetime


_NO_ANSWER = (
    HTTPClientError,
    NoConnection,
    ResponseStreamingError,
    ProtocolError,
    ConnectionError,
    TimeoutError,
)
"""What botocore, urllib3 and the system raise when the server does not answer or breaks off."""


class StoredObject(BaseModel, frozen=True):
    """One version of an object: what a later step reads is what this step wrote, or nothing."""

    uri: str
    etag: str


@dataclass(frozen=True, slots=True)
class OpenObject:
    """An object that is being read, and what its uploader said of it."""

    body: BinaryIO
    content_type: str | None
    metadata: Mapping[str, str]


class _Body:
    """The body of an object as a binary stream whose faults are `StorageUnavailable`."""

    def __init__(self, body: Any, place: S3Location) -> None:
        self._body = body
        self._place = place

    def read(self, size: int = -1) -> bytes:
        with translated(self._place):
            return cast(bytes, self._body.read(None if size < 0 else size))

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._body.close()

    def __enter__(self) -> _Body:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect() -> Any:
    """Give an S3 client, configured as AWS users expect: environment, profiles, roles, AWS_ENDPOINT_URL.

    Raises:
        StorageError: the configuration cannot be used, such as a profile that does not exist.
    """
    try:
        return boto3.session.Session().client("s3")
    except (BotoCoreError, ValueError) as error:
        raise StorageError(f"the AWS configuration cannot be used: {error}") from error


@contextmanager
def translated(place: S3Location) -> Iterator[None]:
    """Turn botocore's errors into ours, with the place in the message."""
    with translated_as(str(place), lambda error: _our_error(error, place)):
        yield


@contextmanager
def translated_as(place: str, refusal: Callable[[ClientError], StorageError]) -> Iterator[None]:
    """Do so for any service of AWS; `refusal` says what an answer of the server means that is an error."""
    try:
        yield
    except ClientError as error:
        raise refusal(error) from error
    except NoCredentialsError as error:
        raise StorageError(
            f"{place}: no AWS credentials found; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY"
        ) from error
    except _NO_ANSWER as error:
        raise StorageUnavailable(f"{place}: {error}") from error
    except BotoCoreError as error:
        raise StorageError(f"{place}: {error}") from error


def _our_error(error: ClientError, place: S3Location) -> StorageError:
    fault = error.response.get("Error", {})
    code = str(fault.get("Code", ""))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code == "NoSuchBucket":
        return StorageError(
            f"s3://{place.bucket}: there is no such bucket; look at NER_INBOX and NER_RESULTS"
        )
    if status == 404 or code in {"NoSuchKey", "404"}:
        return ObjectGone(f"{place}: there is no such object")
    if status == 412 or code in {"PreconditionFailed", "412"}:
        return ObjectChanged(f"{place}: the object has changed meanwhile")
    if code == "InvalidObjectState":
        return ObjectArchived(f"{place}: the object lies in an archive; restore it first")
    if code in {"NotImplemented", "501"} or status == 501:
        return StorageError(f"{place}: the S3 server cannot do this ({code})")
    # 409 on a conditional put: two requests at the same instant, of which S3 has refused one without a look.
    if status in {409, 429} or status >= 500 or code in {"SlowDown", "RequestTimeout", "Throttling"}:
        return StorageUnavailable(f"{place}: the S3 server answers {status} {code}")
    if code in {"SignatureDoesNotMatch", "InvalidAccessKeyId", "ExpiredToken", "InvalidToken"}:
        return StorageError(
            f"{place}: S3 does not accept the credentials ({code}); look at AWS_*, AWS_PROFILE"
        )
    return StorageError(f"{place}: S3 refuses: {status} {code}: {fault.get('Message', '')}")


def list_objects(client: Any, place: S3Location) -> list[ListedObject]:
    """List every object whose key begins with the place's key, sorted by key.

    All pages are read: some servers do not list in byte order, so no page is a place to go on from.
    """
    with translated(place):
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=place.bucket, Prefix=place.key)
        return sorted(
            ListedObject(entry["Key"], entry["ETag"].strip('"'), entry["Size"], entry["LastModified"])
            for page in pages
            for entry in page.get("Contents", ())
        )


def head(client: Any, place: S3Location) -> dict[str, Any] | None:
    """Give the object's headers (`ETag` without quotes, `Metadata`, …), or None where there is none."""
    try:
        with translated(place):
            answer = dict(client.head_object(Bucket=place.bucket, Key=place.key))
    except ObjectGone:
        return None
    return {**answer, "ETag": answer["ETag"].strip('"')}


def open_object(client: Any, place: S3Location, *, etag: str | None = None) -> OpenObject:
    """Open an object for reading as a stream.

    Raises:
        ObjectGone: there is no such object.
        ObjectChanged: `etag` is given and the object has another one by now.
        ObjectArchived: it has to be restored first.
    """
    condition = {} if etag is None else {"IfMatch": f'"{etag}"'}
    with translated(place):
        answer = client.get_object(Bucket=place.bucket, Key=place.key, **condition)
    body = cast(BinaryIO, _Body(answer["Body"], place))
    return OpenObject(body, answer.get("ContentType"), answer.get("Metadata", {}))


def get_bytes(client: Any, place: S3Location, *, etag: str | None = None) -> bytes:
    """Read a small object whole."""
    with open_object(client, place, etag=etag).body as body:
        return body.read()


def download(client: Any, place: S3Location, path: Path, *, etag: str | None = None) -> None:
    """Copy an object into a local file, in blocks."""
    with open_object(client, place, etag=etag).body as body, path.open("wb") as file:
        while block := body.read(1024**2):
            file.write(block)


def put_bytes(
    client: Any, place: S3Location, content: bytes, *, condition: PutCondition = None, **extra: Any
) -> str:
    """Put a small object; give its ETag.

    Raises:
        Superseded: the condition does not hold.
    """
    with _superseding(place, condition):
        answer = client.put_object(
            Bucket=place.bucket, Key=place.key, Body=content, **_condition(condition), **extra
        )
    return cast(str, answer["ETag"]).strip('"')


def put_file(
    client: Any,
    place: S3Location,
    path: Path,
    *,
    condition: PutCondition = None,
    metadata: dict[str, str] | None = None,
) -> str:
    """Put a local file as one object that appears whole or not at all; give its ETag.

    Raises:
        Superseded: the condition does not hold.
    """
    with path.open("rb") as file:
        if path.stat().st_size <= PART_BYTES:
            return put_bytes(client, place, file.read(), condition=condition, Metadata=metadata or {})
        return _put_parts(client, place, file, condition, metadata or {})


def _put_parts(
    client: Any, place: S3Location, file: IO[bytes], condition: PutCondition, metadata: dict[str, str]
) -> str:
    target = {"Bucket": place.bucket, "Key": place.key}
    with _superseding(place, condition):
        upload = {
            **target,
            "UploadId": client.create_multipart_upload(**target, Metadata=metadata)["UploadId"],
        }
        try:
            parts = [
                {
                    "PartNumber": number,
                    "ETag": client.upload_part(**upload, PartNumber=number, Body=block)["ETag"],
                }
                for number, block in enumerate(iter(lambda: file.read(PART_BYTES), b""), start=1)
            ]
            answer = client.complete_multipart_upload(
                **upload, MultipartUpload={"Parts": parts}, **_condition(condition)
            )
        except BaseException:
            # Parts of an upload that nobody completes are paid for, and no listing shows them.
            with suppress(ClientError, BotoCoreError):
                client.abort_multipart_upload(**upload)
            raise
    return cast(str, answer["ETag"]).strip('"')


def honours_conditions(client: Any, probe: S3Location) -> bool:
    """Tell whether this server honours conditional puts of both kinds; some refuse, some overlook them."""
    put_bytes(client, probe, b"")
    return all(_is_refused(client, probe, condition) for condition in (ABSENT, "0" * 32))


def _is_refused(client: Any, probe: S3Location, condition: PutCondition) -> bool:
    """Tell whether a put whose condition does not hold is refused for that reason."""
    try:
        put_bytes(client, probe, b"", condition=condition)
    except Superseded:
        return True
    except StorageError as error:
        if error.transient:
            raise
        # A server that does not know the header refuses the put as such.
    return False


def copy_object(client: Any, source: StoredObject, target: S3Location) -> StoredObject:
    """Copy one version of an object within S3, whatever its size; give the version that it makes.

    Raises:
        ObjectGone, ObjectChanged: that version is not there any more.
    """
    origin = S3Location.parse(source.uri)
    condition = {"CopySourceIfMatch": f'"{source.etag}"'}
    with translated(origin):
        client.copy(
            {"Bucket": origin.bucket, "Key": origin.key}, target.bucket, target.key, ExtraArgs=condition
        )
    copied = head(client, target)
    if copied is None:
        raise ObjectGone(f"{target}: somebody has removed what was just copied there")
    return StoredObject(uri=str(target), etag=copied["ETag"])


def delete_objects(client: Any, bucket: str, keys: Iterable[str]) -> None:
    """Delete objects, a thousand in one request; absent ones are no error."""
    rest = list(keys)
    while rest:
        now, rest = rest[:1000], rest[1000:]
        with translated(S3Location(bucket, now[0])):
            answer = client.delete_objects(
                Bucket=bucket, Delete={"Objects": [{"Key": key} for key in now], "Quiet": True}
            )
        if faults := answer.get("Errors"):
            raise StorageError(f"s3://{bucket}/{faults[0]['Key']}: not deleted: {faults[0]['Code']}")


def _condition(condition: PutCondition) -> dict[str, str]:
    if condition is None:
        return {}
    return {"IfNoneMatch": "*"} if condition == ABSENT else {"IfMatch": f'"{condition}"'}


@contextmanager
def _superseding(place: S3Location, condition: PutCondition) -> Iterator[None]:
    """A put whose condition does not hold means that somebody else has put.

    A conditional put on an object that was deleted meanwhile answers 404, which is the same news.
    """
    try:
        with translated(place):
            yield
    except (ObjectChanged, ObjectGone) as error:
        if condition is None:
            raise
        raise Superseded(f"{place}: somebody else has published meanwhile") from error
