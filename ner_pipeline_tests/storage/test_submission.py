"""Handing over and fetching: names, markers, formats, and files that appear whole or not at all."""

import pytest

from ner_pipeline.errors import NerPipelineError, StorageError
from ner_pipeline.storage.document_sets import partition_key
from ner_pipeline.storage.objects import list_objects
from ner_pipeline.storage.submission import TableFormat, collect_files, fetch, new_set_name, submit


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_files_keep_their_names_and_folders_their_structure(tmp_path):
    write(tmp_path, "x.txt", "docs/a.txt", "docs/deep/b.txt")
    found = collect_files([tmp_path / "x.txt", tmp_path / "docs"])
    assert list(found) == ["x.txt", "a.txt", "deep/b.txt"]


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["nowhere.txt"], "nowhere.txt: there is no such file"),
        (["one/a.txt", "two/a.txt"], "would both be 'a.txt' in the set"),
        (["empty"], "there is no file to upload"),
        (["marked/_SUCCESS"], "marks a complete set"),
    ],
)
def test_what_cannot_be_a_set_is_refused_before_anything_is_uploaded(tmp_path, paths, message):
    write(tmp_path, "one/a.txt", "two/a.txt", "marked/_SUCCESS")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NerPipelineError, match=message):
        collect_files([tmp_path / path for path in paths])


def test_the_marker_is_written_last_and_the_key_is_given(client, places, tmp_path):
    files = collect_files([write(tmp_path, "a.txt", "b/c.txt")])
    sent = []
    key = submit(client, places.inbox, "My Set", files, sent.append)
    assert key == partition_key("My Set/")
    names = [entry.key.removeprefix(places.inbox.key) for entry in list_objects(client, places.inbox)]
    assert sorted(names) == ["My Set/_SUCCESS", "My Set/a.txt", "My Set/b/c.txt"]
    assert sum(sent) == sum(path.stat().st_size for path in files.values())


@pytest.mark.parametrize("name", ["", "a/b"])
def test_a_name_that_is_no_folder_is_refused(client, places, tmp_path, name):
    with pytest.raises(NerPipelineError, match="no name for a set"):
        submit(client, places.inbox, name, collect_files([write(tmp_path, "a.txt")]), lambda sent: None)


def test_made_up_names_are_their_own_keys_and_differ():
    names = {new_set_name() for _ in range(50)}
    assert len(names) > 40
    assert all(partition_key(f"{name}/") == name for name in names)


def test_nothing_published_is_said_and_leaves_no_file(client, places, tmp_path):
    with pytest.raises(StorageError, match="nothing is published"):
        fetch(client, places.results, "news", TableFormat.CSV, tmp_path / "news.csv")
    assert list(tmp_path.iterdir()) == []
