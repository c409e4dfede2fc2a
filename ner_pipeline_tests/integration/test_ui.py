"""What people see and click: Dagster's own UI over the real services, in a real browser.

Each step leaves a picture in the test's folder, and in $NER_SCREENSHOTS where that is set.
"""

import json
import os
import re
import shutil
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect, sync_playwright

from ner_pipeline.local.stack import INBOX, RESULTS, LocalStack
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import get_bytes, list_objects, put_bytes
from ner_pipeline.storage.progress import SetState, set_status

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NEWS, CONTRACTS, ODD = "news", "contracts", "odd-files"
SETS = (NEWS, CONTRACTS, ODD)
"""All of them small. The last one has documents that are rejected, each for a reason of its own."""

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
RUNS_WITHIN_S = 240
CLICKS_WITHIN_S = 30
UNDER_WAY = {"REQUESTED", "FAILING", "CANCELING"}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")


@dataclass
class Screen:
    """The UI of a running stack in a browser, and its GraphQL for what one waits for."""

    stack: LocalStack
    page: Page
    folders: list[Path]
    shots: int = field(default=0)

    def open(self, path: str) -> None:
        self.page.goto(f"{self.stack.ui_url}/{path}")

    def shoot(self, name: str) -> None:
        self.shots += 1
        for folder in self.folders:
            self.page.screenshot(path=folder / f"{self.shots:02}-{name}.png")

    def row(self, name: str) -> Locator:
        """The row of a metadata entry; its value may be a table with rows of its own."""
        cell = self.page.get_by_role("cell", name=name, exact=True)
        return self.page.get_by_role("row").filter(has=cell).first

    def table(self, name: str) -> list[list[str]]:
        """The cells of a table in the metadata, without its header."""
        rows = self.row(name).get_by_role("table").get_by_role("row")
        expect(rows.nth(1)).to_be_visible()
        return [row.get_by_role("cell").all_inner_texts() for row in rows.all()[1:]]

    def open_partition(self, asset: str, partition: str) -> None:
        self.open(f"assets/{asset}?view=partitions")
        self.page.get_by_text(partition, exact=True).first.click()
        expect(self.page.get_by_text("Latest materialization")).to_be_visible()

    def open_launch_dialog(self, path: str) -> Locator:
        self.open(path)
        self.page.get_by_role("button", name=re.compile("Materialize.*…")).click()
        dialog = self.page.get_by_role("dialog").filter(has_text="Launch runs to materialize")
        expect(dialog.get_by_text("Partition selection")).to_be_visible()
        return dialog

    def graphql(self, query: str) -> dict:
        request = urllib.request.Request(
            f"{self.stack.ui_url}/graphql",
            json.dumps({"query": query}).encode(),
            {"Content-Type": "application/json"},
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=30) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer
        return answer["data"]

    def runs(self, tag: str, value: str) -> dict[str, str]:
        """The status of each run with a tag, the newest first."""
        query = (
            f'{{ runsOrError(filter: {{tags: [{{key: "{tag}", value: "{value}"}}]}}) '
            "{ ... on Runs { results { runId status } } } }"
        )
        return {run["runId"]: run["status"] for run in self.graphql(query)["runsOrError"]["results"]}

    def backfills(self) -> dict[str, str]:
        query = "{ partitionBackfillsOrError { ... on PartitionBackfills { results { id status } } } }"
        found = self.graphql(query)["partitionBackfillsOrError"]["results"]
        return {backfill["id"]: backfill["status"] for backfill in found}

    def wait_for(self, condition, what: str):
        """Poll until a condition gives something; a service that ends ends the waiting."""
        deadline = time.monotonic() + RUNS_WITHIN_S
        while not (found := condition()):
            self.stack.check()
            assert time.monotonic() < deadline, f"not within {RUNS_WITHIN_S} s: {what}"
            time.sleep(0.25)
        return found

    def wait_for_new_run(self, partition: str, before: dict[str, str]) -> str:
        """Wait until one run more than before has succeeded; give its id."""

        def succeeded() -> str | None:
            new = {
                run: status
                for run, status in self.runs("dagster/partition", partition).items()
                if run not in before
            }
            assert not {"FAILURE", "CANCELED"} & set(new.values()), new
            return next((run for run, status in new.items() if status == "SUCCESS"), None)

        return self.wait_for(succeeded, f"a new run of {partition}")


@pytest.fixture(scope="module")
def screen(tmp_path_factory):
    folders = [tmp_path_factory.mktemp("screenshots")]
    if wanted := os.environ.get("NER_SCREENSHOTS"):
        folders.append(Path(wanted))
        folders[-1].mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith("NER_")]:
            environment.delenv(name)
        environment.setenv("NER_WORKERS", "1")
        with LocalStack(tmp_path_factory.mktemp("ui"), ui=True) as stack:
            stack.start_s3()
            for name in SETS:
                upload(stack.s3.client(), name)
            stack.start_code_server()
            stack.start_daemon()
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch_persistent_context(
                    tmp_path_factory.mktemp("browser"),
                    executable_path=CHROMIUM,
                    args=QUIET,
                    viewport={"width": 1280, "height": 900},
                    permissions=["clipboard-read", "clipboard-write"],
                )
                browser.set_default_timeout(CLICKS_WITHIN_S * 1000)
                expect.set_options(timeout=CLICKS_WITHIN_S * 1000)
                screen = Screen(stack, browser.pages[0], folders)
                for name in SETS:
                    screen.wait_for_new_run(name, {})
                yield screen
                browser.close()


def upload(client, name: str) -> None:
    """Upload an example as a user would: the files, then the marker."""
    inbox = S3Location.parse_prefix(INBOX)
    for path in sorted((EXAMPLES / name).iterdir()):
        put_bytes(client, inbox / f"{name}/{path.name}", path.read_bytes())
    put_bytes(client, inbox / f"{name}/_SUCCESS", b"")


def manifest(screen: Screen, name: str):
    places = map(S3Location.parse_prefix, (INBOX, RESULTS))
    status = set_status(screen.stack.s3.client(), *places, name)
    assert status.state is SetState.DONE, status
    return status.manifest


def test_the_page_of_a_set_tells_what_became_of_its_documents(screen: Screen) -> None:
    screen.open_partition("entity_report", ODD)
    published = manifest(screen, ODD)
    expect(screen.row("documents")).to_contain_text(str(sum(published.documents.values())))
    shown = [tuple(row) for row in screen.table("documents by outcome")]
    assert shown == [
        (count.outcome, count.reason, str(count.documents)) for count in published.outcomes.counts
    ]
    assert ("rejected", "unknown_format", "2") in shown
    screen.shoot("report-of-odd-files")
    screen.row("worst documents").scroll_into_view_if_needed()
    worst = {row[0]: row[1:] for row in screen.table("worst documents")}
    outcome, detail = worst["odd-files/minutes.docx"]
    assert outcome == "rejected: unknown_format"
    assert detail.startswith("'minutes.docx' is none of")
    assert detail.endswith("(left out)")
    assert len(worst) == len(published.outcomes.worst)
    screen.shoot("worst-documents")


def test_the_page_of_a_set_shows_entities_speed_and_model(screen: Screen) -> None:
    screen.open_partition("entity_report", NEWS)
    published = manifest(screen, NEWS)
    labels = {row[0]: int(row[1]) for row in screen.table("entities by label")}
    assert labels == published.entities_by_label
    assert list(labels.values()) == sorted(labels.values(), reverse=True)
    screen.shoot("report")
    assert {row[1] for row in screen.table("top entities")} <= labels.keys()
    [(_, texts, *_)] = screen.table("shard balance")
    assert int(texts) == published.documents["ok"]
    expect(screen.row("throughput (characters/s)")).to_contain_text(re.compile(r"\d"))
    expect(screen.row("model")).to_contain_text(str(published.model))
    expect(screen.row("device")).to_contain_text(published.model.device)
    expect(screen.row("worst documents")).to_contain_text("none")
    entity, label, start, end, doc_id = screen.table("preview")[0]
    text = (EXAMPLES / doc_id).read_text()
    assert text[int(start) : int(end)] == entity
    assert label in labels
    screen.row("preview").scroll_into_view_if_needed()
    screen.shoot("report-below")


def test_the_chart_is_drawn_at_its_full_size(screen: Screen) -> None:
    screen.open_partition("entity_report", NEWS)
    # The chart of a model with few labels is short enough to stand in the table itself.
    link = screen.row("label chart").get_by_text("[Show Markdown]")
    picture = screen.page.get_by_role("img", name="Entities by label")
    expect(link.or_(picture)).to_be_visible()
    if link.is_visible():
        link.click()
    expect(picture).to_be_visible()
    natural, shown = picture.evaluate(
        "async (img) => { await img.decode(); return [img.naturalWidth, img.clientWidth] }"
    )
    assert natural == shown > 300
    picture.scroll_into_view_if_needed()
    screen.shoot("label-chart")


def test_the_place_on_s3_is_copied_with_one_click(screen: Screen) -> None:
    screen.open_partition("entity_report", NEWS)
    screen.row("entities on S3").get_by_role("button").click()
    uri = manifest(screen, NEWS).tables["entities"].uri
    # The clipboard is written a moment after the click.
    screen.page.wait_for_function("uri => navigator.clipboard.readText().then(text => text === uri)", arg=uri)
    assert get_bytes(screen.stack.s3.client(), S3Location.parse(uri)).startswith(b"PAR1")


def test_checks_are_shown_with_what_they_found(screen: Screen) -> None:
    screen.open("assets/merged_entities?view=checks")
    page = screen.page.locator("body")
    for check in ("spans_match_text", "every_document_accounted_for", "schema_is_fixed"):
        expect(page).to_contain_text(re.compile(rf"{check}\s*Succeeded"))
    # Half of the odd files are rejected: a warning, which holds nothing back.
    expect(page).to_contain_text(re.compile(r"failure_rate\s*Failed"))
    screen.shoot("checks")


def test_a_partition_chosen_in_the_dialog_is_materialized(screen: Screen) -> None:
    before = screen.runs("dagster/partition", NEWS)
    dialog = screen.open_launch_dialog("asset-groups")
    dialog.get_by_text("Select a partition or create one").click()
    screen.page.get_by_role("menuitem").filter(has_text=NEWS).click()
    dialog.get_by_text("Launch runs to materialize").click()
    expect(dialog.get_by_text("1 partition", exact=True)).to_be_visible()
    screen.shoot("launch-dialog")
    dialog.get_by_role("button", name="Launch 1 run").click()
    run = screen.wait_for_new_run(NEWS, before)
    screen.open(f"runs/{run}")
    expect(screen.page.get_by_text("Success", exact=True).first).to_be_visible()
    expect(screen.page.get_by_text("Loading run logs")).to_be_hidden()
    screen.shoot("run")
    assert manifest(screen, NEWS).run_id == run


def test_a_report_is_made_again_from_its_page(screen: Screen) -> None:
    before, published = screen.runs("dagster/partition", NEWS), manifest(screen, NEWS)
    dialog = screen.open_launch_dialog(f"assets/entity_report?view=partitions&partition={NEWS}")
    expect(dialog.get_by_text("1 partition", exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Launch 1 run").click()
    run = screen.wait_for_new_run(NEWS, before)
    screen.open_partition("entity_report", NEWS)
    expect(screen.page.get_by_role("link", name=run[:8])).to_be_visible()
    screen.shoot("report-made-again")
    assert manifest(screen, NEWS) == published


def test_a_backfill_of_all_partitions_succeeds(screen: Screen) -> None:
    before = screen.backfills()
    dialog = screen.open_launch_dialog("asset-groups")
    dialog.get_by_role("button", name="All", exact=True).click()
    expect(dialog.get_by_text(f"{len(SETS)} partitions", exact=True)).to_be_visible()
    screen.shoot("backfill-dialog")
    dialog.get_by_role("button", name="Launch backfill").click()

    def ended() -> str | None:
        new = {backfill: status for backfill, status in screen.backfills().items() if backfill not in before}
        return next((backfill for backfill, status in new.items() if status not in UNDER_WAY), None)

    backfill = screen.wait_for(ended, "the backfill")
    assert screen.backfills()[backfill] == "COMPLETED_SUCCESS"
    runs = screen.runs("dagster/backfill", backfill)
    assert list(runs.values()) == ["SUCCESS"] * len(SETS)
    assert {manifest(screen, name).run_id for name in SETS} == set(runs)
    screen.open(f"runs/b/{backfill}")
    expect(screen.page.get_by_text("Completed").first).to_be_visible()
    screen.shoot("backfill")
    client, results = screen.stack.s3.client(), S3Location.parse_prefix(RESULTS)
    assert len(list(list_objects(client, results / "entities/"))) == len(SETS)
