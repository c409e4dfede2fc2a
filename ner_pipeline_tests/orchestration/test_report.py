"""What people see: bounded, escaped, and right."""

import base64
import io

from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ner_pipeline.orchestration.handover import ShardDone
from ner_pipeline.orchestration.report import (
    MAX_CHART_BYTES,
    bar_chart,
    html_page,
    label_table,
    record_table,
    shard_table,
    worst_table,
)
from ner_pipeline.storage.manifests import ModelRecord
from ner_pipeline.storage.objects import StoredObject
from ner_pipeline.storage.outcome_summary import DocumentAccount

DIALOG_PIXELS = 360
"""What Dagster's dialog shows of a picture without a scroll bar."""


def cells(table):
    return [record.data for record in table.records]


def drawn(markdown):
    return Image.open(io.BytesIO(base64.b64decode(markdown.partition("base64,")[2].rstrip(")"))))


@settings(max_examples=8, deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=30), st.integers(1, 10**9), max_size=60))
def test_a_chart_is_drawn_of_any_labels_and_is_never_too_large(counts):
    assert len(bar_chart(counts, "Entities by label")) <= MAX_CHART_BYTES


def test_a_chart_of_all_usual_labels_is_legible_and_as_wide_as_its_dialog():
    counts = {f"LABEL_NUMBER_{n}": 10**6 - n * 50_000 for n in range(18)}
    picture = drawn(bar_chart(counts, "Entities by label"))
    assert (picture.format, picture.width) == ("PNG", DIALOG_PIXELS)
    assert picture.height > 18 * 20


def test_labels_come_the_commonest_first_with_bars_that_compare_them():
    rows = cells(label_table({"ORG": 250, "GPE": 750, "LAW": 1, "DATE": 0}))
    assert [(row["label"], row["entities"]) for row in rows] == [("GPE", "750"), ("ORG", "250"), ("LAW", "1")]
    bars = [row["share"].split("% ")[1] for row in rows]
    assert bars == ["█" * 12, "█" * 4, "▏"]
    assert [row["share"].split()[0] for row in rows] == ["75%", "25%", "<1%"]


def test_a_set_without_entities_has_an_empty_table_and_no_chart():
    assert cells(label_table({})) == []
    assert "base64" not in bar_chart({}, "Entities by label")


def test_the_worst_documents_are_listed_with_what_was_done_or_there_are_none():
    account = DocumentAccount(
        source_key="a.docx",
        member=None,
        record=None,
        byte_offset=None,
        outcome="rejected",
        reason="unknown_format",
        detail="no .txt",
        action="left out",
    )
    assert cells(worst_table([account])) == [
        {"document": "a.docx", "outcome": "rejected: unknown_format", "detail": "no .txt (left out)"}
    ]
    assert worst_table([]).value == "none"


def test_the_dearest_shard_comes_first_and_no_shard_is_a_word():
    model = ModelRecord(name="m", version="1", labels=(), device="cpu", extractor="e", why="w")
    shards = [
        ShardDone(
            shard=name,
            results=StoredObject(uri="s3://b/k", etag="e"),
            texts=2,
            failed=0,
            characters=1_500,
            seconds=seconds,
            computed_now=now,
            model=model,
        )
        for name, seconds, now in (("cheap", 0.5, True), ("dear", 2.0, False))
    ]
    assert [(row["shard"], row["seconds"], row["result"]) for row in cells(shard_table(shards))] == [
        ("dear", "2.00", "stood already"),
        ("cheap", "0.50", "computed"),
    ]
    assert shard_table([]).value == "nothing had to be computed"


def test_text_of_documents_and_names_cannot_become_markup():
    page = html_page(
        "<b>set</b>",
        {"set": "<script>1</script>"},
        {"<i>": 1},
        [
            {
                "text": "<img src=x> Bob",
                "ents": [{"start": 12, "end": 15, "label": "<s>PERSON"}],
                "title": "<u>a</u>",
            }
        ],
    )
    for markup in ("<b>set", "<script>", "<i>", "<img", "<u>", "<s>"):
        assert markup not in page
    assert "PERSON" in page


def test_a_page_without_entities_says_so():
    assert "No document has an entity" in html_page("s", {}, {}, [])


def test_cells_are_text_and_nothing_is_an_empty_cell():
    table = record_table([{"a": 1_000, "b": None}, {"a": "x"}], ["a", "b"])
    assert cells(table) == [{"a": "1,000", "b": ""}, {"a": "x", "b": ""}]
