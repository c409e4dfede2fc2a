"""A10, O01, O02, O03: what makes a span valid."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ner_pipeline.inference.spans import Span
from ner_pipeline.inference.validation import REASONS, utf16_offsets, validate


def kept(text, *spans, labels=None):
    return [tuple(span)[:3] for span in validate(text, [Span(*span) for span in spans], labels).spans]


def reasons(text, *spans, labels=None):
    return [reason for _, reason in validate(text, [Span(*span) for span in spans], labels).quarantined]


def test_a10_white_space_at_the_edges_is_trimmed_and_counted():
    result = validate("Alice\n\nwho", [Span(0, 7, "PERSON")])
    assert result.spans == [Span(0, 5, "PERSON")]
    assert (result.trimmed, result.dropped) == (1, 0)


@pytest.mark.parametrize("blank", ["\n", "\u00a0", "\u3000", " \t\r\n", "\u2028"])
def test_a10_nothing_but_white_space_is_dropped(blank):
    text = f"Bob lives in London.{blank}"
    result = validate(text, [Span(20, 20 + len(blank), "GPE")])
    assert result.spans == result.quarantined == []
    assert result.dropped == 1


def test_a10_a_span_equal_to_another_after_trimming_is_dropped():
    result = validate("Alice\n\n", [Span(0, 7, "PERSON"), Span(0, 5, "PERSON")])
    assert result.spans == [Span(0, 5, "PERSON")]
    assert (result.trimmed, result.dropped) == (1, 1)


QUEEN = "Queen Elizabeth II Marks Birthday"


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 18, "PERSON"), (6, 18, "PERSON")], [(0, 18, "PERSON")]),
        ([(0, 5, "ORG"), (0, 5, "GPE")], [(0, 5, "GPE")]),
        ([(0, 12, "A"), (7, 20, "B")], [(7, 20, "B")]),
        ([(0, 12, "B"), (7, 19, "A")], [(0, 12, "B")]),
        ([(0, 5, "A"), (0, 5, "A")], [(0, 5, "A")]),
        ([(0, 5, "A"), (5, 9, "B")], [(0, 5, "A"), (5, 9, "B")]),
    ],
)
def test_o02_overlaps_are_settled_longest_then_leftmost_then_by_label(spans, expected):
    text = "x" * 40
    assert kept(text, *spans) == expected
    assert kept(text, *reversed(spans)) == expected


def test_o02_of_two_equal_spans_the_one_with_a_kb_id_stays():
    assert validate("Paris", [Span(0, 5, "GPE"), Span(0, 5, "GPE", "Q90")]).spans == [
        Span(0, 5, "GPE", "Q90")
    ]


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        ((11, 99, "GPE"), "offset_out_of_range"),
        ((-1, 3, "GPE"), "offset_out_of_range"),
        ((5, 5, "GPE"), "start_not_before_end"),
        ((7, 3, "GPE"), "start_not_before_end"),
        ((True, 3, "GPE"), "offset_not_integer"),
        ((0, 1.0, "GPE"), "offset_not_integer"),
        (("0", "11", "GPE"), "offset_not_integer"),
        ((None, 3, "GPE"), "offset_not_integer"),
        ((0, 5, "NOPE"), "unknown_label"),
        ((0, 5, ""), "label_not_text"),
        ((0, 5, 7), "label_not_text"),
    ],
)
def test_o03_a_broken_span_goes_to_quarantine_with_its_reason(span, reason):
    assert reasons("Hello from India", span, labels=["GPE"]) == [reason]
    assert reason in REASONS


def test_o03_good_spans_beside_broken_ones_stay():
    assert kept("Hello from India", (11, 99, "GPE"), (11, 16, "GPE"), labels=["GPE"]) == [(11, 16, "GPE")]


def test_any_label_is_accepted_when_the_labels_are_not_known():
    assert kept("Hello", (0, 5, "WHATEVER")) == [(0, 5, "WHATEVER")]


SPANS = st.lists(
    st.tuples(st.integers(-2, 32), st.integers(-2, 32), st.sampled_from("AB")).map(lambda t: Span(*t)),
    max_size=30,
)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab \n\u00a0", min_size=30, max_size=30), SPANS, st.randoms())
def test_validation_accounts_for_every_span_and_does_not_depend_on_their_order(text, spans, shuffler):
    result = validate(text, spans, ["A", "B"])
    assert len(result.spans) + len(result.quarantined) + result.dropped == len(spans)
    position = 0
    for span in result.spans:
        assert position <= span.start < span.end <= len(text)
        assert text[span.start : span.end] == text[span.start : span.end].strip()
        position = span.end
    shuffled = list(spans)
    shuffler.shuffle(shuffled)
    assert validate(text, shuffled, ["A", "B"]).spans == result.spans
    assert validate(text, result.spans, ["A", "B"]).spans == result.spans


def test_a_hundred_thousand_spans_of_a_long_text_are_settled():
    chance = random.Random(1)
    text = "word " * 200_000
    starts = [chance.randrange(0, 999_900) for _ in range(100_000)]
    spans = [Span(start, start + chance.randrange(1, 60), "A") for start in starts]
    result = validate(text, spans)
    assert len(result.spans) + result.dropped == 100_000


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("😀 Barack Obama visited Paris", (2, 14), (3, 15)),
        ("👨‍👩‍👧 Bob", (6, 9), (9, 12)),
        ("é Bob", (2, 5), (2, 5)),
        ("Bob 😀", (0, 5), (0, 6)),
    ],
)
def test_o01_utf16_offsets_are_those_of_javascript(text, span, expected):
    assert utf16_offsets(text, [Span(*span, "X")]) == [expected]


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1, max_size=40), st.data())
def test_o01_a_slice_by_utf16_units_is_the_span(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    ((first, last),) = utf16_offsets(text, [Span(start, end, "X")])
    units = text.encode("utf-16-le", "surrogatepass")
    assert units[2 * first : 2 * last].decode("utf-16-le", "surrogatepass") == text[start:end]
