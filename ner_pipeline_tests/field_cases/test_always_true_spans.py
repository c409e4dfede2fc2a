"""What is true of the published spans of every text, with a model that knows the names planted in it.

Each text is of every plane and kind of character, up to 2 million of them; the way is the whole one from the
text to the published spans.
"""

import random
import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.inference.pool import ExtractionPool
from ner_pipeline.inference.spans import Span
from ner_pipeline.inference.validation import utf8_offsets, utf16_offsets, validate
from ner_pipeline.inference.windows import CutRule
from ner_pipeline_tests.conftest import FULL
from ner_pipeline_tests.published import finder, judge

NAMES = ["Angela Merkel", "Bob", "王小明", "Zoë Müller", "Иван Петров", "नरेन्द्र"]
FIND = finder(*NAMES)
RULES = [
    CutRule(),
    CutRule(own_segments=1),
    CutRule(own_segments=3, overlap_segments=2),
    CutRule(whole_chars=10**7),
]
SIZES = [6_000] * 49 + [2_000_000 if FULL else 6_000]
"""How long a text may be: seldom very long, or a full proof would take hours."""

BREAKS = [" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "\x85", "\0", "\x1b[0m"]
WORDS = [
    "word ",
    "Wort. ",
    "x" * 50,
    "字",
    "他走了。",
    "去了，",
    "「好。」",
    "ไทย",
    "한",
    "שלום",
    "\u202eمرحبا\u202c",
    "𝔘",
]
MANY_POINTS = ["हिन्दी", "\u1112\u1161\u11ab", "e\u0301", "👨\u200d👩\u200d👧", "🇩🇪", "❤\ufe0f"]
MANY_POINTS += [
    "👩🏽\u200d💻",
    "1\ufe0f\u20e3",
    "🏴\U000e0067\U000e0062\U000e007f",
    "น\u0e33",
    "ｶ\uff9e",
    "က\u102b",
]
LOOSE = ["\u0301", "\u0300" * 9, "\u00ad", "\u200b", "\u200d", "\ufeff", "🇫", "🏽", "\u0600", "\u11ab"]
TAGS = set(map(chr, range(0xE0020, 0xE0080)))
"""Format characters that are seen: they tell the flag of England from that of Wales."""
PIECES = st.sampled_from([*BREAKS, *WORDS, *MANY_POINTS, *LOOSE]) | st.characters(exclude_categories=["Cs"])
# What stands beside a name, so that no character of it becomes one with its neighbours.
BESIDE = st.sampled_from([" ", "\n", "。", "\0", "\u3000", "“", "«", ", ", "\u00a0"])
PLANTS = st.tuples(BESIDE, st.sampled_from(NAMES), BESIDE)


@st.composite
def planted(draw):
    """A text and where which name begins in it."""
    fillers = draw(st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=6))
    most_times = draw(st.sampled_from(SIZES)) // (len(fillers) * max(1, *map(len, fillers)))
    text, places = "", []
    for filler in fillers:
        text += filler * draw(st.integers(0, max(1, most_times)))
        before, name, after = draw(PLANTS)
        places.append((len(text) + len(before), name))
        text += before + name + after
    return text, places


def names_in(text, spans):
    return [(span.start, text[span.start : span.end]) for span in spans]


@given(planted(), st.sampled_from(RULES), st.sampled_from([1, 2_000, 48_000]))
def test_every_name_is_published_once_whole_and_where_it_stands(plant, rule, batch_chars):
    text, places = plant
    [result] = judge([text], FIND, rule=rule, batch_chars=batch_chars)
    assert names_in(text, result.spans) == places
    assert not result.quarantined


@given(planted(), st.sampled_from(RULES), st.sampled_from(["NFC", "NFD"]))
def test_composed_and_decomposed_twins_give_the_same_names_at_their_own_places(plant, rule, form):
    text = unicodedata.normalize(form, plant[0])
    [result] = judge(
        [text], finder(*[unicodedata.normalize("NFC", name) for name in NAMES]), rule=rule, normalize=True
    )
    found = [text[span.start : span.end] for span in result.spans]
    assert [unicodedata.normalize("NFC", name) for name in found] == [
        unicodedata.normalize("NFC", name) for _, name in plant[1]
    ]


@given(st.lists(planted(), max_size=4), st.randoms(use_true_random=False))
def test_neighbours_and_their_order_change_nothing(plants, shuffler):
    expected = dict(plants)
    texts = [*expected, "", "\n"]
    shuffler.shuffle(texts)
    for text, result in zip(texts, judge(texts, FIND, batch_chars=3_000), strict=True):
        assert names_in(text, result.spans) == expected.get(text, [])


SPANS = st.tuples(st.integers(-2, 50), st.integers(-2, 50), st.sampled_from("AB"))


@given(
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(SPANS, max_size=12),
    st.randoms(use_true_random=False),
)
def test_whatever_a_model_gives_is_published_the_same_in_any_order_and_when_it_is_judged_again(
    text, spans, shuffler
):
    spans = [Span(*span) for span in spans]
    result = validate(text, spans, ["A", "B"])
    assert len(result.spans) + len(result.quarantined) + result.dropped == len(spans)
    assert validate(text, result.spans, ["A", "B"]).spans == result.spans
    shuffler.shuffle(spans)
    assert validate(text, spans, ["A", "B"]).spans == result.spans
    end = 0
    for span in result.spans:
        assert end <= span.start < span.end <= len(text)
        entity = text[span.start : span.end]
        assert entity == entity.strip()
        assert unicodedata.category(entity[0]) not in {"Cc", "Cf", "Mn", "Mc", "Me"}
        assert unicodedata.category(entity[-1]) not in {"Cc", "Cf"} or entity[-1] in TAGS
        assert not unicodedata.category(text[span.end : span.end + 1] or " ").startswith("M")
        end = span.end


@given(st.lists(PIECES, max_size=12).map("".join), st.lists(SPANS, max_size=12))
def test_no_entity_begins_or_ends_inside_a_character_but_for_what_is_not_seen_of_it(text, spans):
    characters = [match.span() for match in regex.finditer(r"\X", text)]
    for span in validate(text, [Span(*span) for span in spans], ["A", "B"]).spans:
        for start, end in characters:
            assert not start < span.start < end or is_unseen(text[start : span.start])
            assert not start < span.end < end or is_unseen(text[span.end : end])


def is_unseen(text):
    hidden = {"Cc", "Cf", "Mn", "Mc", "Me"}
    return all(character.isspace() or unicodedata.category(character) in hidden for character in text)


@given(st.lists(PIECES, min_size=1, max_size=12).map("".join), st.data())
def test_every_unit_of_offsets_cuts_out_the_same_entity(text, data):
    cuts = st.integers(0, len(text))
    spans = [Span(*sorted(pair), "X") for pair in data.draw(st.lists(st.tuples(cuts, cuts), max_size=5))]
    units, octets = text.encode("utf-16-le"), text.encode()
    for span, utf16, utf8 in zip(spans, utf16_offsets(text, spans), utf8_offsets(text, spans), strict=True):
        entity = text[span.start : span.end]
        assert units[2 * utf16[0] : 2 * utf16[1]].decode("utf-16-le") == entity
        assert octets[utf8[0] : utf8[1]].decode() == entity


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_number_of_workers_changes_nothing(workers, full):
    chance = random.Random(1)
    fillers = ["word ", "他走了。", "x" * 300, "e\u0301\0", "\n\n  ", "🇩🇪"]
    texts = {}
    for number in range(300 if full else 12):
        parts = [
            chance.choice(fillers) * chance.randrange(400) + f" {chance.choice(NAMES)} " for _ in range(6)
        ]
        texts[str(number)] = "".join(parts)
    loader, names = "ner_pipeline_tests.published:load", "|".join(NAMES)
    options = {"loader": loader, "workers": workers, "chars_per_worker": 1, "batch_chars": 9_000}
    with ExtractionPool(names, "cpu", **options) as pool:
        found = {result.id: result.spans for result in pool.extract(texts.items())}
    assert found == {number: sorted(FIND(text)) for number, text in texts.items()}
