"""S01, S02: odd keys and odd messages, from real uploads with real notifications to real runs."""

import json

import pytest

from ner_pipeline.settings import Places
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import get_bytes

ODD_KEYS = [
    "a b.txt",
    "a+b.txt",
    "a%20b.txt",
    "a%2Bb.txt",
    "a%252Bb.txt",
    "café.txt",
    "cafe\u0301.txt",
    "x\u200by.txt",
    "100%.txt",
    "q\"uo'te\\.txt",
    "{[<|>]}^`~.txt",
    "date=1/#?&;:.txt",
    "/x.txt",
]
"""Some of them are the same once they are decoded, or decoded twice, or composed."""


def test_s01_keys_that_look_alike_are_documents_of_their_own(world, queue):
    for number, name in enumerate(ODD_KEYS):
        world.upload(name, f"Name{number}", marked=False)
    world.work()
    prefix = world.places.inbox.key
    assert {row["source_key"].removeprefix(prefix): row["entity"] for row in world.all_rows("entities")} == {
        name: f"Name{number}" for number, name in enumerate(ODD_KEYS)
    }
    assert queue.held() == 0


@pytest.mark.parametrize("prefix", ["in+box é/", "in%2Bbox/", "in box%20/"])
def test_s01_an_event_is_recognised_in_an_inbox_whose_own_name_is_encoded(world, queue, prefix):
    bucket = world.places.inbox.bucket
    world.places = Places(S3Location(bucket, prefix), world.places.results)
    world.settings = world.settings.model_copy(update={"inbox": world.places.inbox})
    attributes = queue.client.get_queue_attributes(QueueUrl=queue.url, AttributeNames=["QueueArn"])
    told = {"QueueArn": attributes["Attributes"]["QueueArn"], "Events": ["s3:ObjectCreated:*"]}
    world.client.put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"QueueConfigurations": [told]}
    )
    world.tick()
    assert world.tick() == []
    world.upload("news/a.txt", "Bob")
    assert [request.partition_key for request in world.tick()] == ["news"]


def record(key, name="ObjectCreated:Put", bucket="bucket"):
    place = {"bucket": {"name": bucket}, "object": {"key": key}}
    return {"eventSource": "aws:s3", "eventName": name, "s3": place}


def test_s02_foreign_messages_hold_up_nothing_and_are_not_lost(world, queue, capfd):
    bucket = world.places.inbox.bucket
    silent = [
        {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": bucket},
        {"Records": []},
        {"Records": [record("in/gone.txt", "ObjectRemoved:Delete", bucket)]},
    ]
    unknown = [
        "not json",
        '{"Records": [{"eventSource": "aws:dynamodb"}]}',
        '{"Type": "SubscriptionConfirmation"}',
    ]
    queue.send(*map(json.dumps, silent), *unknown)
    world.upload("news/a.txt", "Bob")
    assert world.work() == ["news"]
    assert world.entities("news") == ["Bob"]
    warnings = capfd.readouterr().err
    letters = world.keys_below("state/dead-letters/")
    assert all(
        f"it is kept as {world.places.results}state/dead-letters/{name}" in warnings for name in letters
    )
    kept = [get_bytes(world.client, world.places.results / f"state/dead-letters/{name}") for name in letters]
    assert sorted(kept) == sorted(body.encode() for body in unknown)
    assert queue.held() == 0
    assert world.tick() == []
    assert world.keys_below("state/dead-letters/") == letters


def test_s02_whoever_brings_the_news_the_sensor_looks(world, queue):
    world.tick()
    bucket = world.places.inbox.bucket
    notification = {"Records": [record("x", bucket="other"), record("in/1/a.txt", bucket=bucket)]}
    event_bridge = {
        "source": "aws.s3",
        "detail-type": "Object Created",
        "detail": {"bucket": {"name": bucket}, "object": {"key": "in/1/a.txt", "version-id": "v"}},
    }
    through_sns = {"Type": "Notification", "Message": json.dumps(notification)}
    for number, hint in enumerate([notification, event_bridge, through_sns]):
        world.upload(f"set{number}/a.txt", "Bob")
        queue.lose_all()
        assert world.tick() == []
        queue.send(json.dumps(hint))
        assert [request.partition_key for request in world.tick()] == [f"set{number}"]


def test_s02_doubled_late_and_unordered_messages_ask_for_nothing_twice(world, queue):
    world.upload("news/a.txt", "Bob")
    world.upload("a.txt", "Ann")
    bodies = [message.body for message in queue.peek()]
    queue.send(*reversed(bodies), *bodies)
    assert len(world.tick()) == 2
    queue.send(*bodies)
    assert world.tick() == []
    assert queue.held() == 0
