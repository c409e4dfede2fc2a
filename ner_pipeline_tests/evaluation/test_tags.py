"""Tags to entities: every usual scheme says the same in its own words."""

import pytest

from ner_pipeline.evaluation.tags import is_tag, token_spans

SAME_IN_EVERY_SCHEME = {
    "IOB1": "I-PER I-PER O I-LOC B-LOC I-ORG",
    "IOB2": "B-PER I-PER O B-LOC B-LOC B-ORG",
    "BIOES": "B-PER E-PER O S-LOC S-LOC S-ORG",
    "BILOU": "B-PER L-PER O U-LOC U-LOC U-ORG",
}


@pytest.mark.parametrize("tags", SAME_IN_EVERY_SCHEME.values(), ids=SAME_IN_EVERY_SCHEME)
def test_every_scheme_marks_the_same_entities(tags):
    expected = [(0, 2, "PER"), (3, 4, "LOC"), (4, 5, "LOC"), (5, 6, "ORG")]
    assert token_spans(tags.split()) == expected


def test_an_i_after_another_label_or_after_none_begins_an_entity():
    assert token_spans(["O", "I-PER", "I-LOC", "I-LOC"]) == [(1, 2, "PER"), (2, 4, "LOC")]


def test_what_follows_the_last_token_of_an_entity_begins_another():
    assert token_spans(["B-PER", "E-PER", "I-PER", "L-PER", "E-PER"]) == [
        (0, 2, "PER"),
        (2, 4, "PER"),
        (4, 5, "PER"),
    ]


def test_an_o_after_a_prefix_and_a_hyphen_alone_are_no_entity():
    assert token_spans(["B-O", "I-O", "-", "O"]) == []


def test_an_entity_may_end_with_the_sentence():
    assert token_spans(["O", "B-PER"]) == [(1, 2, "PER")]


def test_a_label_may_hold_a_hyphen():
    assert token_spans(["B-work-of-art", "I-work-of-art"]) == [(0, 2, "work-of-art")]


@pytest.mark.parametrize("word", ["O", "-", "B-PER", "I-per", "U-X-Y"])
def test_a_tag_is_known(word):
    assert is_tag(word)


@pytest.mark.parametrize("word", ["", "PER", "B-", "b-PER", "I_ORG", "X-PER", "OO", "B-A B"])
def test_what_is_no_tag_is_known_too(word):
    assert not is_tag(word)
