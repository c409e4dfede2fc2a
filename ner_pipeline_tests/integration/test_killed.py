"""kill -9 of a worker, of a run, of the code server: the same result afterwards, and nothing done twice."""

import os
import signal
from pathlib import Path

import pytest

from ner_pipeline.storage.objects import list_objects
from ner_pipeline_tests.integration.conftest import wait_for
from ner_pipeline_tests.integration.planted_extractor import WAITS_FOR_A_FILE

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds processes in /proc")

PERSONS = ["Angela Merkel", "Barack Obama", "Marie Curie", "Albert Einstein", "Nelson Mandela"]


def documents(gated):
    """Shards' worth of text; one document keeps its worker waiting until the gate is open."""
    files = {f"{n:02}.txt": f"{person} visited Berlin. ".encode() * 100 for n, person in enumerate(PERSONS)}
    files["99.txt"] = (
        f"{WAITS_FOR_A_FILE} Isaac Newton lived in London.".encode()
        if gated
        else b"Isaac Newton lived in London."
    )
    return files


def descendants(pid):
    """All processes below one, by the parents that /proc names."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    entry.joinpath("stat").read_text().rpartition(")")[2].split()[1]
                )
            except (FileNotFoundError, ProcessLookupError):
                continue
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        children = [child for child, its_parent in parents.items() if its_parent == parent]
        found += children
        todo += children
    return found


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def waiting_worker(system):
    """The process that stands before the gate."""
    marks = [int(mark.suffix[1:]) for mark in system.gate.parent.glob("open.*")]
    return next((pid for pid in marks if is_alive(pid)), None)


def shards(system, name):
    return {
        entry.key: entry.last_modified
        for entry in list_objects(system.client, system.results / f"work/document_set={name}/")
        if "/shards/" in entry.key
    }


@pytest.fixture
def gate(system):
    """Closed at the beginning of a test, and open at its end whatever happens."""
    for mark in system.gate.parent.glob("open*"):
        mark.unlink()
    yield system.gate
    system.gate.touch()


def result(system, name):
    return [
        (row["doc_id"].partition("/")[2], row["entity"], row["start"])
        for row in system.rows("entities", name)
    ]


def test_a_killed_worker_costs_no_document(system, gate):
    system.upload("worker", documents(gated=True))
    pid = wait_for(lambda: waiting_worker(system), "a worker waits")
    os.kill(pid, signal.SIGKILL)
    gate.touch()
    system.wait_until("worker")
    assert system.status("worker").manifest.documents["ok"] == len(documents(gated=True))


def test_after_a_killed_run_the_repair_schedule_brings_the_undisturbed_result(system, gate):
    system.upload("undisturbed", documents(gated=False))
    system.wait_until("undisturbed")
    system.upload("killed", documents(gated=True))
    worker = wait_for(lambda: waiting_worker(system), "a worker waits")
    run_process = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
    left = [worker, *descendants(run_process)]
    stood = shards(system, "killed")
    assert stood
    os.kill(run_process, signal.SIGKILL)
    wait_for(lambda: not any(is_alive(pid) for pid in left), "the workers of the killed run end")
    [killed] = wait_for(
        lambda: [record for record in system.runs("killed") if record.dagster_run.is_failure],
        "the run is failed",
    )
    # The second attempt stands before the gate as well: until then nothing that stood has been touched.
    wait_for(lambda: len(system.runs("killed")) == 2, "the repair schedule asks for a run")
    wait_for(lambda: waiting_worker(system), "a worker of the second run waits")
    assert stood.items() <= shards(system, "killed").items()
    gate.touch()
    system.wait_until("killed")
    assert killed.dagster_run.run_id != system.status("killed").manifest.run_id
    expected = result(system, "undisturbed")
    # The gated text is longer by the words that hold its worker up.
    shifted = [
        (doc, entity, start - len(WAITS_FOR_A_FILE) - 1 if doc == "99.txt" else start)
        for doc, entity, start in result(system, "killed")
        if entity != WAITS_FOR_A_FILE
    ]
    assert shifted == expected
