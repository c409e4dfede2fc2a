"""Where a set stands: the decision, and the way from S3 to it."""

import pytest

from ner_pipeline.storage.document_sets import SetDescription, SetKind, describe_set, list_set
from ner_pipeline.storage.objects import put_bytes
from ner_pipeline.storage.progress import Progress, SetState, decide_state, note_progress, set_status


def progress(state, version="v2", reason=""):
    return Progress(state=state, set_version=version, run_id="r", reason=reason)


@pytest.mark.parametrize(
    ("version", "published", "noted", "expected"),
    [
        (None, None, None, SetState.UNKNOWN),
        (None, "v1", None, SetState.DONE),
        ("v2", None, None, SetState.QUEUED),
        ("v2", "v1", None, SetState.QUEUED),
        ("v2", "v1", progress(SetState.FAILED, "v1"), SetState.QUEUED),
        ("v2", "v1", progress(SetState.RUNNING), SetState.RUNNING),
        ("v2", "v1", progress(SetState.FAILED), SetState.FAILED),
        ("v2", "v2", progress(SetState.RUNNING), SetState.DONE),
    ],
)
def test_the_state_follows_from_upload_publication_and_the_newest_run(version, published, noted, expected):
    assert decide_state(version=version, published=published, progress=noted)[0] is expected


def test_a_failure_comes_with_its_reason():
    noted = progress(SetState.FAILED, reason="extract_shard: no model")
    assert decide_state(version="v2", published=None, progress=noted)[1] == "extract_shard: no model"


def test_a_set_is_queued_from_the_upload_on_before_any_sensor_has_seen_it(client, places):
    put_bytes(client, places.inbox / "2026-01-15/a.txt", b"Bob")
    status = set_status(client, places.inbox, places.results, "set-2026-01-15-" + "0" * 16)
    assert status.state is SetState.UNKNOWN
    put_bytes(client, places.inbox / "news/a.txt", b"Bob")
    assert set_status(client, places.inbox, places.results, "news").state is SetState.QUEUED


def test_what_a_run_notes_is_what_the_asker_sees(client, places):
    put_bytes(client, places.inbox / "news/a.txt", b"Bob")
    describe_set(client, places.results, SetDescription(name="news/", kind=SetKind.FOLDER))
    assert set_status(client, places.inbox, places.results, "news").state is SetState.QUEUED
    listed = list_set(client, places.inbox, SetDescription(name="news/", kind=SetKind.FOLDER))
    note_progress(client, places.results, "news", progress(SetState.FAILED, listed.version, "why"))
    status = set_status(client, places.inbox, places.results, "news")
    assert (status.state, status.reason) == (SetState.FAILED, "why")
