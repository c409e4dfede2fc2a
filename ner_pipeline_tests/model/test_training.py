"""What spaCy loads to train with: the tokenizer's rules, and texts that are drawn and changed."""

import itertools
import json
from collections import Counter

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import DocBin
from thinc.api import NumpyOps
from training import mixed_texts, prepare, set_tokenizer, several_files

TEXTS = {
    "en_a": [
        ("Kim Berg left Oslo , yes", [(0, 8, "PER"), (14, 18, "LOC")]),
        ("nothing happened here", []),
        ("Acme met Foo & Co 's Kim", [(0, 4, "ORG"), (9, 17, "ORG"), (21, 24, "PER")]),
        ("Straße in Rijeka", [(10, 16, "LOC")]),
    ],
    "en_b": [("Bo slept", [(0, 2, "PER")]), ("Rome burnt", [(0, 4, "LOC")])],
    "zh_c": [("张伟在北京。", [(0, 2, "PER"), (3, 5, "LOC")]), ("光明银行说", [(0, 4, "ORG")])],
}
LISTED = {
    "en": {"PER": ["Zoë Quist", "Ng"], "LOC": ["Zwolle"]},
    "zh": {"PER": ["李娜"], "LOC": ["广州"], "ORG": ["工商银行"]},
}
OTHER_WORDS = (
    *("Zürich", "naïve", "O'Neil's", "can't", "3.14", "10,000", "2024", "U.S.", "J.", "C++", "%", ":-)"),
    *("Ленина", "서울에서", "Αθήνα", "a@b.co", "http://x.com/a;b?c=d"),
)
SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def nlp():
    nlp = spacy.blank("xx")
    set_tokenizer(nlp)
    return nlp


@pytest.fixture(scope="module")
def blank():
    return spacy.blank("xx")


@pytest.fixture(scope="module")
def folder(nlp, tmp_path_factory):
    """The texts, a file for each corpus, and beside them the list of other names."""
    folder = tmp_path_factory.mktemp("texts")
    for name, texts in TEXTS.items():
        stored = DocBin(attrs=["ENT_IOB", "ENT_TYPE"])
        for text, entities in texts:
            doc = nlp.make_doc(text)
            doc.ents = [doc.char_span(*entity) for entity in entities]
            stored.add(doc)
        stored.to_disk(folder / f"{name}.spacy")
    (folder / "names.json").write_text(json.dumps(LISTED), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def drawn(nlp, folder):
    """Draw texts: each with its entities as (text, label)."""

    def draw(count, *files, **shares):
        weights = shares.pop("weights", dict.fromkeys(files, 1.0))
        read = mixed_texts(str(folder), weights, names=str(folder / "names.json"), **shares)
        return [_told(example) for example in itertools.islice(read(nlp), count)]

    return draw


def _told(example):
    return example.text, [(ent.text, ent.label_) for ent in example.reference.ents]


def entities(text, spans):
    return [(text[start:end], label) for start, end, label in spans]


def without(text, names):
    """Give what stands around the names."""
    parts = []
    for name, _ in names:
        before, _, text = text.partition(name)
        parts.append(before)
    return [*parts, text]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("张伟在北京大学。", [*"张伟在北京大学。"]),
        ("他说：「来」，（真）！", [*"他说：「来」，（真）！"]),
        ("東京タワーへ", [*"東京タワーへ"]),
        ("𠮷野家", [*"𠮷野家"]),
        ("2024年10月，B2B商业", ["2024", "年", "10", "月", "，", "B2B", "商", "业"]),
    ],
)
def test_chinese_and_japanese_characters_and_marks_are_tokens(nlp, text, tokens):
    assert [token.text for token in nlp(text)] == tokens


@given(st.lists(st.sampled_from(OTHER_WORDS)))
def test_words_and_numbers_of_other_scripts_stay_as_spacy_has_them(nlp, blank, words):
    text = " ".join(words)
    assert [token.text for token in nlp(text)] == [token.text for token in blank(text)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("l'Allemagne qu'Anne d’Oslo", ["l", "'", "Allemagne", "qu", "'", "Anne", "d", "’", "Oslo"]),
        ("Berlin/Bonn(DDR)", ["Berlin", "/", "Bonn", "(", "DDR", ")"]),
        ("Москва«Спартак»", ["Москва", "«", "Спартак", "»"]),
        ("UN- BiH. NATO-a.", ["UN", "-", "BiH", ".", "NATO", "-", "a", "."]),
        ("-Oslo Rio;Lima,Kyiv", ["-", "Oslo", "Rio", ";", "Lima", ",", "Kyiv"]),
    ],
)
def test_what_touches_a_name_without_a_blank_is_no_part_of_it(nlp, text, tokens):
    assert [token.text for token in nlp(text)] == tokens


def test_the_rules_are_stored_with_the_tokenizer(nlp, blank, tmp_path, loaded_plainly):
    nlp.to_disk(tmp_path / "blank")
    texts = ["张伟在北京，ok。", "2024年 Zürich", "l'Allemagne UN- NATO-a. J. O'Neil"]
    told = loaded_plainly(tmp_path / "blank", *texts)
    assert told["tokens"] == [[token.text for token in nlp(text)] for text in texts]
    assert told["tokens"] != [[token.text for token in blank(text)] for text in texts]


def test_preparation_sets_the_tokenizer_and_lets_numpy_multiply():
    nlp = spacy.blank("xx")
    nlp.add_pipe("ner").add_label("PER")
    prepare()(nlp)
    ops = [node.ops for node in nlp.get_pipe("ner").model.walk()]
    assert len(nlp.make_doc("北京")) == 2
    assert not any(one.use_blis for one in ops if isinstance(one, NumpyOps))


@given(seed=SEEDS)
def test_a_seed_gives_one_sequence_without_end(drawn, seed):
    shares = {"seed": seed, "other_names": 0.5, "letter_case": 0.3, "joined": 0.4}
    assert drawn(20, *TEXTS, **shares) == drawn(20, *TEXTS, **shares)


def test_another_seed_gives_another_sequence(drawn):
    assert drawn(20, *TEXTS, seed=1) != drawn(20, *TEXTS, seed=2)


def test_nothing_is_changed_that_is_not_to_be_changed(drawn):
    texts = [(text, entities(text, spans)) for text, spans in TEXTS["en_a"]]
    found = drawn(60, "en_a")
    assert all(one in texts for one in found)
    assert {text for text, _ in found} == {text for text, _ in texts}


def test_a_file_is_drawn_as_often_as_its_weight_says(drawn):
    found = drawn(400, weights={"en_a": 3.0, "en_b": 1.0, "zh_c": 0.0})
    file_of = {text: file for file, texts in TEXTS.items() for text, _ in texts}
    counts = Counter(file_of[text] for text, _ in found)
    assert 250 < counts["en_a"] < 350
    assert counts["en_a"] + counts["en_b"] == 400


@given(seed=SEEDS, file=st.sampled_from(sorted(TEXTS)))
def test_an_exchanged_name_is_of_its_label_and_what_stands_around_it_stays(drawn, seed, file):
    own = [entity for text, spans in TEXTS[file] for entity in entities(text, spans)]
    listed = [(name, label) for label, names in LISTED[file[:2]].items() for name in names]
    around = [without(text, entities(text, spans)) for text, spans in TEXTS[file]]
    for text, names in drawn(12, file, seed=seed, other_names=1.0):
        assert set(names) <= {*own, *listed}
        assert without(text, names) in around


def test_other_names_come_from_the_list_and_from_the_file_itself(drawn):
    names = {name for _, names in drawn(200, "en_a", other_names=1.0) for name in names}
    assert names == {
        *(("Zoë Quist", "PER"), ("Ng", "PER"), ("Kim Berg", "PER"), ("Kim", "PER")),
        *(("Zwolle", "LOC"), ("Oslo", "LOC"), ("Rijeka", "LOC"), ("Acme", "ORG"), ("Foo & Co", "ORG")),
    }


@given(seed=SEEDS, file=st.sampled_from(sorted(TEXTS)))
def test_neighbours_are_joined_with_all_their_entities(drawn, seed, file):
    texts, glues = TEXTS[file], [""] if file == "zh_c" else [" ", "\n"]
    joined = [
        (glue.join(text for text, _ in some), [entity for one in some for entity in entities(*one)])
        for glue in glues
        for first, end in itertools.combinations(range(len(texts) + 1), 2)
        for some in [texts[first:end]]
    ]
    assert all(one in joined for one in drawn(12, file, seed=seed, joined=1.0))


@given(seed=SEEDS)
def test_another_letter_case_is_that_of_the_whole_text_and_of_its_names(drawn, seed):
    texts = [(text, entities(text, spans)) for text, spans in TEXTS["en_a"]]
    cased = [
        (change(text), [(change(name), label) for name, label in names])
        for text, names in texts
        for change in ((str.lower, str.upper) if len(text.upper()) == len(text) else (str.lower, str))
    ]
    assert all(one in cased for one in drawn(12, "en_a", seed=seed, letter_case=1.0))


@given(seed=SEEDS, file=st.sampled_from(sorted(TEXTS)))
def test_all_changes_together_leave_known_names_with_their_labels(drawn, seed, file):
    known = {
        (name.lower(), label)
        for name, label in (
            *(entity for text, spans in TEXTS[file] for entity in entities(text, spans)),
            *((name, label) for label, names in LISTED[file[:2]].items() for name in names),
        )
    }
    found = drawn(12, file, seed=seed, other_names=0.8, letter_case=0.5, joined=0.5)
    assert {(name.lower(), label) for _, names in found for name, label in names} <= known


@pytest.mark.parametrize(("limit", "counts"), [(0, (4, 2)), (1, (1, 1)), (3, (3, 2))])
def test_the_first_texts_of_several_files_are_read_in_order(nlp, folder, limit, counts):
    read = several_files(str(folder), ["en_a", "zh_c"], limit)
    texts = [one for file, count in zip(("en_a", "zh_c"), counts, strict=True) for one in TEXTS[file][:count]]
    wanted = [(text, entities(text, spans)) for text, spans in texts]
    assert [_told(example) for example in read(nlp)] == wanted
    assert [_told(example) for example in read(nlp)] == wanted


def test_what_is_predicted_begins_without_entities(nlp, folder):
    assert not any(example.predicted.ents for example in several_files(str(folder), list(TEXTS))(nlp))
