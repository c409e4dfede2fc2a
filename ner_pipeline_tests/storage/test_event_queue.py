"""The event queue, over real requests to a server on loopback."""

import itertools

import boto3
import pytest
from botocore.exceptions import ClientError

from ner_pipeline.errors import StorageError, StorageUnavailable
from ner_pipeline.storage import event_queue
from ner_pipeline.storage.event_queue import EventQueue, keep_dead_letters
from ner_pipeline.storage.objects import get_bytes

_numbers = itertools.count()


@pytest.fixture
def sqs(s3_in_environment):
    return boto3.session.Session().client("sqs")


@pytest.fixture
def queue(sqs):
    url = sqs.create_queue(QueueName=f"queue-{next(_numbers)}")["QueueUrl"]
    return EventQueue(url)


def send(sqs, queue, count):
    for number in range(count):
        sqs.send_message(QueueUrl=queue.url, MessageBody=f"body {number}")


def waiting(sqs, queue):
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = sqs.get_queue_attributes(QueueUrl=queue.url, AttributeNames=names)["Attributes"]
    return sum(int(found[name]) for name in names)


def test_an_empty_queue_gives_nothing(queue):
    assert queue.receive() == []


def test_more_messages_than_one_request_gives_are_received_and_deleted(sqs, queue):
    send(sqs, queue, 25)
    received = queue.receive()
    assert sorted(message.body for message in received) == sorted(f"body {n}" for n in range(25))
    assert waiting(sqs, queue) == 25
    queue.delete(received)
    assert waiting(sqs, queue) == 0


def test_a_tick_receives_a_bounded_number_and_the_rest_stays(sqs, queue, monkeypatch):
    monkeypatch.setattr(event_queue, "MAX_MESSAGES", 10)
    send(sqs, queue, 25)
    assert len(queue.receive()) == 10
    assert len(queue.receive()) == 10


def test_a_tick_receives_for_a_bounded_time(sqs, queue, monkeypatch):
    monkeypatch.setattr(event_queue, "MAX_SECONDS", 0)
    send(sqs, queue, 1)
    assert queue.receive() == []


def test_each_message_is_deleted_on_its_own(sqs, queue):
    send(sqs, queue, 3)
    first, *_ = queue.receive()
    queue.delete([first])
    assert waiting(sqs, queue) == 2


def test_a_message_that_the_queue_keeps_is_told(sqs, queue):
    class Keeping:
        def delete_message_batch(self, **arguments):
            return {"Failed": arguments["Entries"][:1]}

    send(sqs, queue, 3)
    with pytest.raises(StorageUnavailable, match="1 messages could not be deleted"):
        EventQueue(queue.url, Keeping()).delete(queue.receive())


def test_what_nobody_understands_is_kept_as_it_came(client, places, sqs, queue):
    sqs.send_message(QueueUrl=queue.url, MessageBody="not json: é")
    sqs.send_message(QueueUrl=queue.url, MessageBody='{"Records": []}')
    received = queue.receive()
    [place] = keep_dead_letters(client, places.results, received)
    assert place.key.startswith("out/state/dead-letters/")
    assert get_bytes(client, place) == "not json: é".encode()
    assert keep_dead_letters(client, places.results, received) == [place]


def test_a_queue_that_is_not_there_is_named_and_is_no_reason_to_try_again(queue):
    missing = EventQueue(queue.url + "-missing")
    with pytest.raises(StorageError, match=r"-missing: there is no such queue; .* NER_EVENT_QUEUE") as caught:
        missing.receive()
    assert not caught.value.transient


def test_a_queue_that_does_not_answer_is_a_reason_to_try_again(queue, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:9")
    with pytest.raises(StorageUnavailable) as caught:
        EventQueue(queue.url).receive()
    assert caught.value.transient


@pytest.mark.parametrize(
    ("code", "status", "transient", "words"),
    [
        ("AccessDenied", 403, False, "sqs:ReceiveMessage"),
        ("ThrottlingException", 400, True, "answers 400"),
        ("ServiceUnavailable", 503, True, "answers 503"),
    ],
)
def test_what_the_queue_refuses_is_explained(queue, code, status, transient, words):
    class Refusing:
        def receive_message(self, **arguments):
            answer = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
            raise ClientError(answer, "ReceiveMessage")

    with pytest.raises(StorageError, match=words) as caught:
        EventQueue(queue.url, Refusing()).receive()
    assert caught.value.transient is transient


def test_a_configuration_without_a_region_is_one_clear_line(queue, monkeypatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(StorageError, match="region"):
        EventQueue(queue.url).receive()
