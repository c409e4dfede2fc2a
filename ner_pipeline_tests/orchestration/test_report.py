"""What people see: bounded, escaped, and right."""

import base64

from hypothesis import given, settings
from hypothesis import strategies as st

from ner_pipeline.orchestration.report import MAX_CHART_BYTES, bar_chart, html_page, record_table


@settings(max_examples=8, deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=30), st.integers(1, 10**9), max_size=60))
def test_a_chart_is_drawn_of_any_labels_and_is_never_too_large(counts):
    assert len(bar_chart(counts, "Entities by label")) <= MAX_CHART_BYTES


def test_a_chart_is_a_picture():
    picture = bar_chart({"PERSON": 12, "GPE": 7}, "Entities by label").partition("base64,")[2].rstrip(")")
    assert base64.b64decode(picture).startswith(b"\x89PNG")


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
    assert [record.data for record in table.records] == [{"a": "1,000", "b": ""}, {"a": "x", "b": ""}]
