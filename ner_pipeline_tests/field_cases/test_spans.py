"""A10, A11, A12, A13, A15, O01, O02, O03: spans as they are published, whatever the text and the model do."""

import itertools
import re

import pytest
import regex

from ner_pipeline.inference.extractor import load_extractor
from ner_pipeline.inference.spans import Span
from ner_pipeline.inference.validation import REASONS, utf8_offsets, utf16_offsets, validate
from ner_pipeline.inference.windows import CutRule, Window, is_blank, merge, plan
from ner_pipeline_tests.inference.conftest import MODEL
from ner_pipeline_tests.published import finder, judge, publish

SMALL = CutRule(own_segments=1)
MERKEL = finder("Angela Merkel")


def kept(text, *spans, labels=None):
    return [tuple(span)[:3] for span in validate(text, [Span(*span) for span in spans], labels).spans]


@pytest.fixture(scope="module")
def extractor():
    return load_extractor(MODEL, "cpu")


@pytest.fixture(scope="module")
def model(extractor):
    """The real model as a function from one window to its spans."""
    return lambda text: extractor.extract([text])[0]


# A10: white space in and as entities


@pytest.mark.parametrize("text", ["Bob lives in London.\n", "Alice\n\nwho visited Wonderland. Alice?"])
def test_a10_the_model_s_entities_have_no_white_space_at_their_edges(model, text):
    found = publish(text, model)
    assert found
    assert [text[start:end] for start, end, _ in found] == [
        text[start:end].strip() for start, end, _ in found
    ]


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("Alice\n\nwho", (0, 7), (0, 5)),
        ("\u00a0Alice\u3000", (0, 7), (1, 6)),
        ("\u200bAlice\ufeff\u2028", (0, 8), (1, 6)),
        ("\0Alice\x1b ", (0, 8), (1, 6)),
        ("Mu\u0308ller", (0, 2), (0, 3)),
        ("Mu\u0308ller", (2, 7), (1, 7)),
        ("Mu\u0308ller", (2, 3), (1, 3)),
        ("Bob \u0301\u0302", (0, 6), (0, 3)),
        ("\u0301Bob", (0, 4), (1, 4)),
        ("I ❤\ufe0f Bob", (2, 3), (2, 4)),
        ("👨\u200d👩", (0, 2), (0, 3)),
        ("👨\u200d👩", (1, 3), (0, 3)),
        ("हिन्दी", (0, 5), (0, 6)),
        ("a\u00adb", (0, 3), (0, 3)),
    ],
    ids=range(14),
)
def test_a10_a_span_begins_and_ends_with_visible_characters_and_their_marks(text, span, expected):
    result = validate(text, [Span(*span, "X")])
    assert result.spans == [Span(*expected, "X")]
    assert (result.trimmed, result.dropped) == (int(span != expected), 0)


CHARACTERS = {
    "flag": "🇫🇷",
    "skin-tone": "👩🏽\u200d💻",
    "family": "👨\u200d👩\u200d👧",
    "keycap": "1\ufe0f\u20e3",
    "england": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "jamo": "\u1112\u1161\u11ab",
    "syllable-and-jamo": "하\u11ab",
    "thai-am": "น\u0e33",
    "half-width-voiced": "ｶ\uff9e",
    "conjunct": "क\u094dषि",
    "burmese-vowel": "က\u102b",
    "mark-behind-joiner": "a\u200d\u0301",
}


@pytest.mark.parametrize("character", CHARACTERS.values(), ids=list(CHARACTERS))
@pytest.mark.parametrize(("before", "after"), [("", ""), ("Bob ", " x"), ("🇩🇪", "🇮🇹"), ("字", "字")])
def test_a10_a_span_that_touches_a_character_holds_the_whole_of_it(character, before, after):
    text = before + character + after
    start, end = len(before), len(before) + len(character)
    for first, last in itertools.combinations(range(start, end + 1), 2):
        assert kept(text, (first, last, "X")) == [(start, end, "X")]


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("Macron 🇫🇷🇩🇪", (0, 8), (0, 9)),
        ("🇫🇷🇩🇪" * 100, (201, 202), (200, 202)),
        ("a\u200d b", (0, 2), (0, 1)),
        ("👩\u200d", (0, 2), (0, 1)),
        ("\u06001 b", (0, 2), (1, 2)),
        ("x 🏽", (1, 3), (2, 3)),
        ("\r\nBob\r\n", (1, 6), (2, 5)),
        ("Z" + "\u0301" * 5_000 + "algo", (2_500, 2_501), (0, 5_001)),
    ],
    ids=[
        "two-flags",
        "many-flags",
        "joiner-behind",
        "joiner-at-the-end",
        "sign-before-a-number",
        "skin-tone-alone",
        "line-ends",
        "many-marks",
    ],
)
def test_a10_whole_characters_are_trimmed_of_what_is_not_seen(text, span, expected):
    assert kept(text, (*span, "X")) == [(*expected, "X")]


def test_a10_the_halves_of_a_flag_are_one_entity():
    assert kept("🇫🇷", (0, 1, "A"), (1, 2, "B")) == [(0, 2, "A")]


@pytest.mark.parametrize(
    "text",
    ["Emmanuel Macron 🇫🇷", "Kim 👩🏽\u200d💻 works", "Microsoft 👨\u200d👩\u200d👧 met Bob"],
    ids=range(3),
)
def test_a10_the_model_s_entities_hold_no_half_pictures(model, text):
    found = publish(text, model)
    assert found
    whole = regex.findall(r"\X", text)
    assert all(set(regex.findall(r"\X", text[start:end])) <= set(whole) for start, end, _ in found)


@pytest.mark.parametrize(
    "nothing",
    ["\n", "\u00a0", "\u3000", " \t\r\n", "\u2028", "\u200b", "\ufeff", "\0", " \u0301", "\u200d\u0301"],
    ids=range(10),
)
def test_a10_a_span_of_nothing_visible_is_dropped(nothing):
    text = f"Bob lives in London.\n{nothing}"
    result = validate(text, [Span(20, 21 + len(nothing), "GPE")])
    assert result.spans == result.quarantined == []
    assert result.dropped == 1


def test_a10_a_span_equal_to_another_after_trimming_is_dropped():
    result = validate("Alice\n\n", [Span(0, 7, "PERSON"), Span(0, 5, "PERSON")])
    assert result.spans == [Span(0, 5, "PERSON")]
    assert (result.trimmed, result.dropped) == (1, 1)


# A11: the border of a window inside an entity


def find_or_halve(text):
    """Finds whole names, and takes a name that its text cuts off for a shorter one, as models do."""
    half = re.search(r"Angela M?e?r?k?e?$", text)
    return MERKEL(text) + ([Span(half.start(), half.end(), "PERSON")] if half else [])


@pytest.mark.parametrize("filler", ["word ", "Wort. ", "字", "x", "\n", "  "], ids=range(6))
def test_a11_a_name_at_any_place_around_a_border_comes_out_once_and_whole(filler):
    border = plan(filler * (20_000 // len(filler)), SMALL).windows[1].own_start
    for place in range(border - 16, border + 3):
        before = (filler * (place // len(filler) + 1))[:place]
        text = f"{before}Angela Merkel {filler * (4_000 // len(filler))}"
        assert publish(text, find_or_halve, rule=SMALL) == [(place, place + 13, "PERSON")], place


@pytest.mark.parametrize("name", ["Anna Maria Smith", "Bob. R. Tolkien"])
def test_a11_a_name_of_many_words_in_a_text_without_spaces_comes_out_whole(name):
    border = plan("字" * 3_000, SMALL).windows[1].own_start
    for place in range(border - len(name), border + 1):
        text = "字" * place + name + "字" * 2_000
        assert publish(text, finder(name), rule=SMALL) == [(place, place + len(name), "PERSON")], place


@pytest.mark.parametrize("inside", range(-1, 15))
def test_a11_a_cut_at_any_character_of_a_name_neither_halves_nor_repeats_it(inside):
    text = "x" * 40 + " Angela Merkel " + "y" * 40
    border = 41 + inside
    windows = (Window(0, border + 20, 0, border), Window(border - 20, len(text), border, len(text)))
    found = [find_or_halve(text[window.start : window.end]) for window in windows]
    assert merge(windows, found).spans == [Span(41, 54, "PERSON")]


def test_a11_no_window_begins_in_the_middle_of_a_word():
    text = "test string " * 1_000
    for window in plan(text, SMALL).windows:
        assert re.match(r"test|string", text[window.start :])
        assert re.match(r"test|string", text[window.own_start :])


# A12: offsets are added, never searched for


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("Paris\n\nParis\n\n   Paris", ["Paris"], [(0, 5), (7, 12), (17, 22)]),
        (" " * 10 + "Microsoft and Apple", ["Microsoft", "Apple"], [(10, 19), (24, 29)]),
    ],
    ids=["repeated", "indented"],
)
def test_a12_each_repetition_has_its_own_offsets(text, names, expected):
    assert [span[:2] for span in publish(text, finder(*names))] == expected


def test_a12_repetitions_in_a_text_of_many_windows_have_their_own_offsets():
    text = "Paris\n\nParis  \n\n   Paris\t" * 1_000
    expected = [match.span() for match in re.finditer("Paris", text)]
    assert [span[:2] for span in publish(text, finder("Paris"), rule=SMALL)] == expected


# A13: long texts


@pytest.mark.parametrize("length", [999_999, 1_000_000, 1_000_001, 5_000_000])
def test_a13_a_name_at_the_spot_where_others_stop_is_found(length):
    start = length - 18
    text = ("word " * (length // 5 + 1))[:start] + "Angela Merkel word"
    asked = []
    found = publish(text, lambda window: asked.append(len(window)) or find_or_halve(window))
    assert found == [(start, start + 13, "PERSON")]
    assert max(asked) < 30_000


def test_a13_a_name_across_the_millionth_character_is_found():
    text = ("word " * 200_000)[:999_994] + " Angela Merkel" + " word" * 1_000
    assert publish(text, find_or_halve) == [(999_995, 1_000_008, "PERSON")]


def test_a13_a_million_characters_without_a_break_reach_the_model_in_small_parts(model):
    asked = []
    text = "é" * 1_000_001
    assert publish(text, lambda window: asked.append(window) or []) == []
    assert max(map(len, asked)) <= 20_000
    assert publish("é" * 10_001 + " Angela Merkel", model)[-1][:2] == (10_002, 10_015)


# A15: blank texts


def test_a15_blank_neighbours_change_nothing_in_any_order(extractor):
    blanks = [" ", "\n\n", "\u3000", "\ufeff"]
    alone = {text: extractor.extract([text])[0] for text in ["Hello Bob.", "Paris?", "", *blanks]}
    assert alone["Hello Bob."]
    for order in itertools.permutations(["Hello Bob.", "Paris?", ""]):
        for batch in ([*order], [*order, *blanks], [*blanks, *order]):
            assert extractor.extract(batch) == [alone[text] for text in batch]


@pytest.mark.parametrize("order", list(itertools.permutations(["Hello Bob.", "Bob?", ""])), ids=range(6))
def test_a15_every_text_of_a_batch_gets_its_own_spans(order):
    judged = judge(order, finder("Bob"))
    expected = {"Hello Bob.": [Span(6, 9, "PERSON")], "Bob?": [Span(0, 3, "PERSON")], "": []}
    assert [result.spans for result in judged] == [expected[text] for text in order]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u3000", "\0", " \x1b\0"], ids=range(6))
def test_a15_a_blank_text_is_done_without_a_model(text):
    def never(window):
        raise AssertionError(window)

    assert publish(text, never) == []


def test_a15_a_mark_of_byte_order_alone_gives_nothing(model):
    assert publish("\ufeff", model) == publish("\ufeff", lambda text: [Span(0, 1, "X")]) == []
    assert not is_blank("\ufeff")


# O01: units of offsets


@pytest.mark.parametrize(
    ("text", "span", "utf16", "utf8"),
    [
        ("😀 Barack Obama visited Paris", (2, 14), (3, 15), (5, 17)),
        ("👨‍👩‍👧 Bob", (6, 9), (9, 12), (19, 22)),
        ("é Bob", (2, 5), (2, 5), (3, 6)),
        ("Bob 😀", (0, 5), (0, 6), (0, 8)),
        ("Barack Obama", (0, 6), (0, 6), (0, 6)),
    ],
    ids=["emoji", "family", "accent", "at-the-end", "ascii"],
)
def test_o01_each_unit_is_counted_as_its_users_count(text, span, utf16, utf8):
    assert utf16_offsets(text, [Span(*span, "X")]) == [utf16]
    assert utf8_offsets(text, [Span(*span, "X")]) == [utf8]
    assert text.encode()[utf8[0] : utf8[1]].decode() == text[span[0] : span[1]]


# O02: overlaps


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
    ids=["within", "labels", "longer", "leftmost", "twice", "touching"],
)
def test_o02_overlaps_are_settled_longest_then_leftmost_then_by_label(spans, expected):
    text = "Queen-Elizabeth-II-Marks-Birthday"
    for order in itertools.permutations(spans):
        assert kept(text, *order) == expected
    assert validate(text, [Span(*span) for span in spans]).dropped == len(spans) - len(expected)


def test_o02_of_two_equal_spans_the_one_with_a_kb_id_stays():
    both = [Span(0, 5, "GPE"), Span(0, 5, "GPE", "Q90")]
    assert validate("Paris", both).spans == validate("Paris", both[::-1]).spans == both[1:]


def test_o02_spans_that_meet_only_once_their_marks_are_whole_are_settled_too():
    assert kept("Mu\u0308ller", (0, 2, "A"), (2, 7, "B")) == [(1, 7, "B")]


# O03: broken spans


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
    ids=[
        "beyond",
        "before",
        "empty",
        "reversed",
        "bool",
        "float",
        "text",
        "none",
        "label",
        "no-label",
        "number",
    ],
)
def test_o03_a_broken_span_goes_to_quarantine_with_its_reason_and_good_ones_stay(span, reason):
    good = Span(11, 16, "GPE")
    result = validate("Hello from India", [Span(*span), good], ["GPE"])
    assert result.spans == [good]
    assert result.quarantined == [(Span(*span), reason)]
    assert reason in REASONS


@pytest.mark.parametrize(
    ("text", "normalize"),
    [("Hello from India", False), ("He\u200bllo from India\u200b", True)],
    ids=["as-is", "mapped"],
)
@pytest.mark.parametrize("span", [(11, 99), (-1, 3), (5, 5), (7, 3), (15, 17)], ids=str)
def test_o03_what_a_model_breaks_is_not_mended_on_the_way_to_validation(text, normalize, span):
    [result] = judge([text], lambda window: [Span(*span, "X")], normalize=normalize)
    assert not result.spans
    assert len(result.quarantined) == 1
