"""The counting, beside a count by hand and beside spaCy's own scorer."""

import hypothesis.strategies as st
import pytest
from hypothesis import given
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ner_pipeline.errors import NerPipelineError
from ner_pipeline.evaluation.labels import LabelChoice
from ner_pipeline.evaluation.scores import Scores, Tally
from ner_pipeline.inference.spans import Span

WORDS = 12
VOCAB = Vocab()


@st.composite
def marked(draw):
    """Entities of a text of one-letter words, none overlapping another: as token indices."""
    edges = sorted(draw(st.sets(st.integers(0, WORDS), max_size=8)))
    pairs = list(zip(edges[::2], edges[1::2], strict=False))
    return [(start, end, draw(st.sampled_from(["PER", "LOC"]))) for start, end in pairs]


def spans(entities):
    return [Span(2 * start, 2 * end - 1, label) for start, end, label in entities]


def scored(pairs):
    scores = Scores()
    for gold, found in pairs:
        scores.add(spans(gold), spans(found))
    return scores


def doc_of(entities):
    doc = Doc(VOCAB, words=["w"] * WORDS)
    doc.set_ents([doc.char_span(span.start, span.end, span.label) for span in spans(entities)])
    return doc


@given(st.lists(st.tuples(marked(), marked()), min_size=1, max_size=4))
def test_scores_are_those_of_spacy(pairs):
    scores = scored(pairs)
    theirs = get_ner_prf([Example(doc_of(found), doc_of(gold)) for gold, found in pairs])
    total = scores.total
    assert (total.precision, total.recall, total.f1) == pytest.approx(
        tuple(theirs[f"ents_{name}"] or 0.0 for name in "prf")
    )
    for label, tally in scores.by_label.items():
        expected = theirs["ents_per_type"][label]
        assert (tally.precision, tally.recall, tally.f1) == pytest.approx(
            tuple(expected[name] for name in "prf")
        )


@given(st.lists(st.tuples(marked(), marked()), max_size=4))
def test_counts_are_those_of_a_count_one_by_one(pairs):
    correct = wrong_label = overlapping = 0
    for gold, found in pairs:
        for start, end, label in found:
            correct += (start, end, label) in gold
            place = [other for other in gold if other[:2] == (start, end)]
            wrong_label += any(other[2] != label for other in place)
            overlapping += not place and any(other[0] < end and start < other[1] for other in gold)
    scores = scored(pairs)
    assert scores.total == (sum(len(g) for g, _ in pairs), sum(len(f) for _, f in pairs), correct)
    assert (scores.wrong_label, scores.overlapping) == (wrong_label, overlapping)


@given(st.lists(st.tuples(marked(), marked()), max_size=6), st.integers(0, 6))
def test_the_sum_of_two_counts_is_the_count_of_both(pairs, cut):
    assert scored(pairs[:cut]) + scored(pairs[cut:]) == scored(pairs)


def test_precision_is_zero_where_nothing_was_found_and_recall_where_nothing_is_marked():
    assert (Tally(3, 0, 0).precision, Tally(0, 3, 0).recall, Tally(0, 0, 0).f1) == (0.0, 0.0, 0.0)


def test_an_entity_that_was_found_twice_is_right_once():
    scores = scored([([(0, 1, "PER")], [(0, 1, "PER"), (0, 1, "PER")])])
    assert (scores.total, scores.wrong_label) == ((1, 2, 1), 1)


def test_entities_that_touch_do_not_overlap():
    assert scored([([(0, 2, "PER")], [(2, 3, "PER")])]).overlapping == 0


def test_an_entity_within_a_long_one_overlaps_it_though_a_shorter_one_begins_later():
    gold, found = [Span(0, 50, "ORG"), Span(5, 8, "LOC")], [Span(30, 33, "LOC")]
    scores = Scores()
    scores.add(gold, found)
    assert scores.overlapping == 1


def test_labels_are_renamed_first_and_chosen_then():
    choice = LabelChoice.parse("PER, LOC", ["GPE=LOC"])
    assert choice.apply([Span(0, 1, "GPE"), Span(2, 3, "PER"), Span(4, 5, "DATE")]) == [
        Span(0, 1, "LOC"),
        Span(2, 3, "PER"),
    ]
    assert choice.left_out({"GPE", "PER", "DATE"}) == ["DATE"]


def test_without_a_choice_all_labels_count():
    choice = LabelChoice.parse("", [])
    assert choice.apply([Span(0, 1, "DATE")]) == [Span(0, 1, "DATE")]
    assert choice.left_out({"DATE"}) == []


@pytest.mark.parametrize(("labels", "renamings"), [("PERS", []), ("GPE", ["GPE=LOC"]), ("", ["PERS=PER"])])
def test_a_label_that_nobody_knows_is_refused(labels, renamings):
    with pytest.raises(NerPipelineError, match=r"has a label (PERS|GPE); they have"):
        LabelChoice.parse(labels, renamings).left_out({"PER", "GPE"})


@pytest.mark.parametrize("renaming", ["GPE", "GPE=", "=LOC"])
def test_a_renaming_needs_two_labels(renaming):
    with pytest.raises(NerPipelineError, match="--map"):
        LabelChoice.parse("", [renaming])
