"""A12, A13: windows are plain slices with one owner for each position."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ner_pipeline.inference.spans import Span
from ner_pipeline.inference.windows import MIN_OVERLAP_CHARS, SEGMENT_CHARS, CutRule, Window, merge, plan

RULE = CutRule()
SMALL = CutRule(own_segments=2)
WORDS = st.sampled_from(
    [
        "a",
        "word",
        " ",
        " ",
        "  ",
        "\n",
        "\r\n\r\n",
        "\t",
        "\u00a0",
        ". ",
        "! ",
        "。",
        "北京",
        "é",
        "e\u0301",
        "👨‍👩‍👧",
        "\u3000",
    ]
)
TEXTS = st.builds(
    lambda parts, times: "".join(parts) * times, st.lists(WORDS, min_size=1, max_size=60), st.integers(1, 120)
)


def owned(text, windows):
    return "".join(text[window.own_start : window.own_end] for window in windows)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from([RULE, SMALL]))
def test_a12_owned_ranges_tile_the_text_and_windows_hold_them(text, rule):
    windows = plan(text, rule).windows
    assert owned(text, windows) == text
    assert windows[0].start == windows[0].own_start == 0
    assert windows[-1].end == windows[-1].own_end == len(text)
    for window in windows:
        assert window.start <= window.own_start < window.own_end <= window.end
    for before, after in itertools.pairwise(windows):
        assert before.own_end == after.own_start
        assert after.start < before.own_end < before.end


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_no_window_is_larger_than_its_segments_may_be(text):
    most = (SMALL.own_segments + 2 * SMALL.overlap_segments) * SEGMENT_CHARS + 2 * MIN_OVERLAP_CHARS
    assert all(window.end - window.start <= most for window in plan(text, SMALL).windows)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_a_plan_that_calls_itself_exact_cuts_behind_white_space_and_before_none(text):
    cut = plan(text, SMALL)
    if cut.approximate:
        return
    for window in cut.windows[1:]:
        for edge in (window.start, window.own_start):
            assert text[edge - 1].isspace()
            assert not text[edge].isspace()


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_a_finder_of_words_gives_the_same_through_windows(text):
    finder = re.compile(r"word|北京")
    windows = plan(text, SMALL).windows
    found = [
        [Span(m.start(), m.end(), "X") for m in finder.finditer(text[window.start : window.end])]
        for window in windows
    ]
    merged = merge(windows, found).spans
    assert [span[:2] for span in merged] == [m.span() for m in finder.finditer(text)]


@pytest.mark.parametrize("unit", ["é", " ", "\n", "e\u0301", ".", "-", "字", "a\u200db"])
def test_a13_a_million_characters_without_a_place_to_cut_are_cut_all_the_same(unit):
    text = unit * (1_000_001 // len(unit))
    cut = plan(text, RULE)
    assert cut.approximate
    assert owned(text, cut.windows) == text
    assert max(window.end - window.start for window in cut.windows) <= 10 * SEGMENT_CHARS


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_a_window_sees_far_enough_beyond_what_it_owns_to_both_sides(text):
    for window in plan(text, SMALL).windows:
        assert window.own_start - window.start >= min(MIN_OVERLAP_CHARS, window.own_start)
        assert window.end - window.own_end >= min(MIN_OVERLAP_CHARS, len(text) - window.own_end)


def test_cuts_fall_after_sentences_where_there_are_any():
    text = "He went to Paris on a cold day. " * 2_000
    windows = plan(text, RULE).windows
    assert len(windows) > 1
    assert all(text[window.own_start - 2 : window.own_start] == ". " for window in windows[1:])


def test_chinese_without_spaces_is_cut_after_full_stops_and_called_approximate():
    text = "他昨天去了北京见张伟。" * 2_000
    cut = plan(text, RULE)
    assert cut.approximate
    assert all(text[window.own_start - 1] == "。" for window in cut.windows[1:])


def test_a_window_holds_no_more_underscores_than_other_signs():
    edges = [plan(sign * 50_000, RULE).windows for sign in "_-"]
    assert edges[0] == edges[1]


@pytest.mark.parametrize("sign", ["・", "\U0003f583"])
def test_signs_that_are_tokens_in_two_ways_are_not_tried_in_all_of_them(sign):
    text = (sign * 60 + "word " * 30) * 40
    assert owned(text, plan(text, RULE).windows) == text


@pytest.mark.parametrize("text", ["", "a", "Hello Bob. " * 50, "word " * 900])
def test_a_text_that_fits_is_one_window(text):
    assert plan(text, RULE).windows == (Window(0, len(text), 0, len(text)),)


def test_a_text_whose_pipeline_wants_it_whole_is_cut_only_beyond_the_limit():
    rule = CutRule(whole_chars=100_000, exact=False)
    text = "word " * 20_000
    assert len(plan(text, rule).windows) == 1
    assert not plan(text, rule).approximate
    longer = plan(text + "word ", rule)
    assert len(longer.windows) > 1
    assert longer.approximate
    assert len(plan(text * 20, CutRule(whole_chars=len(text) * 20)).windows) == 1


def test_a_span_that_reaches_the_cut_end_of_its_window_is_kept_and_told():
    windows = (Window(0, 30, 0, 20), Window(10, 50, 20, 50))
    merged = merge(windows, [[Span(18, 30, "X")], []])
    assert merged.spans == [Span(18, 30, "X")]
    assert merged.truncated
    assert not merge(windows, [[Span(18, 25, "X")], [Span(30, 40, "X")]]).truncated


def test_a_span_that_both_windows_see_belongs_to_the_owner_of_its_start():
    windows = (Window(0, 30, 0, 20), Window(10, 50, 20, 50))
    both = [[Span(18, 24, "X"), Span(21, 24, "Y")], [Span(8, 14, "X"), Span(11, 14, "Y")]]
    assert merge(windows, both).spans == [Span(18, 24, "X"), Span(21, 24, "Y")]


def test_broken_offsets_reach_the_validation():
    windows = (Window(0, 30, 0, 20), Window(10, 50, 20, 50))
    merged = merge(windows, [[Span(-3, 4, "X")], [Span(60, 70, "X")]])
    assert merged.spans == [Span(-3, 4, "X"), Span(70, 80, "X")]
