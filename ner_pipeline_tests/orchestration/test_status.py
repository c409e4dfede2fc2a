"""What `ner-pipeline status` tells of a set: the counts, why, and the documents to look at."""

import json

import pytest

from ner_pipeline.client import status


@pytest.fixture
def told(world, monkeypatch):
    """A set with three good records and a bad one, and what `status` says of it."""
    monkeypatch.setenv("NER_INBOX", str(world.places.inbox))
    monkeypatch.setenv("NER_RESULTS", str(world.places.results))
    world.upload("odd/\x1b[31mred.txt", b"%PDF-1.7 \x00\x01\x02\x03\x04" * 50)
    key = world.process("odd/a.jsonl", '{"text": "Bob"}\n{"text": 7}\n{"text": "Ann"}\n{"text": "FAIL"}\n')
    return lambda **options: status(key, wait=False, **options)[0]


def test_status_counts_the_reasons_and_explains_the_worst_documents(told):
    lines = told(as_json=False).splitlines()
    assert lines[0] == "odd: done"
    assert "1 rejected: text_not_string" in {line.strip() for line in lines}
    place = next(line for line in lines if "a.jsonl record 2" in line)
    assert place.endswith("a.jsonl record 2 at byte 16")
    verdict, detail = lines[lines.index(place) + 1 : lines.index(place) + 3]
    assert verdict.strip() == "rejected: text_not_string; this record was left out"
    assert "'text' is a number" in detail


def test_status_puts_what_failed_first(told):
    worst = json.loads(told(as_json=True))["worst"]
    assert [account["outcome"] for account in worst] == ["failed", "rejected", "rejected"]
    assert worst[0]["record"] == 4


def test_status_lets_no_key_write_control_sequences_to_the_terminal(told):
    shown = told(as_json=False)
    assert "[31mred.txt" in shown
    assert "\x1b" not in shown
