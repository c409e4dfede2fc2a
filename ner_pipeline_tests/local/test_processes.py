"""Children end with their parent, in whatever way either ends. Plain shell commands stand for services."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ner_pipeline.processes import ChildProcess


def wait_until(condition, within_s: float = 20) -> bool:
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def child(tmp_path: Path, script: str, **options) -> ChildProcess:
    return ChildProcess(
        "service",
        ["/bin/sh", "-c", script],
        log_file=tmp_path / "logs" / "service.log",
        environment={"PATH": os.environ["PATH"], **options.pop("variables", {})},
        working_dir=tmp_path,
        **options,
    )


def written_pid(path: Path) -> int:
    assert wait_until(lambda: path.exists() and path.read_text().endswith("\n")), f"{path} was not written"
    return int(path.read_text())


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie, which a killed parent may leave to a slow init."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return not status.startswith("Z")


def test_output_goes_to_the_log_without_colours(tmp_path: Path) -> None:
    service = child(tmp_path, r"printf '\033[32mready\033[0m\n'; echo trouble >&2")
    assert wait_until(lambda: service.exit_code() is not None)
    assert service.output() == "ready\ntrouble\n"


def test_output_is_that_of_the_newest_start(tmp_path: Path) -> None:
    for word in ("first", "second"):
        service = child(tmp_path, f"echo {word}")
        assert wait_until(lambda started=service: started.exit_code() is not None)
    assert service.output() == "second\n"
    assert service.log_file.read_text() == "first\nsecond\n"


@pytest.mark.parametrize(("ending", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9)])
def test_the_exit_code_is_that_of_the_command(tmp_path: Path, ending: str, code: int) -> None:
    service = child(tmp_path, ending)
    assert wait_until(lambda: service.exit_code() is not None)
    assert service.exit_code() == code


def test_stop_lets_a_command_end_by_itself(tmp_path: Path) -> None:
    service = child(tmp_path, "trap 'echo tidied; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    assert wait_until(lambda: "up" in service.output())
    service.stop()
    service.stop()
    assert service.exit_code() == 0
    assert "tidied" in service.output()


def test_stop_kills_a_command_that_ignores_it(tmp_path: Path) -> None:
    service = child(tmp_path, "trap '' TERM; echo up; while :; do sleep 0.05; done", grace_s=0.3)
    assert wait_until(lambda: "up" in service.output())
    service.stop()
    assert service.exit_code() == -signal.SIGKILL


def test_what_a_command_started_ends_with_it(tmp_path: Path) -> None:
    service = child(tmp_path, "(trap '' TERM; echo $$ >/dev/null; exec sleep 300) & echo $! > pid; exit 0")
    grandchild = written_pid(tmp_path / "pid")
    assert wait_until(lambda: service.exit_code() is not None)
    assert wait_until(lambda: not is_running(grandchild))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_everything_ends_when_the_parent_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    script = "sleep 300 & echo $! > grandchild; echo $$ > child; wait"
    code = (
        "import os, time; from pathlib import Path; from ner_pipeline.processes import ChildProcess\n"
        f"p = Path({str(tmp_path)!r})\n"
        f"ChildProcess('s', ['/bin/sh', '-c', {script!r}], log_file=p / 'log', environment=os.environ,\n"
        "             working_dir=p)\n"
        "time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    pids = [written_pid(tmp_path / name) for name in ("child", "grandchild")]
    parent.send_signal(number)
    parent.wait()
    assert wait_until(lambda: not any(map(is_running, pids)))


def test_the_environment_is_the_given_one_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "x")
    service = child(tmp_path, "env", variables={"GIVEN": "y"})
    assert wait_until(lambda: service.exit_code() is not None)
    assert "GIVEN=y" in service.output()
    assert "SECRET_OF_THE_PARENT" not in service.output()


def test_arguments_arrive_as_they_are(tmp_path: Path) -> None:
    service = ChildProcess(
        "service",
        ["printf", "%s|", "a b", "", "ü'\""],
        log_file=tmp_path / "log",
        environment=os.environ,
        working_dir=tmp_path,
    )
    assert wait_until(lambda: service.exit_code() is not None)
    assert service.output() == "a b||ü'\"|", shlex.quote(service.output())
