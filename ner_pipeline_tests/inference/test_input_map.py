"""What a model is shown, and the way back."""

import unicodedata
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.inference.input_map import map_input
from ner_pipeline.inference.spans import Span

COMPOSABLE = ["e\u0301", "é", "\u1112\u1161\u11ab", "한", "\u212b", "\u0958", "\u0344"]
LEFT_OUT = ["\u00ad", "\u200b", "\u200d", "\ufeff", "\u202e", "\U000e0067"]
OTHERS = ["a", "ａ", "\u3000", "“", "\0", "\x1b", "\x85", "\r\n", "👨\u200d👩\u200d👧"]
PIECES = st.sampled_from([*COMPOSABLE, *LEFT_OUT, *OTHERS])
TEXTS = st.lists(PIECES | st.characters(exclude_categories=["Cs"]), max_size=40).map("".join)


def shown(text, normalize=True):
    return map_input(text, normalize=normalize).text


def source_of(mapped, start, end):
    return mapped.source(Span(start, end, "X"))[:2]


def test_control_characters_are_masked_one_for_one_and_white_space_stays():
    everything = "".join(map(chr, range(256)))
    masked = shown(everything, normalize=False)
    assert len(masked) == 256
    changed = {text for text, mask in zip(everything, masked, strict=True) if text != mask}
    assert changed == {c for c in everything if unicodedata.category(c) == "Cc" and not c.isspace()}
    assert {mask for text, mask in zip(everything, masked, strict=True) if text in changed} == {" "}


@given(TEXTS)
def test_without_normalisation_nothing_moves(text):
    mapped = map_input(text)
    assert len(mapped.text) == len(text)
    assert mapped.source(Span(3, 1, "X", "Q1")) == Span(3, 1, "X", "Q1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mu\u0308ller", "Müller"),
        ("ＡＢＣ\u3000１２！", "ABC 12!"),
        ("“Bob” ‘s’ «so» „ja“", '"Bob" \'s\' "so" "ja"'),
        ("Mer\u00adkel\u200b \u202bBob\u202c\ufeff", "Merkel Bob"),
        ("می\u200cخواهم", "میخواهم"),
        (
            "👨\u200d👩\u200d👧 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥",
            "👨\u200d👩\u200d👧 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥",
        ),
        ("a\u200d👧\u200d", "a👧"),
        ("Bob\r\n\tAnn\x85", "Bob\r\n\tAnn\x85"),
        ("\u1112\u1161\u11ab", "한"),
    ],
    ids=["composed", "narrow", "quotes", "format", "persian", "emoji", "stray-joiners", "lines", "hangul"],
)
def test_normalised_is_composed_narrow_and_plain(text, expected):
    assert shown(text) == expected


@given(TEXTS)
def test_decomposed_and_composed_twins_are_shown_alike(text):
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert shown(composed) == shown(decomposed) == shown(text)


@given(TEXTS)
def test_every_span_maps_back_to_just_the_source_of_what_it_covers(text):
    mapped = map_input(text, normalize=True)
    length = len(mapped.text)
    sources = [source_of(mapped, index, index + 1) for index in range(length)]
    for start, end in sources:
        assert 0 <= start < end <= len(text)
    for before, after in pairwise(sources):
        assert before == after or before[1] <= after[0]
    for start in range(length):
        for end in range(start + 1, length + 1):
            assert source_of(mapped, start, end) == (sources[start][0], sources[end - 1][1])


@given(TEXTS)
def test_what_was_left_out_stood_between_the_sources(text):
    mapped = map_input(text, normalize=True)
    covered = {index for at in range(len(mapped.text)) for index in range(*source_of(mapped, at, at + 1))}
    left_out = (text[index] for index in range(len(text)) if index not in covered)
    assert all(regex.match(r"\p{Cf}", character) for character in left_out)


@given(TEXTS, st.integers(-50, 300), st.integers(-50, 300))
def test_a_broken_span_stays_broken(text, start, end):
    mapped = map_input(text, normalize=True)
    found_start, found_end = source_of(mapped, start, end)
    assert (start < 0) == (found_start < 0)
    assert (max(start, end) > len(mapped.text)) == (max(found_start, found_end) > len(text))
    assert (start >= end) == (found_start >= found_end)


def test_a_text_that_needs_nothing_is_shown_as_it_is():
    for text in ("Angela Merkel", "Müller in 北京"):
        assert map_input(text, normalize=True).text == text
        assert map_input(text, normalize=True).steps == ()


def test_edits_far_into_a_long_text_are_found_again():
    text = "e\u0301 Mu\u0308ller\u200b “Bob” " * 30_000
    mapped = map_input(text, normalize=True)
    for at in (0, len(mapped.text) // 2, len(mapped.text) - 30):
        start = mapped.text.index("Müller", at)
        begin, end = source_of(mapped, start, start + 6)
        assert text[begin:end] == "Mu\u0308ller"
