"""S04 to S11: what people and tools do to an inbox, from the upload to the tables."""

import re

import pytest

from ner_pipeline.errors import StorageError
from ner_pipeline.orchestration.assets import documents
from ner_pipeline.storage.document_sets import read_description
from ner_pipeline.storage.objects import list_objects

RECOMPUTE = {"ops": {"raw_entities": {"ops": {"plan_shards": {"config": {"recompute": True}}}}}}


def names(world, table="outcomes"):
    prefix = world.places.inbox.key
    return sorted(row["source_key"].removeprefix(prefix) for row in world.all_rows(table))


def pages_of(monkeypatch, size):
    """Let the S3 server give so many keys in one page."""
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", str(size))


def test_s04_markers_are_no_documents_and_an_empty_file_is_an_empty_one(world):
    for marker in ("", "sub/", "_SUCCESS", "news/", "news/deep/", "news/deep/_SUCCESS", "news/_SUCCESS"):
        world.upload(marker, "", marked=False)
    world.upload("zero.txt", "", marked=False)
    world.upload("dir/", "Bob!!", marked=False)
    world.upload("news/zero.txt", "", marked=False)
    world.upload("news/deep/a.txt", "Ann", marked=False)
    assert len(world.work()) == 3
    assert names(world) == ["dir/", "news/deep/a.txt", "news/zero.txt", "zero.txt"]
    outcomes = {row["source_key"]: row["outcome"] for row in world.all_rows("outcomes")}
    assert outcomes["in/zero.txt"] == outcomes["in/news/zero.txt"] == "empty"
    assert outcomes["in/dir/"] in {"ok", "rejected"}
    assert world.tick() == []


def test_s04_a_folder_of_nothing_but_markers_is_no_set(world):
    for marker in ("news/", "news/deep/", "news/deep/_SUCCESS"):
        world.upload(marker, "", marked=False)
    assert world.tick() == []


def test_s05_each_new_content_of_a_key_replaces_the_result_and_the_same_content_does_nothing(world):
    for content in ("Bob", "Ann", "Bob"):
        world.process("news/a.txt", content)
        [listed] = list_objects(world.client, world.places.inbox / "news/a.txt")
        [row] = world.rows("entities", "news")
        assert (row["entity"], row["source_etag"]) == (content, listed.etag)
    world.upload("news/a.txt", "Bob")
    assert world.tick() == []


def test_s05_a_deleted_set_that_comes_back_is_run_again_and_a_run_can_be_forced(world):
    world.process("news/a.txt", "Bob")
    world.delete("news/a.txt", "news/_SUCCESS")
    assert world.tick() == []
    world.process("news/a.txt", "Bob")
    asked = len(world.pool.asked)
    assert world.run("news", run_config=RECOMPUTE).success
    assert len(world.pool.asked) == asked + 1
    assert world.entities("news") == ["Bob"]


def test_s07_files_of_the_same_second_are_neither_lost_nor_repeated(world):
    for number in range(3):
        world.upload(f"{number}.txt", "Bob")
    first = world.work()
    for number in range(3, 5):
        world.upload(f"{number}.txt", "Bob")
    second = world.work()
    assert world.tick() == []
    found = [len(world.rows("outcomes", key)) for [key] in (first, second)]
    assert found == [3, 2]
    assert names(world) == [f"{number}.txt" for number in range(5)]


@pytest.mark.parametrize("count", [0, 10, 11, 25])
def test_s08_all_pages_of_a_listing_are_seen(world, monkeypatch, count):
    pages_of(monkeypatch, 10)
    expected = [f"{number:03}.txt" for number in range(count - 1)] + ["zzz.txt"] * bool(count)
    for name in expected:
        world.upload(name, "Bob")
    [*requests] = world.tick()
    members = [member.key for request in requests for member in described(world, request).members]
    assert members == [world.places.inbox.key + name for name in expected]


def described(world, request):
    return read_description(world.client, world.places.results, request.partition_key)


@pytest.mark.proof
def test_s08_more_keys_than_two_pages_of_a_real_size(world):
    for number in range(2_499):
        world.upload(f"many/{number:04}.txt", "Bob", marked=False)
    world.upload("many/zzz.txt", "Ann")
    assert world.work() == ["many"]
    assert len(set(names(world))) == 2_500
    assert "Ann" in world.entities("many")


def test_s08_runs_beyond_the_limit_of_a_tick_are_asked_for_in_the_next_ones(world, monkeypatch):
    pages_of(monkeypatch, 2)
    world.settings = world.settings.model_copy(update={"sets_per_tick": 2})
    for number in range(5):
        world.upload(f"set{number}/a.txt", "Bob")
    ticks = [[request.partition_key for request in world.tick()] for _ in range(4)]
    assert ticks == [["set0", "set1"], ["set2", "set3"], ["set4"], []]


def race(monkeypatch, happens):
    """Let something happen after the run has listed its set and before it reads the first object."""
    original, done = documents.open_object, []

    def opened(client, place, **conditions):
        if not done:
            done.append(place)
            happens()
        return original(client, place, **conditions)

    monkeypatch.setattr(documents, "open_object", opened)


def test_s09_of_a_folder_that_is_overwritten_before_it_is_read_only_the_new_version_is_published(
    world, monkeypatch
):
    world.upload("news/a.txt", "Bob")
    [request] = world.tick()
    with monkeypatch.context() as racing:
        race(racing, lambda: world.upload("news/a.txt", "Ann"))
        assert world.run("news", tags=request.tags).success
    assert world.keys_below("entities/") == []
    assert world.work() == ["news"]
    assert world.entities("news") == ["Ann"]


def test_s09_of_a_folder_that_loses_a_file_before_it_is_read_only_the_new_version_is_published(
    world, monkeypatch
):
    world.upload("news/a.txt", "Bob")
    world.upload("news/b.txt", "Ann")
    [request] = world.tick()
    with monkeypatch.context() as racing:
        race(racing, lambda: world.delete("news/a.txt"))
        result = world.run("news", tags=request.tags)
    assert result.success
    assert [event for event in result.all_events if event.is_step_up_for_retry] == []
    assert world.keys_below("entities/") == []
    assert world.work() == ["news"]
    assert (world.entities("news"), names(world)) == (["Ann"], ["news/b.txt"])


def test_s09_a_long_file_that_is_overwritten_while_it_is_read_mixes_no_two_versions(world, monkeypatch):
    first, second = (f"{name} {'and so on ' * 150_000} {name}" for name in ("Bob", "Ann"))
    world.upload("long.txt", first)
    [request] = world.tick()
    race(monkeypatch, lambda: world.upload("long.txt", second))
    assert world.run(request.partition_key, tags=request.tags).success
    [row] = world.rows("outcomes", request.partition_key)
    assert (row["outcome"], row["reason"]) == ("skipped", "replaced")
    [key] = world.work()
    assert world.entities(key) == ["Ann", "Ann"]


def test_s09_a_refusal_is_an_error_and_not_a_document_that_is_gone(world, monkeypatch):
    def refuses(client, place, **conditions):
        raise StorageError("planted: 403 AccessDenied")

    world.upload("a.txt", "Bob")
    [request] = world.tick()
    monkeypatch.setattr(documents, "open_object", refuses)
    assert not world.run(request.partition_key, raise_on_error=False).success
    assert world.keys_below("entities/") == []


DANGEROUS = ["a,b", "a b", "a\tb", "a...b", "a|b", 'a[1]"x', "abs", "", "  ", "a.json", "a.txt", "A", "a"]
"""Names that Dagster's UI splits, that a file system nests, or that differ by next to nothing. Those that no
client can send to this server, such as one with a line break, are tried in `storage.test_document_sets`."""


def test_s11_no_name_is_a_partition_key_and_no_two_share_one(world):
    for name in DANGEROUS:
        world.upload(f"{name}/x.txt", "Bob", marked=False)
    for name in ("a.json", "a.txt", "b"):
        world.upload(name, "Bob")
    requests = world.tick()
    keys = [request.partition_key for request in requests]
    assert len(set(keys)) == len(keys) == len(DANGEROUS) + 1
    assert all(re.fullmatch(r"[a-z][a-z0-9_-]{0,59}", key) for key in keys)
    assert len({request.run_key for request in requests}) == len(keys)
    folders = {described(world, request).name for request in requests} - {described(world, requests[-1]).name}
    assert folders == {f"{name}/" for name in DANGEROUS}
    assert set(world.instance.get_dynamic_partitions("document_sets")) == set(keys)


def test_s11_sets_with_dangerous_names_are_published_side_by_side_under_their_raw_names(world):
    chosen = ["a\tb", "", "a...b"]
    for name in chosen:
        world.upload(f"{name}/x.txt", "Bob", marked=False)
    keys = world.work()
    assert {world.manifest(key).name for key in keys} == {f"{name}/" for name in chosen}
    assert sorted(names(world, "entities")) == sorted(f"{name}/x.txt" for name in chosen)


@pytest.mark.parametrize("name", ["cold.txt", "set/cold.txt"])
def test_s09_an_object_in_an_archive_costs_no_other_one_anything(world, name):
    place = world.places.inbox / name
    world.client.put_object(Bucket=place.bucket, Key=place.key, Body=b"Ann", StorageClass="GLACIER")
    world.upload(name.replace("cold", "warm"), "Bob")
    [key] = world.work()
    assert world.outcomes(key) == {"cold.txt": "skipped", "warm.txt": "ok"}
    [cold] = [row for row in world.rows("outcomes", key) if row["outcome"] == "skipped"]
    assert cold["reason"] == "archived"
    assert "restore it" in cold["detail"]
