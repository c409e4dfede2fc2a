"""What messages say, in every form in which they arrive, and when a tick looks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.storage.events import Message, read_message, why_look
from ner_pipeline.storage.inbox import Cursor, InboxState
from ner_pipeline.storage.locations import S3Location

INBOX = S3Location("bucket", "in/")


def record(key="in/a.txt", name="ObjectCreated:Put", bucket="bucket", source="aws:s3", **more):
    return {
        "eventSource": source,
        "eventName": name,
        "s3": {"bucket": {"name": bucket}, "object": {"key": key, **more}},
    }


def notification(*records):
    return {"Records": list(records)}


def event_bridge(key="in/a.txt", kind="Object Created"):
    return {
        "source": "aws.s3",
        "detail-type": kind,
        "detail": {"bucket": {"name": "bucket"}, "object": {"key": key, "size": 5}},
    }


def read(content):
    return read_message(json.dumps(content))


def keys(content):
    message = read(content)
    assert message.is_understood
    return [place.key for place in message.created]


def test_s01_the_key_of_a_notification_is_decoded_exactly_once():
    assert keys(notification(record("in/a%2Bb+c%2520d+%C3%A9.txt"))) == ["in/a+b c%20d é.txt"]
    assert keys(notification(record("in%2Fdate%3D1/%23%3F%26%3B%3A.txt"))) == ["in/date=1/#?&;:.txt"]


@pytest.mark.parametrize("key", ["in/a+b.txt", "in/a%20b.txt", "in/a b.txt", "in/é.txt"])
def test_s01_the_key_of_event_bridge_is_not_encoded_and_stays_as_it_is(key):
    assert keys(event_bridge(key)) == [key]


@pytest.mark.parametrize(
    "name",
    [
        "ObjectCreated:Put",
        "ObjectCreated:Post",
        "ObjectCreated:Copy",
        "ObjectCreated:CompleteMultipartUpload",
        "s3:ObjectCreated:Put",
    ],
)
def test_every_way_of_writing_an_object_is_news(name):
    assert keys(notification(record(name=name))) == ["in/a.txt"]


@pytest.mark.parametrize("source", ["minio:s3", "ceph:s3"])
def test_notifications_of_other_servers_are_read(source):
    assert keys(notification(record(source=source, name="s3:ObjectCreated:Put"))) == ["in/a.txt"]


@pytest.mark.parametrize(
    "name",
    [
        "ObjectRemoved:Delete",
        "ObjectRemoved:DeleteMarkerCreated",
        "s3:ObjectRemoved:Delete",
        "ObjectTagging:Put",
        "ObjectRestore:Completed",
        "LifecycleExpiration:Delete",
        "ReducedRedundancyLostObject",
    ],
)
def test_s02_other_events_are_understood_and_say_nothing(name):
    assert keys(notification(record(name=name))) == []


@pytest.mark.parametrize(
    "content",
    [
        {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"},
        {"Records": []},
        event_bridge(kind="Object Deleted"),
        event_bridge(kind="Object Restore Completed"),
    ],
)
def test_s02_messages_without_news_are_understood(content):
    assert keys(content) == []


@pytest.mark.parametrize("inner", [notification(record()), event_bridge()])
def test_s02_a_message_that_came_through_sns_is_unwrapped(inner):
    wrapped = {"Type": "Notification", "TopicArn": "arn", "Message": json.dumps(inner)}
    assert keys(wrapped) == ["in/a.txt"]


def test_all_records_of_a_message_count_whatever_stands_among_them():
    mixed = notification(
        record("in/a"), record("in/b", name="ObjectRemoved:Delete"), record("x", bucket="other")
    )
    assert keys(mixed) == ["in/a", "x"]


def test_versions_and_anything_else_that_is_said_of_an_object_change_nothing():
    assert keys(notification(record(versionId="v1", eTag="e", sequencer="00"))) == ["in/a.txt"]


@pytest.mark.parametrize(
    "body",
    [
        "not json",
        "",
        "null",
        "[]",
        "7",
        '"text"',
        "[" * 100_000,
        "{}",
        '{"Records": null}',
        '{"Records": [null]}',
        '{"Records": [{"eventSource": "aws:dynamodb", "eventName": "INSERT"}]}',
        '{"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put"}]}',
        '{"Records": [{"eventSource": "aws:s3", "eventName": 7, "s3": {}}]}',
        '{"Type": "SubscriptionConfirmation", "SubscribeURL": "https://…"}',
        '{"Type": "Notification", "Message": "not json"}',
        '{"Type": "Notification", "Message": {}}',
        '{"source": "aws.s3", "detail-type": "Object Created"}',
        '{"source": "aws.ec2", "detail-type": "Instance Launched", "detail": {}}',
    ],
    ids=range(18),
)
def test_s02_what_is_of_no_known_form_is_told_apart(body):
    assert read_message(body) == Message(is_understood=False)


def test_s02_news_beside_a_record_of_unknown_form_are_not_lost():
    message = read(notification(record(), {"eventSource": "aws:sns"}))
    assert not message.is_understood
    assert message.speaks_of(INBOX)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["Records", "eventSource", "eventName", "s3", "bucket", "name", "object", "key", "Message"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_nothing_that_stands_in_a_message_raises(content):
    assert read(content).created == ()


@given(st.text())
def test_nothing_that_is_no_json_raises(body):
    assert read_message(body).created == ()


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        ([S3Location("bucket", "in/a")], True),
        ([S3Location("bucket", "out/a"), S3Location("bucket", "in/a")], True),
        ([S3Location("bucket", "inbox/a")], False),
        ([S3Location("other", "in/a")], False),
        ([], False),
    ],
)
def test_only_what_was_written_in_the_inbox_speaks_of_it(created, expected):
    assert Message(tuple(created)).speaks_of(INBOX) is expected


def reason(cursor, **what):
    return why_look(cursor, **{"arrived": False, "fault": "", "now": 1000.0, "look_seconds": 300, **what})


SEEN = Cursor(tick=3, looked_at=900.0)


def test_a_tick_without_news_does_not_look():
    assert reason(SEEN) == ""


@pytest.mark.parametrize(
    ("cursor", "what", "expected"),
    [
        (SEEN, {"arrived": True}, "arrived"),
        (SEEN, {"fault": "no such queue"}, "no such queue"),
        (SEEN.model_copy(update={"wake_at": 1000.0}), {}, "waiting"),
        (SEEN, {"now": 1200.0}, "for 300 s"),
        (SEEN, {"now": 800.0}, "for 300 s"),
        (Cursor(tick=3), {}, "for 300 s"),
    ],
    ids=["arrived", "no queue", "waiting", "long ago", "the clock was put back", "never"],
)
def test_a_tick_looks_for_a_reason_and_names_it(cursor, what, expected):
    assert expected in reason(cursor, **what)


def test_a_set_that_waits_is_not_looked_at_before_its_time():
    assert reason(SEEN.model_copy(update={"wake_at": 1000.5})) == ""


def test_a_state_of_a_former_listing_counts_as_no_look():
    state = InboxState(tick=4, at=1000.0, listing="then")
    assert Cursor.after(state, listing="then").looked_at == 1000.0
    assert Cursor.after(state, listing="now").looked_at == 0.0


def test_a_cursor_of_former_versions_can_be_read():
    assert Cursor.model_validate_json('{"tick": 7, "listing": "x", "wake_at": null}').looked_at == 0.0
