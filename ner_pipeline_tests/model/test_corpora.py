"""Reading the corpora: the layout of each, labels, offsets, pieces and shares."""

import itertools
import os
from fnmatch import fnmatch
from pathlib import Path

import pytest
from corpora import CORPORA, SPLITS, Part, read_part
from hypothesis import given
from hypothesis import strategies as st

OURS = {"PER", "LOC", "ORG"}
PARTS = [
    (corpus.name, split, part) for corpus in CORPORA for split in SPLITS for part in getattr(corpus, split)
]


def read(folder, name, content, part=(0.0, 1.0)):
    """Write a file, and give its texts, each with the text and the label of its entities."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return [
        (gold.text, [(gold.text[span.start : span.end], span.label) for span in gold.spans])
        for gold in read_part(folder, Part(name, *part))
    ]


def test_a_file_of_universal_ner_keeps_its_text_and_our_three_labels(tmp_path):
    content = (
        "# sent_id = a-1\n# text = From Oslo,  the Acme-like Norse\n"
        "1\tFrom\tB-O\t-\ta\n2\tOslo\tB-LOC\t-\ta\n3\t,\tO\n4\tthe\tO\n5\tAcme\tB-ORG\t-\ta\n"
        "6\t-\tO\n7\tlike\tO\n8\tNorse\tB-OTH\t-\ta\n"
    )
    assert read(tmp_path, "UNER_English-EWT/made.iob2", content) == [
        ("From Oslo,  the Acme-like Norse", [("Oslo", "LOC"), ("Acme", "ORG")])
    ]


@pytest.mark.parametrize(
    ("name", "content", "entities"),
    [
        ("turku_ner/a.tsv", "-DOCSTART-\tO\n\nOslo\tB-LOC\n1920\tB-DATE\nVolvo\tB-PRO\n", [("Oslo", "LOC")]),
        ("wikigold/a.txt", "The I-ORG\nAcme I-ORG\nNorse I-MISC\n", [("The Acme", "ORG")]),
        ("sec_filings/a.txt", "-DOCSTART- -X- O O\n\nKim NNP - I-PER\nof IN - O\n", [("Kim", "PER")]),
        (
            "lener_br/a.conll",
            "STF B-ORGANIZACAO\nBerg B-PESSOA\nRio B-LOCAL\nLei B-LEGISLACAO\n",
            [("STF", "ORG"), ("Berg", "PER"), ("Rio", "LOC")],
        ),
    ],
)
def test_labels_of_others_become_ours_or_none(tmp_path, name, content, entities):
    assert [found for _, found in read(tmp_path, name, content)] == [entities]


def test_a_handle_in_two_tokens_becomes_one_entity_and_what_follows_stays_in_place(tmp_path):
    content = (
        "RT\tO\n@\tB-PER\nkim\tB-PER\nin\tO\nOslo\tB-LOC\n"
        "to\tO\n@\tO\nnews\tO\nby\tO\nAcme\tB-ORG\nCo\tI-ORG\n"
    )
    assert read(tmp_path, "btc/made.conll", content) == [
        ("RT @kim in Oslo to @news by Acme Co", [("@kim", "PER"), ("Oslo", "LOC"), ("Acme Co", "ORG")])
    ]


def test_two_handles_side_by_side_stay_two_entities(tmp_path):
    content = "@\tB-PER\nkim\tB-PER\n@\tB-ORG\nacme\tB-ORG\n"
    assert read(tmp_path, "btc/made.conll", content) == [("@kim @acme", [("@kim", "PER"), ("@acme", "ORG")])]


def test_lines_of_old_newspapers_without_a_tag_are_outside_of_entities(tmp_path):
    content = "# file:\ta\nHerr O\nKim B-PEr\nDonau\n.'??? O\n??? ???\nin word\nWien I-LOC\n"
    assert read(tmp_path, "europeana_newspapers/enp_DE.x.bio/made.bio", content) == [
        ("Herr Kim Donau .'??? ??? in Wien", [("Kim", "PER"), ("Wien", "LOC")])
    ]


def fact_ru_eval(folder, text, spans, objects):
    """Read a text whose spans are given as (kind, words) and its objects as (kind, number of each span)."""
    rows = [f"{n} {kind} {text.index(w)} {len(w)} 7 1  # 7 {w}" for n, (kind, w) in enumerate(spans)]
    (folder / "devset").mkdir()
    (folder / "devset" / "a.spans").write_text("\n".join(rows), encoding="utf-8")
    rows = [f"{n} {kind} {' '.join(map(str, own))} # x" for n, (kind, *own) in enumerate(objects)]
    (folder / "devset" / "a.objects").write_text("\n".join(rows), encoding="utf-8")
    return read(folder, "devset/a.txt", text)


def test_objects_of_fact_ru_eval_are_the_names_in_them(tmp_path):
    spans = [("org_descr", "банк"), ("org_name", "Заря"), ("name", "Олега"), ("surname", "Бергова")]
    spans += [("loc_descr", "города"), ("loc_name", "Осло"), ("loc_name", "России"), ("job", "главой")]
    objects = [("Org", 0, 1), ("Person", 2, 3), ("Location", 4, 5), ("LocOrg", 6), ("Person", 7)]
    text = "Вчера банк Заря и Олега Бергова\n\nиз города Осло в России с главой\n"
    assert fact_ru_eval(tmp_path, text, spans, objects) == [
        ("Вчера банк Заря и Олега Бергова", [("Заря", "ORG"), ("Олега Бергова", "PER")]),
        ("из города Осло в России с главой", [("Осло", "LOC"), ("России", "LOC")]),
    ]


def test_of_nested_objects_the_outer_one_is_kept(tmp_path):
    spans = [("org_name", "МГУ имени Ломова"), ("surname", "Ломова"), ("loc_name", "Осло")]
    objects = [("Person", 1), ("Org", 0), ("Location", 2)]
    assert fact_ru_eval(tmp_path, "Сам МГУ имени Ломова в Осло", spans, objects) == [
        ("Сам МГУ имени Ломова в Осло", [("МГУ имени Ломова", "ORG"), ("Осло", "LOC")])
    ]


def test_of_overlapping_objects_the_first_one_is_kept(tmp_path):
    spans = [("org_name", "Банк Осло"), ("loc_name", "Осло Север"), ("loc_name", "Рига")]
    objects = [("Org", 0), ("Location", 1), ("Location", 2)]
    assert fact_ru_eval(tmp_path, "Банк Осло Север и Рига", spans, objects) == [
        ("Банк Осло Север и Рига", [("Банк Осло", "ORG"), ("Рига", "LOC")])
    ]


def test_a_sign_in_front_of_a_place_of_several_words_means_at(tmp_path):
    content = "I\tO\n@\tO\nPort\tB-LOC\nTalbot\tI-LOC\n\n@\tO\n@\tO\nkim\tB-PER\n"
    assert read(tmp_path, "btc/made.conll", content) == [
        ("I @ Port Talbot", [("Port Talbot", "LOC")]),
        ("@ @kim", [("@kim", "PER")]),
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(["O", "PER", "LOC", "ORG"]), st.integers(1, 30)), min_size=1, max_size=60
    )
)
def test_long_texts_are_cut_and_no_entity_is_cut_or_lost(tmp_path_factory, runs):
    tags = [
        (f"w{number}", f"B-{kind}" if kind != "O" and not inside else f"I-{kind}" if kind != "O" else "O")
        for number, (kind, length) in enumerate(runs)
        for inside in range(length)
    ]
    content = "".join(f"{token} {tag}\n" for token, tag in tags)
    found = read(tmp_path_factory.getbasetemp(), "pieces/a.txt", content)
    wanted = [
        (" ".join([f"w{number}"] * length), kind) for number, (kind, length) in enumerate(runs) if kind != "O"
    ]
    assert " ".join(text for text, _ in found) == " ".join(token for token, _ in tags)
    assert [entity for _, entities in found for entity in entities] == wanted
    longest = max(len(entity) for entity, _ in [*wanted, ("", "")])
    assert all(len(text) <= 350 + longest + len("w99 ") for text, _ in found)


@given(st.integers(0, 25), st.floats(0, 1), st.floats(0, 1))
def test_shares_of_a_file_lose_no_text_and_do_not_overlap(tmp_path_factory, count, one, other):
    folder, name = tmp_path_factory.getbasetemp(), "shares/a.txt"
    first, second = sorted((one, other))
    content = "".join(f"w{number} I-LOC\n\n" for number in range(count))
    parts = ((0.0, first), (first, second), (second, 1.0))
    assert [text for part in parts for text in read(folder, name, content, part)] == read(
        folder, name, content
    )


def test_no_share_of_a_file_is_in_two_splits():
    for (name, split, part), (other_name, other_split, other) in itertools.combinations(PARTS, 2):
        same = fnmatch(part.files, other.files) or fnmatch(other.files, part.files)
        if same and (name, split) != (other_name, other_split):
            assert part.last <= other.first or other.last <= part.first, (
                name,
                split,
                other_name,
                other_split,
            )


def test_no_test_file_is_read_for_training():
    train = [part.files for _, split, part in PARTS if split == "train"]
    assert not [files for files in train if "test" in Path(files).name or "/test/" in files]


def test_every_corpus_trains_and_is_tested_and_its_name_begins_with_a_language():
    assert all(corpus.train and corpus.test for corpus in CORPORA)
    assert all(corpus.name.partition("_")[0] in {"nob", "nno"} or corpus.name[2] == "_" for corpus in CORPORA)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds no btc/a\.conll"):
        read_part(tmp_path, Part("btc/a.conll"))


@pytest.mark.proof
@pytest.mark.skipif(not os.environ.get("NER_CORPORA"), reason="NER_CORPORA names no folder with the corpora")
@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_every_real_corpus_trains_each_of_the_labels(corpus):
    folder = Path(os.environ["NER_CORPORA"])
    labels = {span.label for part in corpus.train for gold in read_part(folder, part) for span in gold.spans}
    assert labels == OURS
