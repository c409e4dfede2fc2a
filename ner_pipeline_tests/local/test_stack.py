"""`ner-pipeline up` as people use it: a process of its own, with all real services, and signals.

The services take seconds to start, so one start serves several tests; those that end it come last.
"""

import fcntl
import http.server
import os
import re
import signal
import socketserver
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ner_pipeline.errors import NerPipelineError
from ner_pipeline.local import stack as stack_module
from ner_pipeline.local.readiness import serves_instance
from ner_pipeline.local.stack import LocalStack, explain

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

# 127.0.0.1 as /proc writes it, in IPv4 and mapped into IPv6 (gRPC).
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}
READY = "Ctrl-C ends all services."


class Up:
    """A running `ner-pipeline up`."""

    def __init__(self, local_dir: Path) -> None:
        self.local_dir = local_dir
        self.output_file = local_dir / "output"
        local_dir.mkdir(parents=True, exist_ok=True)
        with self.output_file.open("w") as output:
            self.process = subprocess.Popen(up_command(local_dir), stdout=output, stderr=subprocess.STDOUT)

    @property
    def output(self) -> str:
        return self.output_file.read_text()

    def wait_until_ready(self) -> None:
        assert wait_until(lambda: READY in self.output or self.process.poll() is not None, 120)
        assert READY in self.output, self.output

    def processes(self) -> dict[int, str]:
        """The command lines of all that runs on the directory, but for `up` itself."""
        return {pid: line for pid, line in command_lines() if self._is_ours(pid, line)}

    def _is_ours(self, pid: int, line: str) -> bool:
        home = str(self.local_dir / "up")
        if pid == self.process.pid:
            return False
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
        except OSError:
            return False
        return home in line or f"DAGSTER_HOME={home}" in environment


def up_command(local_dir: Path) -> list[str]:
    return [sys.executable, "-m", "ner_pipeline.cli", "up", "--local-dir", str(local_dir)]


def command_lines() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if line:  # a zombie has none
            yield int(entry.name), line


def wait_until(condition: Callable[[], bool], within_s: float = 60) -> bool:
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


@pytest.fixture(scope="module")
def local_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("local")


@pytest.fixture(scope="module")
def up(local_dir: Path) -> Iterator[Up]:
    running = Up(local_dir)
    try:
        running.wait_until_ready()
        yield running
    finally:
        running.process.terminate()
        running.process.wait(60)


def test_the_ui_answers(up: Up) -> None:
    url = re.search(r"http://127\.0\.0\.1:\d+", up.output)
    assert url is not None
    with urllib.request.urlopen(f"{url.group()}/server_info") as response:
        assert b"dagster_version" in response.read()


def test_the_printed_lines_make_the_aws_command_work(up: Up) -> None:
    exports = "\n".join(line for line in up.output.splitlines() if line.startswith("export "))
    environment_file = up.local_dir / "up" / "env.sh"
    assert environment_file.read_text() == exports + "\n"
    assert stat.S_IMODE(environment_file.stat().st_mode) == 0o600
    script = (
        f'. {environment_file}; echo text > a.txt; "$0" -m awscli s3 cp a.txt "${{NER_INBOX}}aside/a.txt"'
    )
    subprocess.run(["/bin/sh", "-c", script, sys.executable], check=True, cwd=up.local_dir, timeout=60)


def test_a_second_up_on_the_same_directory_is_refused_in_one_line(up: Up) -> None:
    second = subprocess.run(up_command(up.local_dir), capture_output=True, text=True, timeout=60)
    assert second.returncode == 1
    assert "already" in second.stderr
    assert second.stderr.count("\n") == 1


@linux
def test_no_service_listens_on_another_interface(up: Up) -> None:
    sockets = {
        str(link.readlink()).removeprefix("socket:[").removesuffix("]")
        for pid in up.processes()
        for link in Path(f"/proc/{pid}/fd").iterdir()
        if link.exists() or link.is_symlink()
    }
    rows = [
        row.split() for t in ("tcp", "tcp6") for row in Path(f"/proc/net/{t}").read_text().splitlines()[1:]
    ]
    hosts = {row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in sockets}
    assert hosts <= LOOPBACK
    assert hosts


def test_the_secret_is_in_no_log(up: Up) -> None:
    secret = re.search(r"AWS_SECRET_ACCESS_KEY=(\S+)", up.output)
    assert secret is not None
    logs = list((up.local_dir / "up" / "logs").iterdir())
    assert {log.name for log in logs} >= {"s3.log", "code_server.log", "daemon.log", "webserver.log"}
    assert not any(secret.group(1) in log.read_text() for log in logs)


@linux
def test_after_kill_nine_all_is_gone_and_a_new_start_works(up: Up) -> None:
    former = up.output
    up.process.kill()
    up.process.wait()
    again = Up(up.local_dir)
    try:
        again.wait_until_ready()
        assert endpoint(again.output) == endpoint(former)
        again.process.send_signal(signal.SIGINT)
        assert again.process.wait(60) == 0
        assert wait_until(lambda: again.processes() == {})
    finally:
        again.process.kill()
        again.process.wait()


def endpoint(output: str) -> str:
    found = re.search(r"AWS_ENDPOINT_URL=(\S+)", output)
    assert found is not None
    return found.group(1)


@linux
def test_a_service_that_ends_ends_all_and_is_named(tmp_path: Path) -> None:
    up = Up(tmp_path)
    try:
        assert wait_until(lambda: any(line.split()[0].endswith("weed") for line in up.processes().values()))
        (weed,) = [pid for pid, line in up.processes().items() if line.split()[0].endswith("weed")]
        assert wait_until((tmp_path / "up" / "logs" / "code_server.log").exists)
        os.kill(weed, signal.SIGKILL)
        assert up.process.wait(60) == 1
        assert "the service s3 ended by itself, with exit code -9" in up.output
        assert "Traceback" not in up.output
        assert wait_until(lambda: up.processes() == {})
    finally:
        up.process.kill()
        up.process.wait()


def test_a_dead_service_is_explained_by_its_last_exception() -> None:
    output = (
        'Traceback (most recent call last):\n  File "x", line 1\n    raise\nKeyError: 1\n' * 2 + "INFO bye\n"
    )
    assert explain(output) == "KeyError: 1\nINFO bye"


def test_a_dead_service_without_exception_is_explained_by_its_last_lines() -> None:
    assert explain("".join(f"line {n}\n" for n in range(30))).splitlines() == [
        f"line {n}" for n in range(20, 30)
    ]
    assert explain("") == ""


def test_services_see_no_other_s3_and_no_proxy_to_this_machine() -> None:
    inherited = {
        "AWS_PROFILE": "work",
        "AWS_SESSION_TOKEN": "t",
        "AWS_ENDPOINT_URL_S3": "https://elsewhere",
        "HTTP_PROXY": "http://proxy",
        "no_proxy": "internal",
        "HOME": "/home/a",
    }
    seen = stack_module._service_environment(inherited, {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
    assert not {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3"} & seen.keys()
    assert seen["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert seen["HOME"] == "/home/a"
    assert seen["no_proxy"] == "internal,127.0.0.1,localhost"


def test_a_package_without_its_checkout_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack_module, "_CHECKOUT", tmp_path)
    with (
        LocalStack(tmp_path / "up", ui=False) as stack,
        pytest.raises(NerPipelineError, match="need a checkout"),
    ):
        stack.start()
    with (tmp_path / "up.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_port_that_is_taken_while_the_ui_starts_costs_another_port_only(tmp_path, monkeypatch):
    """Two stacks that start together choose the same port; neither may take the other's UI for its own."""
    with socketserver.TCPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as other:
        taken = other.server_address[1]
        monkeypatch.setattr(stack_module, "free_ports", first_says(taken, then=stack_module.free_ports))
        stack = LocalStack(tmp_path / "home", ui=True)
        with stack:
            stack.start_s3()
            stack._start_ui(str(empty_workspace(tmp_path)))
            assert serves_instance(stack.ui_url, tmp_path / "home" / "dagster")
            assert stack.ui_url != f"http://127.0.0.1:{taken}"


def first_says(port: int, *, then):
    answers = iter([[port]])
    return lambda count, *, preferred=(): next(answers, None) or then(count, preferred=preferred)


def empty_workspace(folder: Path) -> Path:
    path = folder / "workspace.yaml"
    path.write_text("load_from: []\n")
    return path
