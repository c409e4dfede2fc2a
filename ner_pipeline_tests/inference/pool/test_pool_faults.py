"""D01, D05: whatever a worker does, each text comes back exactly once and nobody else pays."""

import itertools
import multiprocessing
import os
import signal
import threading

import pytest

from ner_pipeline.errors import ModelError, WorkerFault
from ner_pipeline.inference.pool import ExtractionPool

FAKE = "planted_extractor:load"


def pool(loader=FAKE, workers=2, **options):
    options = {"timeout_s": 60, "chars_per_worker": 1, **options}
    return ExtractionPool("any", "cpu", workers=workers, loader=loader, **options)


def children():
    return [child for child in multiprocessing.active_children() if child.is_alive()]


@pytest.fixture(autouse=True)
def _no_process_is_left():
    yield
    assert children() == []


def run(texts, **options):
    with pool(**options) as workers:
        results = list(workers.extract(texts))
    assert sorted(result.id for result in results) == sorted(identifier for identifier, _ in texts)
    return {result.id: result for result in results}


@pytest.mark.parametrize("workers", [1, 2])
def test_d01_a_text_that_kills_its_worker_costs_that_text_only(workers):
    texts = [("a", "Angela Merkel"), ("b", "b"), ("bad", "KILL"), ("c", "c"), ("d", "PERSON1")]
    results = run(texts, workers=workers)
    assert results["bad"].outcome == "failed"
    assert results["bad"].reason == "worker_died"
    assert "signal 9" in results["bad"].detail
    assert {results[name].outcome for name in "abcd"} == {"ok"}
    assert [tuple(span)[:3] for span in results["a"].spans] == [(0, 13, "PERSON")]


@pytest.mark.parametrize("bad", ["BOOM", "SHORT", "FLOAT", "BLOB", "QUIT"])
def test_d05_a_text_on_which_the_extractor_raises_is_named_and_the_rest_is_done(bad):
    results = run([("a", "a"), ("b", "b"), ("bad", bad), ("c", "Angela Merkel")])
    assert results["bad"].outcome == "failed"
    assert results["bad"].reason == "extractor_error"
    assert results["bad"].detail
    assert results["c"].spans
    assert {results[name].outcome for name in "abc"} == {"ok"}


def test_a_text_over_its_time_limit_fails_with_timeout():
    results = run([("a", "a"), ("bad", "SLEEP"), ("c", "c")], timeout_s=0.5)
    assert (results["bad"].outcome, results["bad"].reason) == ("failed", "timeout")
    assert {results[name].outcome for name in "ac"} == {"ok"}


def test_a_text_whose_worker_was_killed_once_by_chance_succeeds(tmp_path):
    results = run([("a", f"ONCE:{tmp_path / 'mark'} Angela Merkel"), ("b", "b")])
    assert {result.outcome for result in results.values()} == {"ok"}
    assert len(results["a"].spans) == 1


def test_one_bad_window_fails_its_long_text_and_no_other():
    long = "word " * 5_000
    bad = long + "KILL " + long
    results = run([("good", long + "Angela Merkel"), ("bad", bad)], batch_chars=10_000)
    assert results["bad"].reason == "worker_died"
    assert results["bad"].spans == []
    assert len(results["good"].spans) == 1


def test_many_faults_at_once_are_all_told_apart():
    words = itertools.cycle(["fine", "BOOM", "PERSON7", "KILL"])
    texts = [(str(number), next(words)) for number in range(16)]
    results = run(texts)
    expected = {"fine": "", "BOOM": "extractor_error", "PERSON7": "", "KILL": "worker_died"}
    assert {r.id: r.reason for r in results.values()} == {name: expected[text] for name, text in texts}


def test_a_worker_killed_while_idle_is_replaced_and_nobody_is_blamed():
    with pool(workers=1) as workers:
        assert [r.outcome for r in workers.extract([("a", "a")])] == ["ok"]
        for child in children():
            os.kill(child.pid, signal.SIGKILL)
            child.join()
        assert [r.outcome for r in workers.extract([("b", "b"), ("c", "c")])] == ["ok", "ok"]


def test_workers_killed_at_any_moment_neither_hang_nor_lose_or_repeat_a_text(full):
    """Two salvos a round: at workers that receive, compute and send, then at their replacements, which load.

    The next round waits for a result, so that the pool never sees more losses in a row than it bears.
    """
    progress, over = threading.Event(), threading.Event()

    def kill_in_rounds():
        for round_number in range(100 if full else 8):
            progress.wait(60)
            for pause_s in (0.0, 0.03 * (round_number % 8)):
                over.wait(pause_s)
                for child in children():
                    os.kill(child.pid, signal.SIGKILL)
            progress.clear()
        over.set()

    def texts():
        number = 0
        while not over.is_set():
            yield str(number), f"PERSON{number} " + "filler " * 400
            number += 1
        yield from ((str(number + rest), f"PERSON{rest}") for rest in range(20))

    killer = threading.Thread(target=kill_in_rounds)
    killer.start()
    results = []
    try:
        with pool(batch_chars=4_000) as workers:
            for result in workers.extract(texts()):
                results.append(result)
                progress.set()
    finally:
        over.set()
        progress.set()
        killer.join()
    assert sorted(int(result.id) for result in results) == list(range(len(results)))
    assert len(results) > 20
    for result in results:
        assert result.outcome == "failed" or len(result.spans) == 1


def test_a_model_that_cannot_be_found_is_told_in_the_workers_own_words():
    with (
        pool("planted_extractor:load_missing_model") as workers,
        pytest.raises(ModelError, match="no such folder"),
    ):
        list(workers.extract([("a", "a")]))


def test_a_missing_library_is_named():
    with (
        pool("planted_extractor:load_missing_import") as workers,
        pytest.raises(ModelError, match="no_such_library_anywhere"),
    ):
        _ = workers.card


def test_a_loader_that_cannot_be_imported_is_a_model_error():
    with (
        pool("planted_extractor:no_such_function") as workers,
        pytest.raises(ModelError, match="no_such_function"),
    ):
        _ = workers.card


def test_an_extractor_without_a_card_is_a_model_error():
    with pool("planted_extractor:load_without_card") as workers, pytest.raises(ModelError, match="card"):
        _ = workers.card


@pytest.mark.parametrize("loader", ["no_colon", ":name", "module:", "__main__:load", lambda *_: None])
def test_a_loader_that_workers_cannot_import_is_refused_at_once(loader):
    with pytest.raises(ValueError, match="importable module"):
        pool(loader)


def test_the_card_tells_whether_the_model_is_shown_the_text_as_it_is():
    with pool() as plain, pool(normalize=True) as normalised:
        assert plain.card.version == "0" * 16
        assert normalised.card.version not in {"", "0" * 16}


def test_a_model_that_is_shown_simpler_characters_finds_what_it_knows_where_it_stands():
    text = "\u201cAngela\u00a0Merkel\u201d, An\u00adge\u200bla\u3000Merkel"
    with pool(normalize=True) as workers:
        [result] = workers.extract([("a", text)])
    assert [text[span.start : span.end] for span in result.spans] == ["An\u00adge\u200bla\u3000Merkel"]


def test_a_loader_may_be_given_as_a_function():
    import planted_extractor

    with pool(planted_extractor.load) as workers:
        assert workers.card.extractor == "planted"


@pytest.mark.parametrize("options", [{"timeout_s": 0}, {"workers": -1}])
def test_limits_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match="must be"):
        pool(**options)


def test_workers_that_die_while_loading_are_not_started_for_ever():
    with (
        pool("planted_extractor:load_and_die", workers=1) as workers,
        pytest.raises(WorkerFault, match="memory") as info,
    ):
        list(workers.extract([("a", "a")]))
    assert info.value.transient


def test_an_iterator_that_is_broken_off_leaves_nothing_behind_for_the_next_one():
    with pool(batch_chars=1) as workers:
        broken_off = workers.extract([(f"old{n}", "PERSON1") for n in range(20)])
        next(broken_off)
        broken_off.close()
        assert [r.id for r in workers.extract([("new", "x")])] == ["new"]


def test_an_input_that_raises_is_not_swallowed():
    def texts():
        yield "a", "a"
        raise OSError("the source broke")

    with pool() as workers, pytest.raises(OSError, match="the source broke"):
        list(workers.extract(texts()))


def test_two_extractions_at_once_are_refused():
    with pool() as workers:
        first = workers.extract([("a", "a"), ("b", "b")])
        next(first)
        with pytest.raises(RuntimeError, match="already extracting"):
            next(workers.extract([("c", "c")]))
        first.close()


def test_a_closed_pool_says_so():
    workers = pool()
    workers.close()
    with pytest.raises(RuntimeError, match="closed"):
        list(workers.extract([("a", "a")]))
