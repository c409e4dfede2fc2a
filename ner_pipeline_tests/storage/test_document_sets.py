"""Sets, versions and keys: pure, over hand-made listings and generated names."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.storage.document_sets import (
    SetKind,
    batch_of,
    group_inbox,
    partition_key,
    set_version,
)
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import ListedObject

INBOX = S3Location("bucket", "in/")
T0 = datetime(2026, 1, 15, 12, tzinfo=UTC)

set_names = st.text(min_size=0, max_size=80).map(lambda name: name.replace("/", "_") + "/") | st.text(
    st.characters(codec="utf-8"), min_size=1
).filter(lambda name: not name.endswith("/"))


def listed(key, *, size=3, etag="e", at=T0):
    return ListedObject(key, etag, size, at)


@given(set_names)
def test_every_key_is_safe_for_dagster_and_for_a_hive_path(name):
    assert re.fullmatch(r"[a-z][a-z0-9_-]{0,59}", partition_key(name))


@given(st.lists(set_names, unique=True, min_size=2, max_size=20))
def test_distinct_sets_never_share_a_key(names):
    assert len({partition_key(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    "twins",
    [
        ("a,b/", "a b/", "a\nb/", "a...b/", "a|b/", 'a[1]"x/', "../", "/", "  /"),
        ("News/", "news/", "NEWS/", "néws/"),
        ("a.json/", "a.txt/", "a/", "a"),
        ("2026-01-15/", "20260115/"),
    ],
)
def test_names_that_look_alike_get_keys_of_their_own(twins):
    assert len({partition_key(name) for name in twins}) == len(twins)


def test_a_plain_folder_name_is_its_own_key_and_a_hashed_one_cannot_be_forged():
    assert partition_key("news/") == "news"
    hashed = partition_key("2026-01-15/")
    assert hashed.startswith("set-2026-01-15-")
    assert partition_key(f"{hashed}/") != hashed


def test_the_version_changes_with_key_etag_and_size_and_not_with_order_or_time():
    members = [listed("in/a"), listed("in/b")]
    version = set_version(members)
    assert re.fullmatch("[0-9a-f]{12}", version)
    assert set_version(reversed(members)) == version
    assert set_version([listed("in/a", at=T0 + timedelta(days=1)), listed("in/b")]) == version
    for changed in (listed("in/c"), listed("in/a", etag="f"), listed("in/a", size=4)):
        assert set_version([changed, listed("in/b")]) != version


def test_the_version_tells_lists_apart_whose_parts_join_to_the_same_text():
    assert set_version([listed("in/a1", etag="2")]) != set_version([listed("in/a", etag="12")])


def test_a_listing_falls_into_folders_and_loose_files():
    objects = [
        listed("in/x.txt"),
        listed("in/news/a.txt"),
        listed("in/news/deep/b.txt"),
        listed("in/old/c.txt"),
    ]
    inbox = group_inbox(objects, INBOX)
    assert [entry.key for entry in inbox.loose] == ["in/x.txt"]
    assert {name: [m.key for m in found.members] for name, found in inbox.folders.items()} == {
        "news/": ["in/news/a.txt", "in/news/deep/b.txt"],
        "old/": ["in/old/c.txt"],
    }


def test_folder_markers_and_success_markers_are_no_documents():
    objects = [
        listed("in/", size=0),
        listed("in/sub/", size=0),
        listed("in/zero.txt", size=0),
        listed("in/news/dir/", size=5),
        listed("in/news/_SUCCESS", size=0),
        listed("in/_SUCCESS", size=0),
    ]
    inbox = group_inbox(objects, INBOX)
    assert [entry.key for entry in inbox.loose] == ["in/zero.txt"]
    assert list(inbox.folders) == ["news/"]
    assert [member.key for member in inbox.folders["news/"].members] == ["in/news/dir/"]


def test_a_success_marker_speaks_only_of_what_was_there_before_it():
    marker = listed("in/news/_SUCCESS", size=0, at=T0 + timedelta(seconds=1))
    complete = group_inbox([listed("in/news/a"), marker], INBOX).folders["news/"]
    grown = group_inbox([listed("in/news/b", at=T0 + timedelta(seconds=2)), marker], INBOX).folders["news/"]
    assert complete.is_marked_complete
    assert not grown.is_marked_complete


def test_the_marker_is_no_part_of_the_version():
    members = [listed("in/news/a")]
    with_marker = group_inbox([*members, listed("in/news/_SUCCESS", size=0)], INBOX).folders["news/"]
    assert with_marker.version == set_version(members)


def test_the_same_loose_files_always_make_the_same_batch():
    files = [listed("in/a"), listed("in/b")]
    assert batch_of(files).key == batch_of(files[::-1]).key
    assert batch_of(files).kind is SetKind.BATCH
    assert batch_of(files).key != batch_of([listed("in/a", etag="new"), listed("in/b")]).key


@pytest.mark.parametrize("name", ["epoch", "infinity", "null", "true", "nan", "today"])
def test_a_folder_name_that_hive_readers_take_for_a_value_is_hashed(name):
    assert partition_key(f"{name}/").startswith(f"{name}-")
