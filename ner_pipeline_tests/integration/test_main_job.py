"""From an upload to entities on S3, by itself: what a user does, through the real parts."""

import json

import dagster as dg
import duckdb

from ner_pipeline_tests.integration.conftest import wait_for
from ner_pipeline_tests.integration.planted_extractor import KILLS_ITS_WORKER

TEXT = "Angela Merkel met Barack Obama in Berlin on Monday. 😀 Microsoft bought GitHub for $7.5 billion.\r\n"


def assert_every_row_cuts_its_entity_out(system, key):
    rows, texts = system.rows("entities", key), system.texts(key)
    assert rows
    for row in rows:
        text = texts[row["doc_id"]]
        units = text.encode("utf-16-le")
        assert text[row["start"] : row["end"]] == row["entity"]
        assert units[2 * row["start_utf16"] : 2 * row["end_utf16"]].decode("utf-16-le") == row["entity"]


def test_a_file_copied_into_the_inbox_becomes_entities_without_any_other_command(system, tmp_path):
    (tmp_path / "note.txt").write_bytes(TEXT.encode())
    system.command("aws", "s3", "cp", str(tmp_path / "note.txt"), "s3://ner-inbox/note.txt")

    def batch_with_the_file():
        return next((key for key, names in system.loose_batches().items() if "note.txt" in names), None)

    key = wait_for(batch_with_the_file, "the sensor sees the file")
    system.wait_until(key)
    assert {"Angela Merkel", "Barack Obama", "Berlin", "Microsoft"} <= {
        row["entity"] for row in system.rows("entities", key)
    }
    assert_every_row_cuts_its_entity_out(system, key)


def test_submit_status_and_fetch_replace_the_waiting_request(system, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    key = system.command("ner-pipeline", "submit", str(tmp_path / "a.txt"), "--set", "Hand over 1").strip()
    answer = json.loads(system.command("ner-pipeline", "status", key, "--wait", "--json"))
    assert (answer["state"], answer["documents"]["ok"]) == ("done", 1)
    for form in ("parquet", "csv", "jsonl"):
        target = tmp_path / f"got.{form}"
        system.command("ner-pipeline", "fetch", key, "--format", form, "-o", str(target))
        reader = {"parquet": "read_parquet", "csv": "read_csv", "jsonl": "read_json"}[form]
        found = duckdb.sql(f"select entity, start from {reader}('{target}') order by start").fetchall()
        assert found == [(row["entity"], row["start"]) for row in system.rows("entities", key)]


def test_bad_documents_and_one_that_kills_its_worker_cost_nobody_else_anything(system):
    files = {f"{number:03}.txt": f"Document {number}. {TEXT}".encode() for number in range(296)}
    files |= {f"bad{number}.txt": bytes(range(256)) * 9 for number in range(3)}
    files["killer.txt"] = f"Bob said {KILLS_ITS_WORKER}.".encode()
    system.upload("three-hundred", files)
    system.wait_until("three-hundred")
    system.wait_until_run_ended("three-hundred")
    expected = {"ok": 296, "rejected": 3, "failed": 1, "empty": 0, "skipped": 0}
    assert system.status("three-hundred").manifest.documents == expected
    [run] = system.runs("three-hundred")
    assert run.dagster_run.is_success
    [failed] = [row for row in system.rows("outcomes", "three-hundred") if row["outcome"] == "failed"]
    assert (failed["source_key"], failed["reason"]) == ("three-hundred/killer.txt", "worker_died")
    report = system.instance.get_latest_materialization_event(
        dg.AssetKey("entity_report")
    ).asset_materialization
    assert report.metadata["documents"].value == 300


def test_all_sets_read_as_one_table_also_where_one_has_no_entity(system, tmp_path):
    system.upload("quiet", {"a.txt": b"nothing to see here, move along"})
    system.upload("loud", {"a.txt": TEXT.encode()})
    system.wait_until("quiet")
    system.wait_until("loud")
    assert system.rows("entities", "quiet") == []
    system.download("entities/", tmp_path)
    everything = f"read_parquet('{tmp_path}/entities/*/*.parquet', hive_partitioning=true)"
    sets = duckdb.sql(
        f"select document_set, count(*) from {everything} where document_set in ('quiet', 'loud') group by 1"
    ).fetchall()
    assert sets == [("loud", len(system.rows("entities", "loud")))]


def test_the_same_upload_twice_is_one_run_and_new_content_is_a_second_one(system):
    system.upload("twice", {"a.txt": b"Bob lives in Paris."})
    system.wait_until("twice")
    system.upload("twice", {"a.txt": b"Bob lives in Paris."})
    system.upload("after-twice", {"a.txt": b"Bob lives in Rome."})
    system.wait_until("after-twice")
    assert len(system.runs("twice")) == 1
    system.upload("twice", {"a.txt": b"Angela Merkel lives in Berlin."})
    wait_for(lambda: len(system.runs("twice")) == 2, "a second run")
    system.wait_until("twice")
    assert [row["entity"] for row in system.rows("entities", "twice")] == ["Angela Merkel", "Berlin"]


def test_all_objects_of_a_large_set_are_there_and_one_long_text_is_one_document(system):
    files = {f"{number:04}.txt": f"Note {number}".encode() for number in range(1005)}
    files["zzz-long.txt"] = (TEXT * 300).encode()
    system.upload("many", files)
    system.wait_until("many")
    outcomes = system.rows("outcomes", "many")
    assert len(outcomes) == len({row["doc_id"] for row in outcomes}) == 1006
    assert_every_row_cuts_its_entity_out(system, "many")


def test_a_file_that_is_not_what_its_name_says_is_rejected_and_its_set_is_done(system):
    system.upload("not-gz", {"a.txt.gz": b"not gzip at all"})
    system.wait_until("not-gz")
    [outcome] = system.rows("outcomes", "not-gz")
    assert (outcome["outcome"], outcome["reason"]) == ("rejected", "invalid_gzip")
