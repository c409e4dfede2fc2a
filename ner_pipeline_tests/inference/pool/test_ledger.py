"""The bookkeeping of an extraction, without processes."""

from ner_pipeline.inference.pool.ledger import Ledger
from ner_pipeline.inference.windows import CutRule


def ledger(*texts):
    account = Ledger(CutRule())
    done = [result for number, text in enumerate(texts) for result in account.admit(str(number), text)]
    return account, done


def nothing_found(pieces):
    return [[] for _ in pieces]


def test_the_largest_windows_go_first():
    account, _ = ledger("a" * 10, "b" * 500, "c" * 100)
    first, second = account.take(900), account.take(900)
    assert account.texts(first) == ["b" * 500]
    assert account.texts(second) == ["c" * 100, "a" * 10]


def test_a_window_larger_than_a_batch_is_a_batch_of_its_own():
    account, _ = ledger("a" * 500, "b" * 400)
    assert len(account.take(1)) == 1


def test_windows_of_a_batch_that_failed_come_again_alone_and_once():
    account, _ = ledger("good", "bad", "fine")
    assert account.failed(account.take(10_000), "worker_died", "x") == []
    results = []
    while account.waiting:
        pieces = account.take(10_000)
        assert len(pieces) == 1
        if account.texts(pieces) == ["bad"]:
            results += account.failed(pieces, "worker_died", "again")
        else:
            results += account.found(pieces, nothing_found(pieces), 0.1)
    assert {result.id: (result.outcome, result.detail) for result in results} == {
        "0": ("ok", ""),
        "1": ("failed", "again"),
        "2": ("ok", ""),
    }
    assert account.open_chars == account.waiting_cost == 0


def test_windows_put_back_are_not_blamed():
    account, _ = ledger("text")
    for _ in range(5):
        account.put_back(account.take(1))
    pieces = account.take(1)
    assert account.failed(pieces, "timeout", "x") == []


def test_a_text_that_failed_takes_its_other_windows_with_it():
    account, _ = ledger("word " * 20_000)
    account.failed(account.take(1), "timeout", "x")
    (result,) = account.failed(account.take(1), "timeout", "it took longer")
    assert result.reason == "timeout"
    assert not account.waiting
    assert account.open_chars == account.waiting_cost == 0


def test_late_results_of_a_text_that_failed_are_ignored():
    account, _ = ledger("word " * 20_000)
    late, bad = account.take(1), account.take(1)
    account.failed(bad, "timeout", "x")
    account.failed(account.take(1), "timeout", "x")
    assert account.found(late, nothing_found(late), 0.1) == []
    assert account.failed(late, "timeout", "x") == []
    account.put_back(late)
    assert not account.waiting
