"""Single objects, over real requests to a server on loopback."""

import pytest

from ner_pipeline.errors import ObjectChanged, ObjectGone, StorageError, StorageUnavailable, Superseded
from ner_pipeline.storage import objects
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import (
    ABSENT,
    connect,
    delete_objects,
    download,
    get_bytes,
    head,
    honours_conditions,
    list_objects,
    open_object,
    put_bytes,
    put_file,
)

LOOK_ALIKES = [
    "a b.txt",
    "a+b.txt",
    "a%20b.txt",
    "café.txt",
    "cafe\u0301.txt",
    "date=1/#?&;:.txt",
    "x\u200by",
]


@pytest.fixture
def place(places):
    return places.inbox / "object"


def test_all_pages_are_listed_every_key_once_and_all_keys_can_be_deleted(client, places):
    """Of 0, 1, just a page of 1,000 and more than a page, as S3 lists and deletes them."""
    keys = []
    for count in (0, 1, 1_000, 1_005):
        for number in range(len(keys), count):
            keys.append(f"{places.inbox.key}{number:04}")
            client.put_object(Bucket=places.inbox.bucket, Key=keys[-1], Body=b"")
        assert [entry.key for entry in list_objects(client, places.inbox)] == keys
    delete_objects(client, places.inbox.bucket, keys)
    assert list_objects(client, places.inbox) == []


def test_keys_are_opaque_and_byte_exact(client, places):
    for name in LOOK_ALIKES:
        put_bytes(client, places.inbox / name, name.encode())
    found = list_objects(client, places.inbox)
    assert {entry.key.removeprefix(places.inbox.key) for entry in found} == set(LOOK_ALIKES)
    for name in LOOK_ALIKES:
        assert get_bytes(client, places.inbox / name) == name.encode()


def test_a_read_is_bound_to_the_listed_version(client, place):
    put_bytes(client, place, b"one")
    [entry] = list_objects(client, place)
    assert get_bytes(client, place, etag=entry.etag) == b"one"
    put_bytes(client, place, b"two")
    with pytest.raises(ObjectChanged):
        open_object(client, place, etag=entry.etag)
    delete_objects(client, place.bucket, [place.key])
    with pytest.raises(ObjectGone):
        open_object(client, place, etag=entry.etag)


def test_of_two_first_puts_one_wins(client, place):
    put_bytes(client, place, b"one", condition=ABSENT)
    with pytest.raises(Superseded, match="object"):
        put_bytes(client, place, b"two", condition=ABSENT)
    assert get_bytes(client, place) == b"one"


def test_a_put_holds_only_for_the_version_that_it_replaces(client, place):
    etag = put_bytes(client, place, b"one")
    put_bytes(client, place, b"two", condition=etag)
    with pytest.raises(Superseded):
        put_bytes(client, place, b"three", condition=etag)
    assert get_bytes(client, place) == b"two"


def test_a_conditional_put_on_a_deleted_object_is_superseded(client, place):
    etag = put_bytes(client, place, b"one")
    delete_objects(client, place.bucket, [place.key])
    with pytest.raises(Superseded):
        put_bytes(client, place, b"two", condition=etag)


def test_a_large_file_goes_up_in_parts_with_its_condition_and_comes_back_whole(
    client, place, tmp_path, monkeypatch
):
    monkeypatch.setattr(objects, "PART_BYTES", 5 * 1024**2)
    content = bytes(range(256)) * 50_000
    (tmp_path / "up").write_bytes(content)
    etag = put_file(client, place, tmp_path / "up", condition=ABSENT, metadata={"sha256": "s"})
    assert "-" in etag
    download(client, place, tmp_path / "down", etag=etag)
    assert (tmp_path / "down").read_bytes() == content
    assert head(client, place)["Metadata"] == {"sha256": "s"}
    with pytest.raises(Superseded):
        put_file(client, place, tmp_path / "up", condition=ABSENT)
    assert client.list_multipart_uploads(Bucket=place.bucket).get("Uploads", []) == []


def test_a_missing_bucket_is_named_and_is_no_reason_to_try_again(client):
    with pytest.raises(StorageError, match="s3://nobodys-bucket: there is no such bucket") as caught:
        list_objects(client, S3Location("nobodys-bucket", "in/"))
    assert not caught.value.transient
    assert not isinstance(caught.value, ObjectGone)


def test_a_server_that_does_not_answer_is_a_reason_to_try_again(client, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(StorageUnavailable) as caught:
        list_objects(connect(), S3Location("bucket", "in/"))
    assert caught.value.transient


def test_a_profile_that_does_not_exist_is_one_clear_line(s3_in_environment, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(StorageError, match="nobody"):
        connect()


def test_a_server_that_honours_conditions_is_told_from_one_that_overlooks_them(client, place):
    class Overlooking:
        def put_object(self, *, IfNoneMatch=None, **arguments):  # noqa: N803
            return client.put_object(**arguments)

    assert honours_conditions(client, place)
    assert honours_conditions(client, place)
    assert not honours_conditions(Overlooking(), place)
