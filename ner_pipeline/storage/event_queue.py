"""The queue in which S3 says that something was written: an SQS queue, read a little at each tick.

What a message says is read in `storage.events`. A message is deleted only when the tick that received it
has saved what it knows, so that a tick that dies loses none: they come again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Self

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from ner_pipeline.errors import StorageError, StorageUnavailable
from ner_pipeline.storage.events import Message, read_message
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import put_bytes, translated_as

__all__ = ["EventQueue", "ReceivedMessage", "keep_dead_letters"]

MAX_MESSAGES = 2_000
"""At most so many are received in one tick. A look sees everything anyway, and the rest costs another one."""
MAX_SECONDS = 10
"""So long a tick receives at most: Dagster ends one that takes a minute, and the look has to fit in too."""
_AT_ONCE = 10
"""SQS gives, and deletes, no more in one request."""
_IMPATIENT = Config(connect_timeout=3, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})
"""A queue that does not answer must not use up the time of the tick."""


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """One message, as the queue gave it and as it was read."""

    id: str
    receipt: str
    body: str
    said: Message

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Self:
        """Read what SQS gives."""
        return cls(raw["MessageId"], raw["ReceiptHandle"], raw["Body"], read_message(raw["Body"]))


@cache
def _session() -> Any:
    """One for the process: each new one reads large tables anew, and a tick comes every few seconds."""
    return boto3.session.Session()


class EventQueue:
    """One SQS queue, by its URL. Its client is made when it is first needed."""

    def __init__(self, url: str, client: Any = None) -> None:
        self.url = url
        self._given_client = client

    @cached_property
    def _client(self) -> Any:
        """A client of its own, configured as AWS users expect: environment, profiles, roles, a region."""
        return self._given_client or _session().client("sqs", config=_IMPATIENT)

    def receive(self) -> list[ReceivedMessage]:
        """Take what lies in the queue, up to the bounds of one tick, without waiting for more.

        Raises:
            StorageError: the queue is not there, may not be read, or the AWS configuration cannot be used.
            StorageUnavailable: it does not answer.
        """
        began, received = time.monotonic(), list[ReceivedMessage]()
        while len(received) < MAX_MESSAGES and time.monotonic() - began < MAX_SECONDS:
            few = self._receive_few()
            if not few:
                break
            received += few
        return received

    def _receive_few(self) -> list[ReceivedMessage]:
        with self._translated():
            answer = self._client.receive_message(
                QueueUrl=self.url, MaxNumberOfMessages=_AT_ONCE, WaitTimeSeconds=0
            )
        return [ReceivedMessage.of(raw) for raw in answer.get("Messages", ())]

    def delete(self, messages: Sequence[ReceivedMessage]) -> None:
        """Delete messages that are done with.

        Raises:
            StorageUnavailable: some are still there, and will be received once more.
        """
        kept = 0
        for few in _portions(messages):
            entries = [{"Id": str(n), "ReceiptHandle": message.receipt} for n, message in enumerate(few)]
            with self._translated():
                answer = self._client.delete_message_batch(QueueUrl=self.url, Entries=entries)
            kept += len(answer.get("Failed", ()))
        if kept:
            raise StorageUnavailable(f"{self.url}: {kept} messages could not be deleted and will come again")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        with translated_as(self.url, self._our_error):
            yield

    def _our_error(self, error: ClientError) -> StorageError:
        fault = error.response.get("Error", {})
        code = str(fault.get("Code", ""))
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if "NonExistentQueue" in code or "QueueDoesNotExist" in code:
            return StorageError(
                f"{self.url}: there is no such queue; look at NER_EVENT_QUEUE and at the AWS region"
            )
        if status == 429 or status >= 500 or "Thrott" in code:
            return StorageUnavailable(f"{self.url}: the queue answers {status} {code}")
        return StorageError(
            f"{self.url}: SQS refuses: {status} {code}: {fault.get('Message', '')}. Needed are "
            "sqs:ReceiveMessage and sqs:DeleteMessage"
        )


def _portions(messages: Sequence[ReceivedMessage]) -> Iterable[Sequence[ReceivedMessage]]:
    return (messages[start : start + _AT_ONCE] for start in range(0, len(messages), _AT_ONCE))


def keep_dead_letters(
    client: Any, results: S3Location, messages: Iterable[ReceivedMessage]
) -> list[S3Location]:
    """Put what nobody understands on S3: left in the queue, it would come back for ever. Tells where."""
    letters = [message for message in messages if not message.said.is_understood]
    places = [Layout(results).dead_letter(letter.id) for letter in letters]
    for letter, place in zip(letters, places, strict=True):
        put_bytes(client, place, letter.body.encode("utf-8", "backslashreplace"))
    return places
