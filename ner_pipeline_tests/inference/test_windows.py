"""A11, A12, A13: windows are plain slices with one owner for each position."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ner_pipeline.inference.spans import Span
from ner_pipeline.inference.windows import SEGMENT_CHARS, CutRule, Window, is_blank, merge, plan

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
    most = (SMALL.own_segments + 2 * SMALL.overlap_segments) * SEGMENT_CHARS
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


def find_names(text):
    """Finds whole names, and takes a name that its text cuts off for a shorter one, as models do."""
    found = [Span(m.start(), m.end(), "PERSON") for m in re.finditer(r"Angela Merkel", text)]
    half = re.search(r"Angela M?e?r?k?e?$", text)
    return found + ([Span(half.start(), half.end(), "PERSON")] if half else [])


@pytest.mark.parametrize("filler", ["word ", "Wort. ", "字", "x", "\n", "  "])
def test_a11_a_name_at_any_place_around_a_cut_comes_out_once_and_whole(filler):
    base = plan(filler * (20_000 // len(filler)), SMALL).windows
    border = base[1].own_start
    for shift in range(-16, 3):
        before = filler * ((border + shift) // len(filler) + 1)
        before = before[: border + shift]
        text = before + "Angela Merkel " + filler * (12_000 // len(filler))
        windows = plan(text, SMALL).windows
        found = [find_names(text[window.start : window.end]) for window in windows]
        merged = merge(windows, found)
        assert merged.spans == [Span(len(before), len(before) + 13, "PERSON")], shift


@pytest.mark.parametrize("inside", range(-1, 15))
def test_a11_a_cut_at_any_character_of_a_name_neither_halves_nor_repeats_it(inside):
    text = "x" * 40 + " Angela Merkel " + "y" * 40
    border = 41 + inside
    windows = (Window(0, border + 20, 0, border), Window(border - 20, len(text), border, len(text)))
    found = [find_names(text[window.start : window.end]) for window in windows]
    assert merge(windows, found).spans == [Span(41, 54, "PERSON")]


def test_a11_windows_begin_at_the_beginning_of_words():
    text = "test string " * 3_000
    for window in plan(text, RULE).windows:
        assert re.match(r"test|string", text[window.start :])
        assert re.match(r"test|string", text[window.own_start :])


@pytest.mark.parametrize("length", [999_999, 1_000_000, 1_000_001, 5_000_000])
def test_a13_a_name_in_the_last_characters_of_a_long_text_is_covered(length):
    text = "word " * (length // 5)
    text = text[: length - 18] + "Angela Merkel word" if length > 5_000 else text
    windows = plan(text, RULE).windows
    found = [find_names(text[window.start : window.end]) for window in windows]
    assert merge(windows, found).spans == [Span(length - 18, length - 5, "PERSON")]
    assert max(window.end - window.start for window in windows) < 10_000


@pytest.mark.parametrize("unit", ["é", " ", "\n", "e\u0301", ".", "-", "字", "a\u200db"])
def test_a13_a_million_characters_without_a_place_to_cut_are_cut_all_the_same(unit):
    text = unit * (1_000_001 // len(unit))
    cut = plan(text, RULE)
    assert cut.approximate
    assert owned(text, cut.windows) == text
    assert max(window.end - window.start for window in cut.windows) <= 10 * SEGMENT_CHARS


@pytest.mark.parametrize("character", ["e\u0301", "👨\u200d👩\u200d👧", "❤\ufe0f", "\r\n"])
def test_a_hard_cut_does_not_split_a_character_of_several_code_points(character):
    text = character * 20_000
    for window in plan(text, SMALL).windows:
        for edge in (window.start, window.own_start):
            assert text[edge:].startswith(character)


def test_cuts_fall_after_sentences_where_there_are_any():
    text = "He went to Paris on a cold day. " * 500
    windows = plan(text, RULE).windows
    assert len(windows) > 1
    assert all(text[window.own_start - 2 : window.own_start] == ". " for window in windows[1:])


def test_chinese_without_spaces_is_cut_after_full_stops_and_called_approximate():
    text = "他昨天去了北京见张伟。" * 2_000
    cut = plan(text, RULE)
    assert cut.approximate
    assert all(text[window.own_start - 1] == "。" for window in cut.windows[1:])


@pytest.mark.parametrize("text", ["", "a", "Hello Bob. " * 50, "word " * 900])
def test_a_text_that_fits_is_one_window(text):
    assert plan(text, RULE).windows == (Window(0, len(text), 0, len(text)),)


def test_a_text_whose_pipeline_wants_it_whole_is_cut_only_beyond_the_limit():
    rule = CutRule(whole_chars=20_000, exact=False)
    text = "word " * 4_000
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


@pytest.mark.parametrize(
    ("text", "blank"), [("", True), (" ", True), ("\n\n", True), ("\u3000", True), ("\ufeff", False)]
)
def test_a15_blank_means_white_space_only(text, blank):
    assert is_blank(text) is blank
