"""The inbox sensor with an event queue: when it looks, when it does not, and when messages are deleted."""

import json

import pytest

from ner_pipeline.errors import StorageError, StorageUnavailable
from ner_pipeline.orchestration import sensors
from ner_pipeline.storage.inbox import Cursor


@pytest.fixture
def looks(world, monkeypatch):
    """Count the listings of the inbox."""
    found, original = [], sensors.list_objects

    def counted(client, place):
        found.append(place)
        return original(client, place)

    monkeypatch.setattr(sensors, "list_objects", counted)
    return found


def last_look_was_at(world, moment):
    cursor = Cursor.model_validate_json(world.cursor)
    world.cursor = cursor.model_copy(update={"looked_at": moment}).model_dump_json()


def asked(world):
    return [request.partition_key for request in world.tick()]


def test_an_upload_wakes_the_sensor_and_a_tick_without_one_lists_nothing(world, queue, looks):
    world.upload("news/a.txt", "Bob")
    assert asked(world) == ["news"]
    assert queue.held() == 0
    looks.clear()
    assert asked(world) == asked(world) == []
    assert looks == []
    world.upload("sport/a.txt", "Ann")
    assert asked(world) == ["sport"]
    assert len(looks) == 1


def test_an_event_of_another_place_and_a_removal_wake_nobody(world, queue, looks):
    world.upload("news/a.txt", "Bob")
    world.tick()
    looks.clear()
    queue.send(
        json.dumps(
            {
                "source": "aws.s3",
                "detail-type": "Object Created",
                "detail": {"bucket": {"name": "other"}, "object": {"key": "in/a.txt"}},
            }
        )
    )
    world.delete("news/a.txt")
    assert asked(world) == []
    assert (looks, queue.held()) == ([], 0)


def test_an_event_that_was_lost_costs_time_and_no_document(world, queue, looks):
    world.upload("news/a.txt", "Bob")
    world.tick()
    world.upload("late/a.txt", "Ann")
    queue.lose_all()
    assert asked(world) == []
    last_look_was_at(world, 0.0)
    assert asked(world) == ["late"]


def test_a_look_at_an_unchanged_inbox_is_remembered(world, queue, looks):
    world.upload("news/a.txt", "Bob")
    world.tick()
    last_look_was_at(world, 0.0)
    looks.clear()
    assert asked(world) == asked(world) == []
    assert len(looks) == 1


def test_a_set_beyond_the_limit_of_a_tick_waits_for_no_event(world, queue):
    world.settings = world.settings.model_copy(update={"sets_per_tick": 1})
    world.upload("a/a.txt", "Bob")
    world.upload("b/a.txt", "Bob")
    assert [asked(world), asked(world), asked(world)] == [["a"], ["b"], []]


def test_a_folder_that_has_settled_waits_for_no_event(world, queue):
    world.settings = world.settings.model_copy(update={"settle_seconds": 3600})
    world.upload("news/a.txt", "Bob", marked=False)
    assert asked(world) == []
    world.settings = world.settings.model_copy(update={"settle_seconds": 0})
    cursor = Cursor.model_validate_json(world.cursor)
    world.cursor = cursor.model_copy(update={"wake_at": cursor.looked_at}).model_dump_json()
    assert asked(world) == ["news"]


def test_messages_of_a_tick_that_fails_before_its_state_is_saved_come_again(world, queue, monkeypatch):
    world.upload("a.txt", "Bob")
    world.tick()
    world.upload("news/a.txt", "Bob")
    held = queue.held()

    def fails(*arguments, **options):
        raise StorageUnavailable("planted")

    with monkeypatch.context() as broken:
        broken.setattr(sensors, "save_state", fails)
        with pytest.raises(StorageUnavailable):
            world.tick()
    assert queue.held() == held > 0
    queue.wait_until_all_are_given_again()
    assert asked(world) == ["news"]
    assert queue.held() == 0


def test_a_daemon_that_died_after_deleting_its_messages_still_asks_for_its_runs(world, queue):
    world.upload("first/a.txt", "Bob")
    world.tick()
    before = world.cursor
    world.upload("news/a.txt", "Bob")
    assert asked(world) == ["news"]
    world.cursor = before
    assert queue.held() == 0
    assert asked(world) == ["news"]


def test_what_arrives_while_a_dead_tick_is_repeated_is_found_without_an_event_of_its_own(world, queue):
    world.upload("first/a.txt", "Bob")
    world.tick()
    before = world.cursor
    world.upload("news/a.txt", "Bob")
    world.tick()
    world.cursor = before
    world.upload("sport/a.txt", "Ann")
    assert asked(world) == ["news"]
    assert queue.held() == 0
    assert asked(world) == ["sport"]


def test_a_queue_that_cannot_be_read_hides_no_upload(world, queue):
    world.settings = world.settings.model_copy(update={"event_queue": queue.url + "-missing"})
    for name in ("a", "b"):
        world.upload(f"{name}/a.txt", "Bob")
        assert asked(world) == [name]


def test_a_queue_that_does_not_answer_hides_no_upload(world, queue, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:9")
    for name in ("a", "b"):
        world.upload(f"{name}/a.txt", "Bob")
        assert asked(world) == [name]


def test_a_message_that_cannot_be_deleted_comes_again_and_is_harmless(world, queue, monkeypatch):
    def refuses(self, messages):
        raise StorageError("planted")

    world.upload("news/a.txt", "Bob")
    with monkeypatch.context() as broken:
        broken.setattr(sensors.EventQueue, "delete", refuses)
        assert asked(world) == ["news"]
    assert queue.held() > 0
    queue.wait_until_all_are_given_again()
    assert asked(world) == []
    assert queue.held() == 0
