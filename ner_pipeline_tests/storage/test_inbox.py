"""What a tick decides, over hand-made listings and a clock that the test holds."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.errors import Superseded
from ner_pipeline.storage.document_sets import SetKind, group_inbox
from ner_pipeline.storage.inbox import (
    InboxState,
    TickLimits,
    listing_digest,
    load_state,
    newest_tick,
    plan_tick,
    save_state,
)
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import ListedObject

INBOX = S3Location("bucket", "in/")
T0 = datetime(2026, 1, 15, 12, tzinfo=UTC)
SETTLE = TickLimits(settle_seconds=30, sets_per_tick=100)


def listed(key, etag="e", *, size=3, at=T0):
    return ListedObject(key, etag, size, at)


def marker(second=1):
    return listed("in/news/_SUCCESS", size=0, at=T0 + timedelta(seconds=second))


MARKER = marker()


def tick(objects, state, *, now, limits=SETTLE):
    return plan_tick(
        group_inbox(objects, INBOX), state, now=now, limits=limits, listing=listing_digest(objects)
    )


def keys(plan):
    return [request.key for request in plan.requests]


def test_a_marked_folder_is_asked_for_at_once_and_only_once():
    objects = [listed("in/news/a.txt"), MARKER]
    first = tick(objects, InboxState(), now=0)
    assert keys(first) == ["news"]
    assert keys(tick(objects, first.state, now=1000)) == []


def test_an_unmarked_folder_waits_until_it_has_not_changed_for_the_settle_time():
    one, two = [listed("in/news/a")], [listed("in/news/a"), listed("in/news/b")]
    state = tick(one, InboxState(), now=0).state
    state = tick(two, state, now=20).state
    still_growing = tick(two, state, now=49)
    assert keys(still_growing) == []
    assert still_growing.state.wake_at == 50
    assert keys(tick(two, still_growing.state, now=50)) == ["news"]


def test_a_file_added_after_the_marker_waits_for_the_folder_to_settle():
    state = tick([listed("in/news/a"), MARKER], InboxState(), now=0).state
    grown = [listed("in/news/a"), listed("in/news/b", at=T0 + timedelta(seconds=2)), MARKER]
    waiting = tick(grown, state, now=1)
    assert keys(waiting) == []
    assert keys(tick(grown, waiting.state, now=31)) == ["news"]


def test_new_content_under_the_same_key_is_asked_for_and_the_same_bytes_are_not():
    state = tick([listed("in/news/a", "v1"), MARKER], InboxState(), now=0).state
    touched = [listed("in/news/a", "v1", at=T0 + timedelta(seconds=1)), marker(2)]
    assert keys(tick(touched, state, now=100)) == []
    assert keys(tick([listed("in/news/a", "v2"), marker(3)], state, now=100)) == ["news"]


def test_a_marker_of_the_last_request_does_not_hurry_a_folder_that_is_being_deleted():
    ten = [listed(f"in/news/{number}") for number in range(10)]
    state = tick([*ten, MARKER], InboxState(), now=0).state
    asked = []
    for second, left in enumerate((7, 3, 0), start=1):
        plan = tick([*ten[:left], MARKER], state, now=second)
        asked += keys(plan)
        state = plan.state
    assert asked == []
    assert keys(tick([], state, now=60)) == []


def test_the_return_to_an_older_version_gets_a_run_key_of_its_own():
    run_keys, state = [], InboxState()
    for second, version in enumerate(("v1", "v2", "v1"), start=1):
        plan = tick([listed("in/news/a", version), marker(second)], state, now=0)
        run_keys += [request.run_key for request in plan.requests]
        state = plan.state
    assert len(set(run_keys)) == 3


def test_a_deleted_folder_that_comes_back_in_an_older_version_is_asked_for_again():
    v1, v2 = [listed("in/news/a", "v1"), MARKER], [listed("in/news/a", "v2"), marker(2)]
    run_keys, state = [], InboxState()
    for objects in (v1, v2, [], v1):
        plan = tick(objects, state, now=0)
        run_keys += [request.run_key for request in plan.requests]
        state = plan.state
    assert len(run_keys) == len(set(run_keys)) == 3


def test_a_deleted_folder_that_comes_back_unchanged_is_asked_for_again():
    objects = [listed("in/news/a", "v1"), MARKER]
    state = tick(objects, InboxState(), now=0).state
    state = tick([], state, now=1).state
    assert keys(tick(objects, state, now=2)) == ["news"]


def test_all_loose_files_of_a_tick_are_one_batch():
    plan = tick([listed(f"in/{number}.txt") for number in range(2000)], InboxState(), now=0)
    [request] = plan.requests
    assert request.description.kind is SetKind.BATCH
    assert request.objects == 2000


def test_a_loose_file_is_given_to_one_batch_only_and_its_new_version_to_a_later_one():
    first = tick([listed("in/a", "v1")], InboxState(), now=0)
    second = tick([listed("in/a", "v1"), listed("in/b")], first.state, now=1)
    third = tick([listed("in/a", "v2"), listed("in/b")], second.state, now=2)
    members = [
        [(m.key, m.etag) for m in request.description.members]
        for plan in (first, second, third)
        for request in plan.requests
    ]
    assert members == [[("in/a", "v1")], [("in/b", "e")], [("in/a", "v2")]]


def test_files_that_share_a_second_with_older_ones_are_not_lost():
    first = tick([listed(f"in/{number}") for number in range(3)], InboxState(), now=0)
    second = tick([listed(f"in/{number}") for number in range(5)], first.state, now=1)
    assert [member.key for member in second.requests[0].description.members] == ["in/3", "in/4"]


def test_a_file_that_appears_with_an_old_date_is_not_lost():
    """A multipart upload is dated at its beginning, and appears at its end."""
    first = tick([listed("in/new")], InboxState(), now=0)
    second = tick([listed("in/new"), listed("in/big", at=T0 - timedelta(hours=5))], first.state, now=1)
    assert [member.key for member in second.requests[0].description.members] == ["in/big"]


def test_a_tick_is_bounded_and_the_rest_comes_in_the_next_ones():
    objects = [listed(f"in/set{number:03}/a") for number in range(250)]
    limits = TickLimits(settle_seconds=0, sets_per_tick=100)
    state, asked = InboxState(), []
    for now in range(3):
        plan = tick(objects, state, now=now, limits=limits)
        assert len(plan.requests) <= 100
        assert (plan.state.wake_at is not None) == (now < 2)
        asked += keys(plan)
        state = plan.state
    assert sorted(asked) == sorted(f"set{number:03}" for number in range(250))
    assert keys(tick(objects, state, now=9, limits=limits)) == []


def test_a_state_of_another_epoch_asks_with_run_keys_of_its_own():
    objects = [listed("in/a"), listed("in/news/b"), MARKER]
    run_keys = [
        request.run_key
        for epoch in ("one", "two")
        for request in tick(objects, InboxState(epoch=epoch), now=0).requests
    ]
    assert len(set(run_keys)) == 4


@given(
    st.lists(
        st.tuples(st.sampled_from(["in/a", "in/b", "in/s/a", "in/s/b", "in/t/c"]), st.sampled_from("xyz")),
        max_size=8,
    ),
    st.integers(1, 3),
)
def test_whatever_happens_every_version_that_stays_is_asked_for_and_no_run_key_twice(changes, sets_per_tick):
    limits = TickLimits(settle_seconds=0, sets_per_tick=sets_per_tick)
    state, run_keys, store = InboxState(), [], {}
    for step, (key, etag) in enumerate([*changes, *[(None, None)] * 6]):
        if key is not None:
            store[key] = listed(key, etag, at=T0 + timedelta(seconds=step))
        plan = tick(list(store.values()), state, now=step, limits=limits)
        state = plan.state
        run_keys += [request.run_key for request in plan.requests]
    assert len(run_keys) == len(set(run_keys))
    found = group_inbox(list(store.values()), INBOX)
    assert all(
        state.folders[name].requested_version == folder.version for name, folder in found.folders.items()
    )
    assert len(state.loose) == len(found.loose)


def test_the_digest_of_a_listing_sees_every_change():
    base = [listed("in/a")]
    changes = ([], [listed("in/b")], [listed("in/a", "f")], [listed("in/a", at=T0 + timedelta(seconds=1))])
    digests = {listing_digest(objects) for objects in (base, *changes)}
    assert len(digests) == 5


def test_a_state_is_written_once_and_read_back_whole(client, places):
    state = tick([listed("in/a"), listed("in/news/b"), MARKER], InboxState(), now=7).state
    save_state(client, places.results, state)
    assert load_state(client, places.results, 1) == state
    assert newest_tick(client, places.results) == 1
    with pytest.raises(Superseded):
        save_state(client, places.results, state)


def test_old_states_are_removed_and_the_newest_stays(client, places):
    for number in range(1, 31):
        save_state(client, places.results, InboxState(tick=number))
    assert newest_tick(client, places.results) == 30
    assert load_state(client, places.results, 1) is None


def test_a_loose_file_whose_former_content_comes_back_is_run_again_as_the_newest_upload():
    plans, state = [], InboxState()
    for second, etag in enumerate(["v1", "v2", "v1"]):
        plan = tick([listed("in/a", etag, at=T0 + timedelta(seconds=second))], state, now=second)
        plans.append(plan)
        state = plan.state
    assert len({request.run_key for plan in plans for request in plan.requests}) == 3


def test_a_version_that_comes_back_before_another_one_has_settled_is_asked_for_again():
    """The run that was asked for may have met the other version, and ended without a result."""
    v1, v2 = ([listed("in/news/a", version)] for version in ("v1", "v2"))
    state = tick(v1, InboxState(), now=0).state
    first = tick(v1, state, now=40)
    between = tick(v2, first.state, now=41)
    back = tick(v1, between.state, now=42)
    again = tick(v1, back.state, now=80)
    assert (keys(first), keys(between), keys(back), keys(again)) == (["news"], [], [], ["news"])
    assert first.requests[0].version == again.requests[0].version
    assert first.requests[0].run_key != again.requests[0].run_key
