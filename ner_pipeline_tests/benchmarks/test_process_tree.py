"""Memory and CPU time of processes, told from outside."""

import os
import subprocess
import sys

import pytest

from benchmarks.process_tree import PROC, Peaks, cpu_seconds, memory_mb, pids_below, watch_memory

pytestmark = pytest.mark.skipif(not PROC.exists(), reason="only Linux has /proc")

_HOLDS_A_GRANDCHILD = """
import subprocess, sys
held = b"x" * 50_000_000
code = "print(sum(range(3_000_000)), flush=True); input()"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
input()
"""


@pytest.fixture
def child():
    command = [sys.executable, "-c", _HOLDS_A_GRANDCHILD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.grandchild = int(process.stdout.readline())
        yield process
        process.kill()


def test_what_a_child_has_started_counts_too(child):
    assert pids_below(child.pid) == [child.pid, child.grandchild]
    assert cpu_seconds(os.getpid()) >= cpu_seconds(child.pid) > 0


def test_the_peak_of_each_process_is_noted_once(child):
    peaks = Peaks()
    with watch_memory(child.pid, peaks):
        pass
    assert set(peaks.mb) == {f"python {child.pid}", f"python {child.grandchild}"}
    assert peaks.mb[f"python {child.pid}"] > 45 + memory_mb(child.grandchild) / 2
    assert peaks.total_mb > peaks.mb[f"python {child.pid}"]


def test_a_process_that_has_ended_is_no_error():
    peaks = Peaks()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    with watch_memory(ended.pid, peaks):
        pass
    assert peaks.mb == {}
