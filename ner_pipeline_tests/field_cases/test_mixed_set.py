"""A set as people upload it: many small files of all formats and packings, a tenth of them broken."""

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter

import pytest

from ner_pipeline.inference.spans import Span
from ner_pipeline.storage.objects import put_bytes
from ner_pipeline_tests.documents.broken_files import WAYS, mixed_set

SET = "mixed"


def upload(world, files):
    """Put all files, and the marker last."""

    def put(name):
        put_bytes(world.client, world.places.inbox / f"{SET}/{name}", files[name].raw)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(put, files))
    put_bytes(world.client, world.places.inbox / f"{SET}/_SUCCESS", b"")


def by_file(rows):
    """Rows by the name of their file, in the order of the table."""
    return {key.rpartition("/")[2]: list(group) for key, group in groupby(rows, key=itemgetter("source_key"))}


def test_a_mixed_set_is_one_run_that_accounts_for_every_document_and_finds_every_entity(world, full):
    files = mixed_set(2_000 if full else 200, seed=7)
    assert len({file.way for file in files.values()} - {None}) == min(len(files) // 10, len(WAYS))
    for document in (document for file in files.values() for document in file.documents):
        if document.text is not None:
            spans = [Span(start, end, "WORD") for start, end, _ in document.entities]
            world.pool.planted[document.text] = spans
    upload(world, files)
    [request] = world.tick()
    assert world.run(request.partition_key).success
    assert world.tick() == []
    texts = world.texts(SET)
    check_accounts(files, world.rows("outcomes", SET), texts, world.manifest(SET).documents)
    check_entities(files, world.rows("entities", SET), texts)


def check_accounts(files, rows, texts, counts):
    accounts = by_file(rows)
    assert set(accounts) == set(files)
    for name, file in files.items():
        expected = [(document.outcome, document.reason) for document in file.documents]
        assert [(row["outcome"], row["reason"]) for row in accounts[name]] == expected, name
        for row, document in zip(accounts[name], file.documents, strict=True):
            assert not document.warning or document.warning in row["warnings"], name
            assert document.text is None or texts[row["doc_id"]] == document.text, name
            assert row["action"]
            assert row["detail"] or row["outcome"] != "rejected"
    assert counts == dict.fromkeys(counts, 0) | Counter(row["outcome"] for row in rows)


def check_entities(files, rows, texts):
    entities = by_file(rows)
    for name, file in files.items():
        if all(document.text is not None for document in file.documents if document.outcome == "ok"):
            planted = [tuple(entity) for document in file.documents for entity in document.entities]
            found = [(row["start"], row["end"], row["entity"]) for row in entities.get(name, [])]
            assert found == planted, name
    for row in rows:
        text, units = texts[row["doc_id"]], texts[row["doc_id"]].encode("utf-16-le")
        assert text[row["start"] : row["end"]] == row["entity"]
        assert units[2 * row["start_utf16"] : 2 * row["end_utf16"]].decode("utf-16-le") == row["entity"]


@pytest.mark.proof
def test_memory_does_not_grow_with_the_number_of_files(s3_in_environment):
    command = (sys.executable, "-m", "ner_pipeline_tests.field_cases.mixed_set_run")
    few, many = (
        int(subprocess.run([*command, f"mixed-{count}", str(count)], capture_output=True, check=True).stdout)
        for count in (500, 2_000)
    )
    assert many < 1.2 * few
