"""Whole runs of the job: what is published, what stands after a fault, what is not computed twice."""

import json
from dataclasses import replace

import dagster as dg
import pytest

from ner_pipeline.definitions import build_defs
from ner_pipeline.errors import StorageError
from ner_pipeline.inference.spans import Span
from ner_pipeline.orchestration.assets.merged_entities import merged_entities
from ner_pipeline.orchestration.merging import merge_batch
from ner_pipeline.orchestration.partitions import document_sets
from ner_pipeline.settings import Settings
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import get_bytes, list_objects, put_bytes
from ner_pipeline.storage.tables import iter_rows

RECOMPUTE = {"ops": {"raw_entities": {"ops": {"plan_shards": {"config": {"recompute": True}}}}}}


@dg.asset_check(asset=merged_entities, blocking=True, partitions_def=document_sets)
def planted_check(merged_entities) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False)


def failures(result):
    return [event.step_failure_data for event in result.all_events if event.is_step_failure]


def metadata(result, asset):
    [told] = [
        event.materialization.metadata
        for event in result.get_asset_materialization_events()
        if event.asset_key.path == [asset]
    ]
    return {name: value.value for name, value in told.items()}


def test_the_asset_graph_is_the_one_that_is_documented():
    graph = build_defs(settings=Settings(inbox="s3://a/in/", results="s3://a/out/")).resolve_asset_graph()
    edges = {
        key.to_user_string(): sorted(up.to_user_string() for up in graph.get(key).parent_keys)
        for key in graph.get_all_asset_keys()
    }
    assert edges == {
        "incoming_documents": [],
        "documents": ["incoming_documents"],
        "raw_entities": ["documents"],
        "merged_entities": ["raw_entities"],
        "entities": ["merged_entities"],
        "entity_report": ["entities"],
    }
    blocking = {key.name for key in graph.asset_check_keys if graph.get(key).blocking}
    assert blocking == {
        "spans_match_text",
        "every_document_accounted_for",
        "schema_is_fixed",
        "extractor_works",
    }


def test_the_code_location_loads_with_nothing_set(monkeypatch):
    monkeypatch.delenv("NER_INBOX", raising=False)
    monkeypatch.delenv("NER_RESULTS", raising=False)
    assert build_defs().resolve_job_def("process_document_set")


def test_every_document_of_a_set_is_published_or_accounted_for(world):
    world.upload("news/a.txt", "Bob met Ann in Paris.", marked=False)
    world.upload("news/b.jsonl", '{"text":"Carl"}\n{"text":" "}\n{"text":4}\n', marked=False)
    world.upload("news/c.txt", b"\xff\xfe\xff", marked=False)
    world.upload("news/d.txt", "FAIL", marked=False)
    world.upload("news/_SUCCESS", "")
    [request] = world.tick()
    assert world.run(request.partition_key).success
    assert world.entities("news") == ["Bob", "Ann", "Paris", "Carl"]
    assert world.outcomes("news") == {
        "a.txt": "ok",
        "b.jsonl#1": "ok",
        "b.jsonl#2": "empty",
        "b.jsonl#3": "rejected",
        "c.txt": "rejected",
        "d.txt": "failed",
    }
    assert world.manifest("news").documents == {"ok": 2, "empty": 1, "rejected": 2, "failed": 1, "skipped": 0}


def test_every_row_cuts_its_entity_out_of_the_stored_text(world, tmp_path):
    world.process("news/a.txt", "😀 Bob\r\n\r\nmet Ann 😀😀 in Paris é.")
    manifest = world.manifest("news")
    path = tmp_path / "documents.parquet"
    path.write_bytes(get_bytes(world.client, S3Location.parse(manifest.documents_table.uri)))
    texts = {row["doc_id"]: row["text"] for row in iter_rows(path)}
    rows = world.rows("entities", "news")
    assert len(rows) == 3
    for row in rows:
        text = texts[row["doc_id"]]
        units = text.encode("utf-16-le")
        assert text[row["start"] : row["end"]] == row["entity"]
        assert units[2 * row["start_utf16"] : 2 * row["end_utf16"]].decode("utf-16-le") == row["entity"]


def test_a_set_without_any_entity_and_one_without_any_document_are_published(world):
    world.process("quiet/a.txt", "nothing here")
    world.upload("nothing/_SUCCESS", "")
    [request] = world.tick()
    assert world.run(request.partition_key).success
    assert world.entities("quiet") == world.entities("nothing") == []
    assert world.outcomes("nothing") == {}


def test_new_content_replaces_the_result_and_the_same_content_asks_for_no_run(world):
    world.process("news/a.txt", "Bob")
    world.upload("news/a.txt", "Bob")
    assert world.tick() == []
    world.process("news/a.txt", "Ann")
    assert world.entities("news") == ["Ann"]


def test_a_failing_check_leaves_the_published_result_as_it_was(world):
    world.process("news/a.txt", "Bob")
    before = world.published("news")
    world.extra_checks = (planted_check,)
    world.upload("news/a.txt", "Ann")
    [request] = world.tick()
    assert not world.run(request.partition_key, raise_on_error=False).success
    assert world.published("news") == before


def test_a_wrong_offset_never_gets_as_far_as_publication(world, monkeypatch):
    """As if the merging code shifted offsets: the check reads what is staged with code of its own."""
    monkeypatch.setattr(
        "ner_pipeline.orchestration.merging.utf16_offsets",
        lambda text, spans: [(7, 9)] * len(spans),
    )
    world.upload("news/a.txt", "Bob")
    [request] = world.tick()
    result = world.run(request.partition_key, raise_on_error=False)
    failed = {found.check_name for found in result.get_asset_check_evaluations() if not found.passed}
    assert failed == {"spans_match_text"}
    assert world.keys_below("entities/") == []


def test_a_document_without_an_outcome_never_gets_as_far_as_publication(world, monkeypatch):
    def loses_the_first(*arguments, **more):
        batch = merge_batch(*arguments, **more)
        return replace(batch, outcomes=batch.outcomes.slice(1))

    monkeypatch.setattr("ner_pipeline.orchestration.assets.merged_entities.merge_batch", loses_the_first)
    world.upload("news/a.jsonl", '{"text":"Bob"}\n{"text":"Ann"}\n')
    [request] = world.tick()
    result = world.run(request.partition_key, raise_on_error=False)
    [failed] = [found for found in result.get_asset_check_evaluations() if not found.passed]
    assert failed.check_name == "every_document_accounted_for"
    assert failed.metadata["first"].value == [
        "in/news/a.jsonl#1 became in/news/a.jsonl#2",
        "in/news/a.jsonl#2 became nothing",
    ]
    assert world.keys_below("entities/") == []


def test_what_is_published_does_not_depend_on_how_much_is_merged_at_once(world, monkeypatch):
    texts = ["Bob met Ann", "", "FAIL", "Carl", "Ann and Bob", "Президент приехал", "Bob met Ann", "none"]
    world.pool.scripts = ("Latn",)
    world.settings = world.settings.model_copy(update={"shard_chars": 12})
    world.upload("news/a.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in texts))
    world.work()
    tables = ("entities", "outcomes", "quarantine")
    before = [world.rows(name, "news") for name in tables]
    monkeypatch.setattr("ner_pipeline.orchestration.assets.merged_entities.BATCH_CHARS", 9)
    world.run("news", run_config=RECOMPUTE)
    assert [world.rows(name, "news") for name in tables] == before
    assert len(before[0]) == 7


def test_spans_that_break_a_rule_are_quarantined_and_not_published(world):
    text = "Bob met Ann"
    world.pool.planted[text] = [Span(0, 3, "WORD"), Span(8, 99, "WORD"), Span(8, 11, "ALIEN")]
    world.process("news/a.txt", text)
    assert world.entities("news") == ["Bob"]
    assert {row["reason"] for row in world.rows("quarantine", "news")} == {
        "offset_out_of_range",
        "unknown_label",
    }


def test_a_set_that_changes_before_publication_publishes_nothing_and_the_next_run_does(world):
    world.process("news/a.txt", "Bob")
    before = world.published("news")
    world.upload("news/a.txt", "Ann")
    [request] = world.tick()
    original = world.pool.extract

    def change_meanwhile(texts):
        yield from original(texts)
        world.upload("news/a.txt", "Carl")

    world.pool.extract = change_meanwhile
    assert world.run(request.partition_key).success
    assert world.published("news") == before
    world.pool.extract = original
    [request] = world.tick()
    assert world.run(request.partition_key).success
    assert world.entities("news") == ["Carl"]


def test_of_two_runs_that_publish_at_once_the_first_one_wins_and_the_other_changes_nothing(world):
    """Both compute; the second one is through before the first one publishes, with another answer."""
    world.upload("news/a.txt", "Bob met Ann")
    [request] = world.tick()
    original, published = world.pool.extract, []

    def other_run_first(texts):
        world.pool.extract = original
        world.pool.planted["Bob met Ann"] = [Span(8, 11, "WORD")]
        world.model_version = "model2"
        assert world.run(request.partition_key).success
        published.append(world.published("news"))
        world.pool.planted.clear()
        world.model_version = "model1"
        yield from original(texts)

    world.pool.extract = other_run_first
    result = world.run(request.partition_key)
    assert world.published("news") == published[0]
    assert world.entities("news") == ["Ann"]
    assert not [
        event for event in result.get_asset_materialization_events() if event.asset_key.path == ["entities"]
    ]


def test_a_run_asked_for_one_version_does_not_publish_another_one(world):
    """The set goes on growing while its run is queued, and has not settled."""
    world.upload("news/a.txt", "Bob")
    [request] = world.tick()
    world.upload("news/b.txt", "Ann", marked=False)
    assert world.run(request.partition_key, tags=request.tags).success
    assert world.keys_below("entities/") == []


def test_a_member_that_is_deleted_before_it_is_read_is_skipped_in_a_batch_and_the_others_go_on(world):
    world.upload("a.txt", "Bob")
    world.upload("b.txt", "Ann")
    world.upload("c.txt", "Carl")
    [request] = world.tick()
    world.client.delete_object(Bucket=world.places.inbox.bucket, Key=f"{world.places.inbox.key}a.txt")
    world.upload("b.txt", "Dora")
    assert world.run(request.partition_key).success
    assert world.outcomes(request.partition_key) == {"a.txt": "skipped", "b.txt": "skipped", "c.txt": "ok"}
    [later] = world.tick()
    assert world.run(later.partition_key).success
    assert world.entities(later.partition_key) == ["Dora"]


def test_a_fault_of_the_pool_is_tried_again_and_bad_input_never_is(world, worker_fault):
    world.pool.faults = [worker_fault, worker_fault]
    world.upload("news/a.txt", "Bob")
    [request] = world.tick()
    result = world.run(request.partition_key)
    assert result.success
    retries = [event for event in result.all_events if event.is_step_up_for_retry]
    assert len(retries) == 2
    world.upload("news/b.jsonl", "not json")
    [request] = world.tick()
    result = world.run(request.partition_key)
    assert [event for event in result.all_events if event.is_step_up_for_retry] == []


def test_shards_that_stand_are_not_computed_again_whichever_run_wrote_them(world, worker_fault):
    world.settings = world.settings.model_copy(update={"shard_chars": 40})
    for number in range(6):
        world.upload(f"news/{number}.txt", f"Name{number} and forty characters of text.....")
    [request] = world.tick()
    original, calls = world.pool.extract, []

    def breaks_at_the_fourth(texts):
        calls.append(1)
        if len(calls) == 4:
            raise RuntimeError("planted: the process is killed")
        yield from original(texts)

    world.pool.extract = breaks_at_the_fourth
    assert not world.run(request.partition_key, raise_on_error=False).success
    done = list(world.pool.asked)
    assert len(done) == 5
    world.pool.extract = original
    assert world.run(request.partition_key).success
    assert sorted(world.pool.asked) == sorted(set(world.pool.asked))
    assert len(world.pool.asked) == 6
    assert len(world.entities("news")) == 6


def test_only_new_texts_are_computed_when_a_set_grows(world):
    world.upload("news/a.txt", "Bob")
    world.process("news/b.txt", "Ann")
    world.pool.asked.clear()
    world.process("news/c.txt", "Carl")
    assert world.pool.asked == ["Carl"]
    assert world.entities("news") == ["Bob", "Ann", "Carl"]


def test_of_a_thousand_files_the_one_that_changed_is_computed_and_the_others_are_reused(world, full):
    files = 1_000 if full else 100
    for number in range(files):
        world.upload(f"news/{number:04}.txt", f"Name{number}", marked=False)
    world.upload("news/_SUCCESS", "")
    world.work()
    world.pool.asked.clear()
    world.upload("news/0007.txt", "Ann")
    [request] = world.tick()
    told = metadata(world.run(request.partition_key), "raw_entities")
    assert world.pool.asked == ["Ann"]
    assert (told["texts computed"], told["texts reused"]) == (1, files - 1)
    assert len(world.entities("news")) == files
    world.model_version = "model2"
    told = metadata(world.run("news"), "raw_entities")
    assert (told["texts computed"], told["texts reused"]) == (files, 0)


def test_the_metadata_name_the_extractor_and_why_it_was_this_one(world):
    world.upload("news/a.txt", "Bob")
    [request] = world.tick()
    result = world.run(request.partition_key)
    assert metadata(result, "raw_entities")["extractor"] == "fake: made by hand"
    assert metadata(result, "merged_entities")["extractor"] == "fake: made by hand"
    assert metadata(world.run("news"), "raw_entities")["extractor"] == "nothing had to be computed"


def test_a_text_that_stands_in_many_documents_is_computed_once(world):
    world.upload("news/a.jsonl", '{"text":"Bob"}\n' * 50)
    [request] = world.tick()
    world.run(request.partition_key)
    assert world.pool.asked == ["Bob"]
    assert world.entities("news") == ["Bob"] * 50


def test_another_model_version_computes_everything_anew_and_so_does_a_forced_run(world):
    world.process("news/a.txt", "Bob")
    world.run("news")
    assert world.pool.asked == ["Bob"]
    world.run("news", run_config=RECOMPUTE)
    assert world.pool.asked == ["Bob"] * 2
    world.model_version = "model2"
    world.run("news")
    assert world.pool.asked == ["Bob"] * 3
    assert world.manifest("news").model.version == "model2"


def test_quarantined_spans_are_not_forgotten_when_results_are_reused(world):
    text = "Bob met Ann"
    world.pool.planted[text] = [Span(0, 3, "WORD"), Span(8, 11, "ALIEN")]
    world.process("news/a.txt", text)
    world.process("news/b.txt", "Carl")
    assert [row["reason"] for row in world.rows("quarantine", "news")] == ["unknown_label"]


def test_a_failed_document_is_tried_again_in_the_next_run(world):
    world.process("news/a.txt", "FAIL Bob")
    assert world.outcomes("news") == {"a.txt": "failed"}
    world.run("news")
    assert world.pool.asked == ["FAIL Bob"] * 2


def test_work_is_removed_after_publication_and_not_because_a_run_ended(world, worker_fault):
    world.pool.faults = [RuntimeError("planted")]
    world.upload("news/a.txt", "Bob")
    [request] = world.tick()
    failed = world.run(request.partition_key, raise_on_error=False)
    assert any(key.endswith("plan.parquet") for key in world.keys_below("work/"))
    world.run(request.partition_key)
    left = world.keys_below("work/")
    assert all("/handover/" in key or f"/runs/{failed.run_id}/" in key for key in left)


def test_a_partition_that_nobody_uploaded_is_one_clear_failure(world):
    world.instance.add_dynamic_partitions("document_sets", ["typo"])
    result = world.run("typo", raise_on_error=False)
    [failure] = failures(result)
    assert "'typo' is no known document set" in failure.user_failure_data.description


def test_a_manifest_of_another_set_under_the_key_stops_the_run(world):
    world.process("news/a.txt", "Bob")
    manifest = world.manifest("news").model_copy(update={"partition_key": "other", "name": "other/"})
    [place] = [
        S3Location(world.places.results.bucket, entry.key)
        for entry in list_objects(world.client, world.places.results / "manifests/")
    ]
    put_bytes(world.client, place, manifest.model_dump_json().encode())
    result = world.run("news", raise_on_error=False)
    assert "belongs to the set 'other/'" in failures(result)[0].user_failure_data.description


def test_one_asset_alone_can_be_materialized_again(world):
    world.process("news/a.txt", "Bob")
    job = world.defs.get_implicit_global_asset_job_def().get_subset(
        asset_selection={dg.AssetKey("entity_report")}
    )
    assert job.execute_in_process(instance=world.instance, partition_key="news").success


def test_an_asset_whose_shards_are_gone_says_what_to_materialize(world):
    world.process("news/a.txt", "Bob")
    job = world.defs.get_implicit_global_asset_job_def().get_subset(
        asset_selection={dg.AssetKey("merged_entities")}
    )
    result = job.execute_in_process(instance=world.instance, partition_key="news", raise_on_error=False)
    assert "materialize all assets of this set again" in failures(result)[0].user_failure_data.description


@pytest.mark.parametrize("name", ["a b/x.txt", "2026-01-15/x.txt", "NEWS/x.txt", "ünï/x.txt", "a,b/x.txt"])
def test_sets_with_odd_names_are_processed_under_their_own_key(world, name):
    key = world.process(name, "Bob")
    assert world.manifest(key).name == f"{name.partition('/')[0]}/"
    assert world.entities(key) == ["Bob"]


def test_nothing_is_handed_over_as_a_pickle(world):
    world.process("news/a.txt", "Bob")
    for entry in list_objects(world.client, world.places.results):
        content = get_bytes(world.client, S3Location(world.places.results.bucket, entry.key))
        assert content[:4] == b"PAR1" or content[:1] in (b"{", b"<", b"")


def test_a_folder_that_is_gone_keeps_its_published_result(world):
    world.process("news/a.txt", "Bob")
    before = world.published("news")
    for name in ("a.txt", "_SUCCESS"):
        world.client.delete_object(
            Bucket=world.places.inbox.bucket, Key=f"{world.places.inbox.key}news/{name}"
        )
    result = world.run("news", raise_on_error=False)
    assert "what is published stays" in failures(result)[0].user_failure_data.description
    assert world.published("news") == before


def test_a_batch_whose_files_were_swept_keeps_its_published_result(world):
    key = world.process("a.txt", "Bob")
    before = world.published(key)
    world.client.delete_object(Bucket=world.places.inbox.bucket, Key=f"{world.places.inbox.key}a.txt")
    world.model_version = "model2"
    result = world.run(key, raise_on_error=False)
    assert "what is published stays" in failures(result)[0].user_failure_data.description
    assert world.published(key) == before


def test_a_forced_run_computes_also_shards_that_stand(world):
    world.pool.planted["Bob"] = [Span(0, 2, "WORD")]
    world.extra_checks = (planted_check,)
    world.upload("news/a.txt", "Bob")
    [request] = world.tick()
    assert not world.run(request.partition_key, raise_on_error=False).success
    world.extra_checks, world.pool.planted = (), {}
    assert world.run(request.partition_key, run_config=RECOMPUTE).success
    assert world.entities("news") == ["Bob"]


def test_an_extractor_that_fails_on_everything_replaces_no_good_result(world):
    text = "".join(f'{{"text":"Name{number}"}}\n' for number in range(10))
    world.process("news/a.jsonl", text)
    before = world.published("news")
    world.model_version = "model2"
    world.pool.fails_always = True
    result = world.run("news", raise_on_error=False)
    failed = {found.check_name for found in result.get_asset_check_evaluations() if not found.passed}
    assert "extractor_works" in failed
    assert world.published("news") == before


def test_documents_that_failed_in_a_killed_run_are_tried_again_by_the_next_one(world):
    world.extra_checks = (planted_check,)
    world.upload("news/a.txt", "FAIL Bob")
    [request] = world.tick()
    world.run(request.partition_key, raise_on_error=False)
    world.extra_checks = ()
    world.run(request.partition_key)
    assert world.pool.asked == ["FAIL Bob"] * 2


def test_workers_that_have_loaded_another_model_than_was_planned_stop_the_run(world):
    world.upload("news/a.txt", "Bob")
    [request] = world.tick()
    world.pool.loaded_version = "model9"
    result = world.run(request.partition_key, raise_on_error=False)
    assert "has changed meanwhile" in failures(result)[0].user_failure_data.description


def test_the_texts_of_the_former_version_stay_until_the_next_publication(world):
    for content in ("Bob", "Ann", "Carl"):
        world.process("news/a.txt", content)
    assert len(world.keys_below("documents/")) == 2


def test_leftovers_that_cannot_be_removed_do_not_fail_a_publication(world, monkeypatch):
    def refuses(client, bucket, keys):
        raise StorageError("planted")

    monkeypatch.setattr("ner_pipeline.orchestration.assets.entities.delete_objects", refuses)
    world.process("news/a.txt", "Bob")
    assert world.entities("news") == ["Bob"]


def test_a_document_in_a_script_that_the_model_does_not_read_has_a_warning(world):
    world.pool.scripts = ("Latn",)
    texts = [
        "Barack Obama was in Kyiv",
        "Президент приехал в Москву",
        "12.30 14.50",
        "Обама met the Russian press",
    ]
    key = world.process("news/a.jsonl", "\n".join(json.dumps({"text": text}) for text in texts))
    rows = world.rows("outcomes", key)
    assert [row["warnings"] for row in rows] == [[], ["language_mismatch"], [], []]
    assert rows[1]["detail"] == "most letters are Cyrillic; the model reads Latin"
    assert ("ok", "language_mismatch", 1) in [
        (count.outcome, count.reason, count.documents) for count in world.manifest(key).outcomes.counts
    ]


def test_what_was_cut_against_its_models_wish_keeps_its_warning_when_it_is_reused(world):
    world.pool.cut.add("Bob slept")
    key = world.process("news/a.txt", "Bob slept")
    world.process("news/b.txt", "Ann slept")
    assert world.pool.asked == ["Bob slept", "Ann slept"]
    assert [row["warnings"] for row in world.rows("outcomes", key)] == [["approximate"], []]
    assert [row["reason"] for row in world.rows("outcomes", key)] == ["", ""]


def test_files_are_read_in_their_order_whether_they_are_fetched_ahead_or_too_large_for_that(
    world, monkeypatch
):
    documents = "ner_pipeline.orchestration.assets.documents"
    monkeypatch.setattr(f"{documents}.SMALL_OBJECT_BYTES", 10)
    monkeypatch.setattr(f"{documents}.BYTES_AHEAD", 15)
    monkeypatch.setattr(f"{documents}.OBJECTS_AHEAD", 2)
    texts = [f"Bob{number} " + "x" * size for number, size in enumerate([1, 4, 40, 5, 5, 1, 1, 30, 2])]
    for number, text in enumerate(texts):
        world.upload(f"news/{number}.txt", text, marked=False)
    world.upload("news/_SUCCESS", "")
    world.work()
    assert list(world.texts("news").values()) == texts


def test_the_charset_that_an_uploader_declares_is_followed(world):
    raw = "Привет, Москва".encode("koi8-r")
    for name, told in {
        "a.txt": {"ContentType": "text/plain; charset=KOI8-R"},
        "b.txt": {"Metadata": {"charset": "koi8-r"}},
    }.items():
        place = world.places.inbox / f"news/{name}"
        world.client.put_object(Bucket=place.bucket, Key=place.key, Body=raw, **told)
    key = world.process("news/c.txt", "Bob")
    assert list(world.texts(key).values()) == ["Привет, Москва", "Привет, Москва", "Bob"]
    assert {row["encoding"] for row in world.rows("outcomes", key)} == {"koi8-r", "utf-8"}
    assert not any(row["warnings"] for row in world.rows("outcomes", key))
