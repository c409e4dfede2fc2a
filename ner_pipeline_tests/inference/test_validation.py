"""What makes a span valid, beyond the field cases."""

import random

import pytest

from ner_pipeline.inference.spans import Span
from ner_pipeline.inference.validation import utf8_offsets, validate


def test_any_label_is_accepted_when_the_labels_are_not_known():
    assert validate("Hello", [Span(0, 5, "WHATEVER")]).spans == [Span(0, 5, "WHATEVER")]


def test_a_hundred_thousand_spans_of_a_long_text_are_settled():
    chance = random.Random(1)
    text = "word " * 200_000
    starts = [chance.randrange(0, 999_900) for _ in range(100_000)]
    spans = [Span(start, start + chance.randrange(1, 60), "A") for start in starts]
    result = validate(text, spans)
    assert len(result.spans) + result.dropped == 100_000


def test_a_hundred_thousand_spans_of_a_long_text_are_counted_in_bytes():
    text = "wörd " * 200_000
    spans = [Span(start, start + 4, "A") for start in range(0, 500_000, 5)]
    assert utf8_offsets(text, spans) == [
        (start // 5 * 6, start // 5 * 6 + 5) for start in range(0, 500_000, 5)
    ]


def test_offsets_in_bytes_are_given_for_spans_in_any_order():
    text = "é😀 Bob"
    spans = [Span(3, 6, "A"), Span(0, 2, "A"), Span(1, 2, "A")]
    assert utf8_offsets(text, spans) == [(7, 10), (0, 6), (2, 6)]


@pytest.mark.parametrize("unit", ["🏽", "👩\u200d", "🇩🇪", "한", "\u102b\u200c", "\u0301"], ids=range(6))
def test_what_is_published_of_a_character_without_end_stays_when_it_is_judged_again(unit):
    text = "x" + unit * 2_000
    spans = [Span(start, start + 1, "A") for start in range(1, len(text), 199)]
    found = validate(text, spans).spans
    assert found
    assert validate(text, found).spans == found
