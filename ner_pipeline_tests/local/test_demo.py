"""What the demo uploads, what it waits for, and what it says. S3 is moto's; the runs are written by hand."""

import io
import itertools
import urllib.request
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from rich.console import Console

from ner_pipeline.errors import NerPipelineError
from ner_pipeline.evaluation.scores import Scores
from ner_pipeline.local import demo
from ner_pipeline.local.demo_gold import GoldCount
from ner_pipeline.local.demo_report import Excerpt, SetResult, as_json, pick, show
from ner_pipeline.local.stack import INBOX, RESULTS
from ner_pipeline.storage.document_sets import (
    SetDescription,
    batch_of,
    describe_set,
    group_inbox,
    partition_key,
)
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import list_objects
from ner_pipeline.storage.progress import Progress, SetState, note_progress

INBOX_PLACE = S3Location.parse_prefix(INBOX)
RESULTS_PLACE = S3Location.parse_prefix(RESULTS)


@pytest.fixture
def client() -> Iterator[Any]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    # Its objects belong to the process, not to the server: empty what the test before left.
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/moto-api/reset", method="POST"))
    session = boto3.Session("key", "secret", region_name="us-east-1")
    s3 = session.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
    for place in (INBOX_PLACE, RESULTS_PLACE):
        s3.create_bucket(Bucket=place.bucket)
    yield s3
    server.stop()


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    documents = ("news/a.txt", "news/deep/b.txt", "loose/c.txt")
    for name in (*documents, "empty/.hidden", ".git/config", "README.md", "gold.jsonl"):
        path = tmp_path / "examples" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Ada Lovelace lived in London.")
    return tmp_path / "examples"


def wait(client: Any, upload: demo.Upload, **options: Any) -> Any:
    defaults = {
        "within_s": 0.0,
        "check": lambda: None,
        "say": lambda line: None,
        "logs": Path("logs"),
    }
    return demo.wait_for_sets(client, upload, **defaults | options)


def test_each_sub_folder_with_documents_is_a_set(examples: Path) -> None:
    found = demo.find_examples(examples)
    assert {name: sorted(files) for name, files in found.items()} == {
        "loose": ["c.txt"],
        "news": ["a.txt", "deep/b.txt"],
    }


def test_no_examples_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(NerPipelineError, match="holds no sub-folder with documents"):
        demo.find_examples(tmp_path)


def test_a_folder_is_marked_complete_and_loose_files_are_not(client: Any, examples: Path) -> None:
    upload = demo.upload_examples(client, demo.find_examples(examples))
    inbox = group_inbox(list_objects(client, INBOX_PLACE), INBOX_PLACE)
    assert {name: s.is_marked_complete for name, s in inbox.folders.items()} == {"news/": True}
    assert upload.folders == ("news",)
    assert upload.loose_keys == {entry.key for entry in inbox.loose} == {"c.txt"}


def test_a_failed_run_ends_the_demo_with_its_reason(client: Any, examples: Path) -> None:
    upload = demo.upload_examples(client, demo.find_examples(examples))
    version = group_inbox(list_objects(client, INBOX_PLACE), INBOX_PLACE).folders["news/"].version
    failed = Progress(
        state=SetState.FAILED, set_version=version, run_id="r", reason="step merged_entities: no room on disk"
    )
    note_progress(client, RESULTS_PLACE, "news", failed)
    with pytest.raises(NerPipelineError, match="news failed: step merged_entities: no room on disk"):
        wait(client, upload, within_s=60.0)


def test_a_late_sensor_is_told_by_the_sets_and_files_that_wait(client: Any, examples: Path) -> None:
    upload = demo.upload_examples(client, demo.find_examples(examples))
    with pytest.raises(NerPipelineError) as caught:
        wait(client, upload)
    assert "news: queued" in str(caught.value)
    assert "1 files in the inbox are in no batch" in str(caught.value)
    assert "logs" in str(caught.value)


def test_the_batch_of_the_loose_files_is_waited_for_too(client: Any, examples: Path) -> None:
    upload = demo.upload_examples(client, demo.find_examples(examples))
    loose = group_inbox(list_objects(client, INBOX_PLACE), INBOX_PLACE).loose
    described = itertools.count()

    def sensor_comes_at_the_second_look() -> None:
        if next(described) == 1:
            describe_set(client, RESULTS_PLACE, SetDescription.of(batch_of(loose)))

    said: list[str] = []
    with pytest.raises(NerPipelineError):
        wait(client, upload, within_s=1.0, check=sensor_comes_at_the_second_look, say=said.append)
    assert f"  {batch_of(loose).key}: queued" in said


def test_a_service_that_ends_ends_the_waiting(client: Any, examples: Path) -> None:
    upload = demo.upload_examples(client, demo.find_examples(examples))

    def dead() -> None:
        raise NerPipelineError("the service daemon ended by itself")

    with pytest.raises(NerPipelineError, match="daemon"):
        wait(client, upload, within_s=60.0, check=dead)


def row(label: str, entity: str, start: int = 0) -> dict[str, Any]:
    return {"label": label, "entity": entity, "doc_id": "d", "start": start}


def test_excerpts_are_of_different_labels_names_before_numbers() -> None:
    rows = [row("DATE", "1815"), row("PERSON", "Ada"), row("PERSON", "Ada Lovelace", 9), row("GPE", "London")]
    assert [chosen["entity"] for chosen in pick(rows, 3)] == ["Ada Lovelace", "London", "1815"]


def test_excerpts_of_no_entities_are_none() -> None:
    assert pick([]) == []


def result(**changes: Any) -> SetResult:
    fields: dict[str, Any] = {
        "name": "news/",
        "partition_key": partition_key("news/"),
        "documents": {"ok": 12_000, "empty": 1, "rejected": 3, "failed": 0, "skipped": 0},
        "entities": 45_678,
        "labels": {"PERSON": 20_000, "ORG": 15_000, "GPE": 10_000, "DATE": 600, "LAW": 70, "TIME": 8},
        "entities_uri": "s3://ner-results/entities/document_set=news/entities.parquet",
        "seconds": 12.34,
        "model": "some_model 1.0 (0123456789abcdef)",
        "device": "cpu",
        "extractor": "compiled",
        "why": "ner is compiled",
        "excerpts": (Excerpt("PERSON", "Ada Lovelace", "said [bold]", "\x1b[31m in [London]" * 3),),
    }
    return SetResult(**fields | changes)


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_its_console_and_says_all(width: int, tmp_path: Path) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    results = [result(), result(name="loose-" + "0" * 12, documents={"rejected": 1}, entities=0, labels={})]
    show(results, GoldCount(), report=tmp_path / "demo.json", s3_dir=tmp_path, console=console)
    table = [line for line in out.getvalue().splitlines() if line.startswith(("│", "┃"))]
    assert max(map(len, table)) <= width
    for word in (
        "12,000 ok",
        "3 rejected",
        "45,678",
        "20,000 PERSON",
        "others",
        "12.3",
        result().entities_uri,
    ):
        assert word in out.getvalue()


def test_gold_entities_are_counted_by_language_and_what_was_found_besides_is_not_hidden(
    tmp_path: Path,
) -> None:
    scores = {
        "en": Scores(Counter(PER=15, LOC=5), Counter(PER=15, LOC=6), Counter(PER=14, LOC=3)),
        "zh": Scores(Counter(ORG=12), Counter(ORG=10), Counter(ORG=8)),
    }
    line = "Gold entities found: en 17 of 20, zh 8 of 12, and 6 more that are not in the gold"
    assert line in shown(GoldCount(scores), tmp_path).splitlines()
    assert "Gold" not in shown(GoldCount(), tmp_path)


def shown(gold: GoldCount, folder: Path) -> str:
    out = io.StringIO()
    console = Console(file=out, width=60, highlight=False)
    show([result()], gold, report=folder / "demo.json", s3_dir=folder, console=console)
    return out.getvalue()


def test_what_documents_contain_cannot_steer_the_terminal(tmp_path: Path) -> None:
    out = io.StringIO()
    excerpt = Excerpt("PERSON", "Ada\x1b[2J\nLovelace", "[red]", "x")
    console = Console(file=out, width=80, highlight=False)
    show(
        [result(excerpts=[excerpt])],
        GoldCount(),
        report=tmp_path / "demo.json",
        s3_dir=tmp_path,
        console=console,
    )
    assert "\x1b" not in out.getvalue()
    assert "[red][Ada [2J Lovelace]x" in out.getvalue()


def test_the_json_has_the_promised_fields() -> None:
    scores = {"en": Scores(gold=Counter(PER=3), found=Counter(PER=1, ORG=1), correct=Counter(PER=1))}
    gold = GoldCount(scores, unknown_labels=["LOC"], unpublished=["a.txt"])
    report = as_json([result(entities=0, model="none"), result()], gold, s3_endpoint="http://127.0.0.1:1")
    assert report["gold"] == {"en": {"gold": 3, "found": 2, "correct": 1}}
    assert (report["gold_labels_unknown"], report["gold_unpublished"]) == (["LOC"], ["a.txt"])
    assert {"sets", "s3_endpoint", "model", "device", "extractor", "why"} <= report.keys()
    assert report["model"] == result().model
    promised = {"name", "partition_key", "documents", "entities", "labels", "entities_uri", "seconds"}
    assert all(promised <= entry.keys() for entry in report["sets"])


def test_an_upload_knows_when_it_ended(client: Any, examples: Path) -> None:
    before = datetime.now(UTC)
    upload = demo.upload_examples(client, demo.find_examples(examples))
    assert before <= upload.finished_at <= datetime.now(UTC)
