"""The tables: one schema each, whatever is in them."""

from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ner_pipeline.storage import tables
from ner_pipeline.storage.tables import (
    DOCUMENTS,
    ENTITIES,
    OUTCOMES,
    QUARANTINE,
    TEXT_RESULTS,
    TableWriter,
    file_metadata,
    iter_rows,
    rows_where,
    table_schema,
)

ENTITY = {
    "doc_id": "a.txt",
    "source_key": "a.txt",
    "source_etag": "e",
    "source_last_modified": datetime(2026, 1, 1, tzinfo=UTC),
    "entity": "Bob",
    "label": "PERSON",
    "start": 0,
    "end": 3,
    "start_utf16": 0,
    "end_utf16": 3,
    "kb_id": None,
    "model": "m",
    "set_version": "v",
}


def write(path, schema, rows):
    with TableWriter(path, schema) as table:
        for row in rows:
            table.write(row)
    return path


@pytest.mark.parametrize("schema", [DOCUMENTS, ENTITIES, OUTCOMES, QUARANTINE, TEXT_RESULTS])
def test_a_table_without_rows_has_its_schema(tmp_path, schema):
    assert table_schema(write(tmp_path / "t.parquet", schema, [])).equals(schema)


def test_empty_tables_all_null_columns_and_full_ones_read_as_one(tmp_path):
    for number, rows in enumerate([[], [ENTITY], [{**ENTITY, "kb_id": "Q1"}]]):
        folder = tmp_path / f"document_set=s{number}"
        folder.mkdir()
        write(folder / "entities.parquet", ENTITIES, rows)
    query = f"from read_parquet('{tmp_path}/*/*.parquet', hive_partitioning=true) order by 1"
    found = duckdb.sql(f"select document_set, start, kb_id {query}").fetchall()
    assert found == [("s1", 0, None), ("s2", 0, "Q1")]
    assert pq.read_table(tmp_path).column("start").type == pa.int64()


def test_rows_come_back_as_they_were_written_also_over_many_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROW_GROUP_ROWS", 10)
    path = write(tmp_path / "t.parquet", ENTITIES, ({**ENTITY, "start": number} for number in range(35)))
    assert pq.ParquetFile(path).num_row_groups == 4
    assert [row["start"] for row in iter_rows(path)] == list(range(35))
    assert [row["start"] for row in iter_rows(path, ["start"], rows=[0, 9, 10, 34])] == [0, 9, 10, 34]
    assert list(iter_rows(path, rows=[])) == []


def test_rows_and_batches_come_back_in_the_order_of_their_writing(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROW_GROUP_ROWS", 10)
    rows = [{**ENTITY, "start": number} for number in range(60)]
    with TableWriter(tmp_path / "t.parquet", ENTITIES) as table:
        for first in (0, 20, 40):
            table.write(rows[first])
            table.extend(pa.Table.from_pylist(rows[first + 1 : first + 8], schema=ENTITIES))
            table.extend(pa.Table.from_pylist(rows[first + 8 : first + 20], schema=ENTITIES))
    assert table.rows == 60
    assert [row["start"] for row in iter_rows(table.path)] == list(range(60))
    groups = pq.ParquetFile(table.path).metadata
    assert max(groups.row_group(number).num_rows for number in range(groups.num_row_groups)) == 10


def test_a_batch_with_its_columns_in_another_order_or_more_of_them_is_written_by_the_schema(tmp_path):
    batch = pa.table({"more": [1], **{name: [ENTITY.get(name)] for name in reversed(ENTITIES.names)}})
    with TableWriter(tmp_path / "t.parquet", ENTITIES) as table:
        table.extend(batch)
    assert table_schema(table.path).equals(ENTITIES)


def test_a_batch_without_a_required_value_is_refused(tmp_path):
    batch = pa.Table.from_pylist(
        [{**ENTITY, "start": None}],
        schema=pa.schema(map(pa.Field.with_nullable, ENTITIES, [True] * len(ENTITIES))),
    )
    with pytest.raises((pa.ArrowInvalid, ValueError)), TableWriter(tmp_path / "t.parquet", ENTITIES) as table:
        table.extend(batch)


def test_the_rows_with_one_value_are_found_over_all_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROW_GROUP_ROWS", 10)
    rows = ({**ENTITY, "start": number, "label": "AB"[number % 2]} for number in range(35))
    path = write(tmp_path / "t.parquet", ENTITIES, rows)
    assert rows_where(path, "label", "B")["start"].to_pylist() == list(range(1, 35, 2))
    assert rows_where(path, "label", "C").num_rows == 0


def test_a_row_group_holds_no_more_text_than_its_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROW_GROUP_BYTES", 1000)
    with TableWriter(tmp_path / "t.parquet", ENTITIES) as table:
        for size in (400, 400, 400, 5000, 1):
            table.write(ENTITY, size=size)
    groups = pq.ParquetFile(tmp_path / "t.parquet").metadata
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [2, 1, 1, 1]


def test_a_writer_that_an_exception_leaves_leaves_no_file(tmp_path):
    def half():
        yield ENTITY
        raise RuntimeError("planted")

    with pytest.raises(RuntimeError, match="planted"):
        write(tmp_path / "t.parquet", ENTITIES, half())
    assert list(tmp_path.iterdir()) == []


def test_a_missing_required_value_is_refused(tmp_path):
    with pytest.raises((pa.ArrowInvalid, ValueError)):
        write(tmp_path / "t.parquet", ENTITIES, [{**ENTITY, "start": None}])


def test_what_is_noted_in_a_file_comes_back(tmp_path):
    with TableWriter(tmp_path / "t.parquet", ENTITIES) as table:
        table.note({"model": "é"})
    assert file_metadata(tmp_path / "t.parquet") == {"ner_schema_version": "2", "model": "é"}
