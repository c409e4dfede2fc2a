"""The few lines that stand for all outcomes of a set."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.storage.outcome_summary import WORST_DOCUMENTS, OutcomeTally
from ner_pipeline.storage.tables import OUTCOMES

KINDS = ("ok", "empty", "rejected", "failed", "skipped")


def row(outcome, reason="", *, warnings=(), key="in/a.jsonl", **more):
    place = {"source_key": key, "member": None, "record": None, "byte_offset": None}
    return {
        **place,
        "outcome": outcome,
        "reason": reason,
        "warnings": list(warnings),
        "detail": f"about {reason}",
        "action": "left out",
        **more,
    }


def summary(*rows, at_once=100):
    tally = OutcomeTally()
    for start in range(0, len(rows), at_once):
        tally.add(pa.Table.from_pylist(rows[start : start + at_once], schema=OUTCOMES))
    return tally.summary()


def test_reasons_are_counted_the_commonest_first_and_warnings_as_reasons_of_what_was_read():
    counted = summary(
        row("ok"),
        row("ok"),
        row("ok", warnings=["approximate", "encoding_uncertain"]),
        row("failed", "timeout", warnings=["encoding_uncertain"]),
        row("empty", "blank"),
    )
    assert [tuple(dict(count).values()) for count in counted.counts] == [
        ("ok", "", 2),
        ("empty", "blank", 1),
        ("failed", "timeout", 1),
        ("ok", "approximate", 1),
        ("ok", "encoding_uncertain", 1),
    ]


def test_the_worst_come_first_and_of_each_reason_one_before_a_second():
    worst = summary(
        row("ok"),
        row("empty", "blank"),
        row("ok", warnings=["approximate"], record=1),
        row("rejected", "invalid_json", record=2),
        row("rejected", "invalid_json", record=3),
        row("rejected", "text_not_string", record=4),
        row("failed", "timeout", record=5),
    ).worst
    assert [account.record for account in worst] == [5, 2, 4, 3, 1]


def test_the_summary_does_not_depend_on_how_many_rows_are_counted_at_once():
    rows = [row("ok"), row("failed", "timeout"), row("ok", warnings=["approximate"]), row("empty", "blank")]
    assert summary(*rows * 9, at_once=1) == summary(*rows * 9, at_once=7) == summary(*rows * 9)


def test_a_document_is_placed_by_key_member_record_and_byte():
    [account] = summary(
        row("rejected", "invalid_json", key="in/a.zip", member="b/c.jsonl", record=1_234, byte_offset=56_789)
    ).worst
    assert account.place == "in/a.zip > b/c.jsonl record 1,234 at byte 56,789"
    assert summary(row("rejected", "not_text", key="in/a.txt", byte_offset=0)).worst[0].place == "in/a.txt"


def test_a_detail_that_quotes_a_whole_record_is_cut():
    [account] = summary(row("rejected", "invalid_json", detail="x" * 100_000)).worst
    assert len(account.detail) < 1_000


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(["", "one", "two"])), max_size=60))
def test_every_document_is_counted_and_the_worst_stay_bounded_and_in_order(pairs):
    found = summary(*(row(outcome, reason) for outcome, reason in pairs))
    assert sum(count.documents for count in found.counts) == len(pairs)
    told = [pair for pair in pairs if pair[1] and pair[0] != "empty"]
    assert len(found.worst) == min(len(told), WORST_DOCUMENTS)
    order = [("failed", "rejected", "skipped", "ok").index(account.outcome) for account in found.worst]
    assert order == sorted(order)
