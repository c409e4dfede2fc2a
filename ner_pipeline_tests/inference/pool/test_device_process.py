"""One process computes for all workers, and whoever dies, no text is lost or blamed for it."""

import multiprocessing
import os
import signal
import threading

import pytest

from ner_pipeline.errors import ModelError
from ner_pipeline.inference.pool import ExtractionPool

LOADER, NETWORK = "planted_network:load", "planted_network:load_network"


def pool(workers=1, network=NETWORK, model="any", **options):
    options = {"timeout_s": 60, "chars_per_worker": 1, **options}
    return ExtractionPool(model, "cpu", workers=workers, loader=LOADER, network=network, **options)


def children(name=""):
    return [child for child in multiprocessing.active_children() if name in child.name and child.is_alive()]


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield
    assert children() == []
    assert list(tmp_path.glob("ner-device-*")) == []


def words(result, text):
    return [text[span.start : span.end] for span in result.spans]


def test_workers_tokenize_and_one_process_computes():
    texts = {str(number): f"word Ann {number} Bob{number} and so on " * 20 for number in range(60)}
    with pool(workers=2, batch_chars=20_000) as workers:
        results = {result.id: result for result in workers.extract(texts.items())}
        assert len(children("ner-device")) == 1
        assert len(children("pebble")) == 2
    assert results.keys() == texts.keys()
    for number, text in texts.items():
        assert words(results[number], text) == ["Ann", f"Bob{number}"] * 20


def test_without_work_there_is_no_device_process():
    with pool() as workers:
        assert [result.outcome for result in workers.extract([("a", " ")])] == ["ok"]
        assert children() == []


def test_a_text_on_which_the_network_raises_is_named_and_the_rest_is_done():
    texts = [("a", "Ann"), ("bad", "BOOM"), ("b", "Bob"), ("c", "Carl")]
    with pool() as workers:
        results = {result.id: result for result in workers.extract(texts)}
    assert (results["bad"].outcome, results["bad"].reason) == ("failed", "extractor_error")
    assert "planted" in results["bad"].detail
    assert [words(results[name], text) for name, text in texts if name != "bad"] == [
        ["Ann"],
        ["Bob"],
        ["Carl"],
    ]


def test_a_network_that_hangs_is_replaced():
    with pool(timeout_s=1) as workers:
        results = {
            result.id: result for result in workers.extract([("a", "Ann"), ("bad", "SLEEP"), ("b", "b")])
        }
    assert (results["bad"].outcome, results["bad"].reason) == ("failed", "timeout")
    assert {results[name].outcome for name in "ab"} == {"ok"}


def test_a_text_in_whose_company_the_device_process_died_is_not_blamed(tmp_path):
    with pool(model=str(tmp_path / "mark")) as workers:
        results = list(workers.extract([("a", "Ann CRASH"), ("b", "Bob")]))
    assert {result.outcome for result in results} == {"ok"}
    assert (tmp_path / "mark").exists()


def test_a_text_in_whose_company_the_device_broke_is_not_blamed(tmp_path):
    with pool(model=str(tmp_path / "mark")) as workers:
        assert [result.outcome for result in workers.extract([("a", "Ann")])] == ["ok"]
        results = list(workers.extract([("b", "RUIN"), ("c", "Carl"), ("d", "Dora")]))
    assert (tmp_path / "mark").exists()
    assert [result.outcome for result in results] == ["ok"] * 3


def test_a_device_process_killed_while_idle_is_replaced():
    with pool() as workers:
        assert [result.outcome for result in workers.extract([("a", "Ann")])] == ["ok"]
        for child in children("ner-device"):
            os.kill(child.pid, signal.SIGKILL)
            child.join()
        assert [result.outcome for result in workers.extract([("b", "Bob")])] == ["ok"]


def test_a_worker_that_dies_leaves_the_others_their_network():
    texts = [(str(number), "KILL" if number == 20 else f"Ann{number}") for number in range(40)]
    with pool(workers=2, batch_chars=1) as workers:
        results = {result.id: result for result in workers.extract(texts)}
        assert len(children("ner-device")) == 1
    assert results["20"].reason == "worker_died"
    assert {result.outcome for name, result in results.items() if name != "20"} == {"ok"}
    assert len(results) == 40


def test_a_network_that_cannot_be_loaded_is_told_in_the_device_processs_own_words():
    with (
        pool(network="planted_network:load_missing_network") as workers,
        pytest.raises(ModelError, match="no such folder"),
    ):
        list(workers.extract([("a", "a")]))


@pytest.mark.parametrize("victim", ["ner-device", "pebble"])
def test_processes_killed_under_load_neither_lose_nor_repeat_nor_blame_a_text(full, victim):
    progress, over = threading.Event(), threading.Event()

    def kill_in_rounds():
        for round_number in range(60 if full else 3):
            progress.wait(60)
            over.wait(0.02 * (round_number % 10))
            for child in children(victim)[:1]:
                os.kill(child.pid, signal.SIGKILL)
            progress.clear()
        over.set()

    def texts():
        number = 0
        while not over.is_set() or number < 200:
            yield str(number), f"Ann{number} " + "filler " * 400
            number += 1

    killer = threading.Thread(target=kill_in_rounds)
    killer.start()
    results = []
    try:
        with pool(workers=2, batch_chars=160_000) as workers:
            for result in workers.extract(texts()):
                results.append(result)
                progress.set()
    finally:
        over.set()
        progress.set()
        killer.join()
    assert sorted(int(result.id) for result in results) == list(range(len(results)))
    for result in results:
        # A worker that is killed over a text alone, again, is all that is known of the text.
        killed_twice = victim == "pebble" and result.reason == "worker_died"
        assert killed_twice or words(result, f"Ann{result.id}") == [f"Ann{result.id}"]
