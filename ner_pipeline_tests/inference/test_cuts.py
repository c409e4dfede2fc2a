"""Where a text is cut: at marks of every script, and never inside a character."""

from itertools import accumulate

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from ner_pipeline.inference.cuts import Cut, cut_near
from ner_pipeline.inference.windows import SEGMENT_CHARS, CutRule, plan


def cut(text, target=None):
    return cut_near(text, 0, target or len(text) * 3 // 4, len(text))


@pytest.mark.parametrize(
    "sentence",
    [
        "他昨天去了北京见张伟。",
        "彼は昨日東京へ行きました！",
        "រាជធានីភ្នំពេញ។",
        "ရန်ကုန်မြို့သည်။",
        "བོད་ལྗོངས།",
        "अंगेलाबर्लिनगई।",
        "አዲስአበባ።",
        "Հայաստանիմայրաքաղաքը։",
        "ذهبتإلىبرلين؟",
        "他说：「去了北京。」",
        "他问：“真的吗？！”",
        "（他走了。）",
        "等等……",
    ],
    ids=range(13),
)
def test_a_text_without_spaces_is_cut_behind_its_sentences(sentence):
    text = sentence * 8
    position, safe = cut(text)
    assert position % len(sentence) == 0
    assert 0 < position <= len(text) * 3 // 4
    assert not safe


def test_an_opening_quote_stays_with_what_it_opens():
    assert cut("他说。“好的没有问题")[0] == 3


@pytest.mark.parametrize("mark", "、，；：")
def test_a_sentence_without_end_is_cut_behind_a_lesser_mark(mark):
    assert cut("北京上海" + mark + "广州深圳广州", 7) == Cut(5, safe=False)


def test_a_mark_further_on_or_further_back_is_better_than_none():
    assert cut("北京上海广州深圳。北京上海广州深圳", 6) == Cut(9, safe=False)
    assert cut("北京。" + "上" * 20, 10) == Cut(3, safe=False)


def test_white_space_is_where_a_cut_is_safe():
    assert cut("He went away. Then she went", 20) == Cut(14, safe=True)
    assert cut("„Er ging.“ Sie blieb da", 14) == Cut(11, safe=True)


def test_an_accent_is_never_cut_off_from_white_space_or_a_mark():
    assert cut("北京上海 \u0301广州深圳")[0] not in {4, 5}
    assert cut("北京上海。\ufe0f广州深圳", 7) == Cut(7, safe=False)


CHARACTERS = [
    "e\u0301",
    "👨\u200d👩\u200d👧",
    "🇩🇪",
    "\r\n",
    "\u1112\u1161\u11ab",
    "한",
    "क्षि",
    "❤\ufe0f",
    "a\u200db",
]
CHARACTERS += ["字", "x", "。", "，", "”", " ", "\u0301", "\u200d", "\u0600", "1\ufe0f\u20e3"]


@pytest.mark.parametrize("character", CHARACTERS, ids=range(len(CHARACTERS)))
def test_a_cut_falls_between_characters_of_any_kind(character):
    assert_cut_between_characters(character * (6_000 // len(character)))


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(CHARACTERS) | st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
)
def test_no_window_begins_or_ends_inside_a_character(parts):
    text = "".join(parts)
    assert_cut_between_characters(text * (4_000 // len(text) + 1))


def assert_cut_between_characters(text):
    lengths = [len(character) for character in regex.findall(r"\X", text)]
    borders = set(accumulate(lengths, initial=0))
    windows = plan(text, CutRule(own_segments=1)).windows
    assert windows[-1].end == len(text)
    if max(lengths) <= SEGMENT_CHARS // 2:
        assert {edge for window in windows for edge in window} <= borders
