"""What the benchmark writes, prints and draws from figures that were measured."""

import json

import pytest

from benchmarks.__main__ import HEADLINES, summarise
from benchmarks.chart import draw
from benchmarks.parts import PARTS
from benchmarks.report import markdown, tables
from benchmarks.ways import ALL, BOUND, COMPILED, COMPILED_ONE, ONE
from ner_pipeline_tests.benchmarks import recorded


@pytest.fixture
def bench():
    """The file as it comes back from the disk."""
    return json.loads(json.dumps(summarise(recorded.PARTS, {"ticks": "exit code 1"}, "default")))


def test_the_headlines_stand_at_the_top_of_the_file(bench):
    assert {name: bench[name] for name in HEADLINES} == {
        name: json.loads(json.dumps(recorded.THROUGHPUT[name])) for name in HEADLINES
    }


def test_without_the_part_that_measures_them_the_headlines_are_empty():
    bench = summarise({"linear": recorded.PARTS["linear"]}, {}, "small")
    assert [bench[name] for name in HEADLINES] == [None] * len(HEADLINES)


def test_every_part_has_a_table_and_failures_have_one_too(bench):
    shown = list(tables(bench))
    assert len(shown) == len(PARTS) + 1
    assert shown[-1].rows == [("ticks", "exit code 1")]
    assert all(len(row) == len(table.columns) for table in shown for row in table.rows)


def test_only_what_was_measured_is_shown():
    bench = summarise({"linear": recorded.PARTS["linear"]}, {}, "small")
    [table] = tables(bench)
    assert table.rows == [("twice as many documents", "2.01"), ("one document twice as long", "1.98")]


def test_a_way_is_a_row_of_the_page_with_its_baseline_beside_it(bench):
    lines = markdown(bench).splitlines()
    assert f"| {ONE} | 13,000 | 0.65 | 0 | 200 |" in lines
    assert f"| {COMPILED} | 250,000 | 12.50 | 0 | 200 |" in lines
    assert f"| {BOUND} | 138,000 | 6.90 |  | 200 |" in lines


def test_the_chart_has_a_bar_for_each_way_and_is_the_same_each_time(bench, tmp_path):
    for name in ("one.svg", "two.svg"):
        draw(bench, tmp_path / name)
    one, two = ((tmp_path / name).read_text() for name in ("one.svg", "two.svg"))
    assert one == two
    assert all(text in one for text in (ONE, COMPILED, "13,000", "250,000"))
    assert BOUND not in one


def test_ratios_are_taken_within_a_round():
    from benchmarks.throughput import ratio

    # The machine was half as fast in the second round, for both.
    rates = {"fast": [100.0, 50.0, 90.0], "slow": [10.0, 5.0, 10.0]}
    assert ratio(rates, "fast", "slow") == 10.0


def test_an_entity_that_one_of_two_has_in_another_text_differs_twice():
    from benchmarks.throughput import differing

    one, other = (0, 3, "ORG"), (4, 7, "ORG")
    assert differing([[one], [other]], [[one], [other]]) == 0
    assert differing([[one], [other]], [[one, other], []]) == 2
    assert differing([[one]], [[(0, 3, "GPE")]]) == 2


def test_the_summary_compares_with_one_process_and_with_all_cores():
    from benchmarks.process_tree import Peaks
    from benchmarks.throughput import summary

    entity = (0, 3, "ORG")
    rates = {ONE: [10.0], ALL: [20.0], COMPILED: [240.0], COMPILED_ONE: [120.0], BOUND: [150.0]}
    found = {ONE: [[entity]], ALL: [[entity]], COMPILED: [[]], COMPILED_ONE: [[entity]]}
    peaks = {name: Peaks({"python 1": 100.0, "python 2": 50.0}) for name in rates}
    figures = summary(rates, found, peaks)
    assert figures["ratio_to_nlp_pipe_all_cores"] == 12.0
    assert figures["differing_entities"] == 1
    assert figures["sgemm_bound_share"] == 0.8
    assert figures["peak_rss_mb"] == 150.0
    assert [way["differing_entities"] for way in figures["ways"]] == [0, 0, 1, 0, None]
