"""Tokens in their text: nothing is searched for, so nothing is found at the wrong place."""

import hypothesis.strategies as st
from hypothesis import given

from ner_pipeline.evaluation.alignment import align, join


def test_tokens_are_found_one_behind_the_other():
    assert align("Kim's car.", ["Kim", "'s", "car", "."]) == [(0, 3), (3, 5), (6, 9), (9, 10)]


def test_a_word_that_comes_twice_is_not_taken_for_the_first():
    assert align("a b a", ["a", "b", "a"]) == [(0, 1), (2, 3), (4, 5)]


def test_any_white_space_may_stand_between_tokens_and_around_them():
    assert align(" a\u00a0\u3000b\n", ["a", "b"]) == [(1, 2), (4, 5)]


def test_white_space_in_a_token_may_be_another_in_the_text():
    assert align("10\u00a0000 Euro", ["10 000", "Euro"]) == [(0, 6), (7, 11)]


def test_chinese_tokens_stand_side_by_side():
    assert align("他在北京。", ["他", "在", "北京", "。"]) == [(0, 1), (1, 2), (2, 4), (4, 5)]


def test_a_text_of_other_words_has_no_places():
    assert align("do you", ["don't", "you"]) is None


def test_a_text_with_more_than_the_tokens_has_no_places():
    assert align("Kim came too", ["Kim", "came"]) is None
    assert align("Kim came too", ["came", "too"]) is None


def test_tokens_without_a_text_get_one_with_spaces():
    assert join(["Kim", "'s", "car"]) == ("Kim 's car", [(0, 3), (4, 6), (7, 10)])


def test_chinese_and_japanese_tokens_get_no_space_and_others_beside_them_do():
    text, places = join(["他", "在", "Berlin", "，", "東京", "。", "カメラ"])
    assert text == "他在 Berlin ，東京。カメラ"
    assert [text[start:end] for start, end in places] == ["他", "在", "Berlin", "，", "東京", "。", "カメラ"]


TOKENS = st.lists(st.text("ab.京都 \u00a0", min_size=1, max_size=4).map(str.strip).filter(bool), max_size=8)


@given(TOKENS)
def test_a_made_text_holds_its_tokens_at_the_places_that_are_given(tokens):
    text, places = join(tokens)
    assert [text[start:end] for start, end in places] == tokens
    assert align(text, tokens) == places
