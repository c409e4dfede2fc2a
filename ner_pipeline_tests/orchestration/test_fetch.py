"""What is published can be fetched in each form, with the same rows."""

import json

import duckdb
import pytest

from ner_pipeline.storage.submission import TableFormat, fetch

READERS = {"parquet": "read_parquet", "csv": "read_csv", "jsonl": "read_json"}


@pytest.mark.parametrize("form", list(TableFormat))
def test_every_form_has_the_same_rows(world, tmp_path, form):
    world.process("news/a.txt", 'Bob, "Ann"\r\nand Zoë 😀 met Carl.')
    target = tmp_path / f"news.{form}"
    assert fetch(world.client, world.places.results, "news", form, target) == 4
    assert list(tmp_path.iterdir()) == [target]
    found = duckdb.sql(f"select entity, start, \"end\" from {READERS[form]}('{target}')").fetchall()
    assert found == [(row["entity"], row["start"], row["end"]) for row in world.rows("entities", "news")]


def test_numbers_stay_whole_in_json_and_nothing_is_null_and_not_nan(world, tmp_path):
    world.process("news/a.txt", "Bob")
    fetch(world.client, world.places.results, "news", TableFormat.JSONL, tmp_path / "news.jsonl")
    [line] = (tmp_path / "news.jsonl").read_text().splitlines()
    assert '"start": 0, "end": 3' in line
    assert json.loads(line)["kb_id"] is None
