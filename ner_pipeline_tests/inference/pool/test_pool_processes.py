"""The workers as processes: how many, with how many threads, and that they end with their parent."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ner_pipeline.inference.pool import ExtractionPool

HERE = Path(__file__).parent
LOADER = "planted_extractor:load_reporting"


def reports(**options):
    with ExtractionPool("any", "cpu", loader=LOADER, **options) as workers:
        return [result.spans[0].kb_id.split("|") for result in workers.extract(TEXTS)]


TEXTS = [(str(number), "word " * 100) for number in range(40)]


def test_workers_compute_with_one_thread_each():
    found = reports(workers=1)
    settings = {line[1] for line in found}
    assert settings == {"{'1'}"}
    threads = {int(line[2]) for line in found}
    # The main thread, and the one that waits for the parent's end.
    assert threads in ({2}, {-1})


def test_the_environment_of_the_parent_stays_as_it_was(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    reports(workers=1)
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_workers_do_not_run_the_parents_main_again():
    assert {line[3] for line in reports(workers=1)} == {"None"}


def test_a_small_set_costs_one_model_load_however_many_workers_there_may_be():
    assert len({line[0] for line in reports(workers=8)}) == 1


def test_a_large_set_uses_the_workers_it_may():
    found = reports(workers=2, chars_per_worker=1_000, batch_chars=2_000)
    assert len({line[0] for line in found}) == 2


def test_the_card_comes_from_a_worker():
    with ExtractionPool("any", "cpu", loader=LOADER) as workers:
        assert workers.card.model == "planted 1.0.0"


def test_no_process_is_started_before_there_is_work():
    with ExtractionPool("any", "cpu", loader=LOADER) as workers:
        assert [r.outcome for r in workers.extract([("blank", " \n")])] == ["ok"]
        assert multiprocessing.active_children() == []


SCRIPT = """
import sys
sys.path.insert(0, {here!r})
from ner_pipeline.inference.pool import ExtractionPool
import multiprocessing
with ExtractionPool("any", "cpu", workers=1, {options}) as workers:
    workers.card
    if "wait" in sys.argv:
        print(*[child.pid for child in multiprocessing.active_children()], flush=True)
        list(workers.extract([("a", "SLEEP")]))
    print([result.outcome for result in workers.extract([("a", "Angela Merkel")])])
"""


@pytest.fixture(
    params=[
        'loader="planted_extractor:load"',
        'loader="planted_network:load", network="planted_network:load_network"',
    ],
    ids=["workers", "workers-and-device-process"],
)
def script(request, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(SCRIPT.format(here=str(HERE), options=request.param)))
    return path


def test_it_works_in_a_plain_script_without_a_main_guard(script):
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "['ok']"), done.stderr


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a foreign process by its pidfd")
def test_workers_end_when_their_parent_is_killed_even_in_the_middle_of_work(script):
    import select

    parent = subprocess.Popen(
        [sys.executable, script, "wait"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        handles = [os.pidfd_open(int(pid)) for pid in parent.stdout.readline().split()]
        assert handles
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
    for handle in handles:
        ready, _, _ = select.select([handle], [], [], 30)
        os.close(handle)
        assert ready, "a worker outlived its parent"
