"""Who may have services on a directory."""

import subprocess
import sys
from pathlib import Path

import pytest

from ner_pipeline.errors import NerPipelineError
from ner_pipeline.local.lock import HomeLock


def test_a_second_owner_is_refused_in_one_line(tmp_path: Path) -> None:
    first, second = HomeLock(tmp_path / "up"), HomeLock(tmp_path / "up")
    first.acquire()
    with pytest.raises(NerPipelineError, match="already") as caught:
        second.acquire()
    assert "\n" not in str(caught.value)
    first.release()
    second.acquire()
    second.release()


def test_another_directory_is_not_locked(tmp_path: Path) -> None:
    first, second = HomeLock(tmp_path / "up"), HomeLock(tmp_path / "demo")
    first.acquire()
    second.acquire()
    first.release()
    second.release()


def test_what_a_dead_owner_left_behind_is_waited_for(tmp_path: Path) -> None:
    first = HomeLock(tmp_path / "up")
    first.acquire()
    leftover = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[first.descriptor]
    )
    first.release()
    with pytest.raises(NerPipelineError, match="former start"):
        HomeLock(tmp_path / "up", leftovers_end_within_s=0.2).acquire()
    leftover.communicate(b"\n")
    second = HomeLock(tmp_path / "up", leftovers_end_within_s=0.2)
    second.acquire()
    second.release()


def test_a_refused_owner_leaves_the_lock_to_the_next(tmp_path: Path) -> None:
    first = HomeLock(tmp_path / "up")
    first.acquire()
    refused = HomeLock(tmp_path / "up")
    with pytest.raises(NerPipelineError):
        refused.acquire()
    refused.release()
    first.release()
    refused.acquire()
    refused.release()


def test_the_descriptor_is_there_while_the_lock_is_held_only(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path / "up")
    with pytest.raises(RuntimeError):
        _ = lock.descriptor
    lock.acquire()
    assert lock.descriptor > 0
    lock.release()
    with pytest.raises(RuntimeError):
        _ = lock.descriptor
