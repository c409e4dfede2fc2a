"""The services of one machine, started together, watched, and ended together.

The S3 server, the code server, the daemon and (for `make up`) the web UI. All listen on the loopback
interface, keep everything under one directory, and end with this process, however it ends. What is done
with the services is not decided here: see `local.up` and `local.demo`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ner_pipeline.errors import NerPipelineError
from ner_pipeline.inference.device import choose_device
from ner_pipeline.inference.pipeline_files import find_pipeline
from ner_pipeline.local.lock import HomeLock
from ner_pipeline.local.readiness import answers, serves_instance, wait_until
from ner_pipeline.processes import ChildProcess
from ner_pipeline.settings import Settings
from ner_pipeline.storage.local_server import LocalS3Server, free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

__all__ = ["LocalStack", "explain"]

INBOX = "s3://ner-inbox/"
RESULTS = "s3://ner-results/"

DEFAULT_UI_PORT = 3000
CODE_SERVER_WITHIN_S = 120.0
UI_WITHIN_S = 60.0

_CHECKOUT = Path(__file__).resolve().parents[2]


class LocalStack:
    """All services on one directory.

    The three `start_…` are apart so that uploads can begin while Dagster is still loading; `start` does
    all. Leaving the context ends every service.
    """

    def __init__(self, home: Path, *, ui: bool, fresh: bool = False) -> None:
        self.home = home.resolve()
        self.ui_url = ""
        self._ui = ui
        self._fresh = fresh
        self._lock = HomeLock(self.home)
        self._children: list[ChildProcess] = []
        self._code_server: ChildProcess | None = None
        self._dead_runs: ChildProcess | None = None
        self._s3: LocalS3Server | None = None

    @property
    def s3(self) -> LocalS3Server:
        """The S3 server, once it is started."""
        if self._s3 is None:
            raise RuntimeError("start_s3 comes first")
        return self._s3

    @property
    def logs(self) -> Path:
        """Where every service writes its log."""
        return self.home / "logs"

    def environment(self) -> dict[str, str]:
        """Return the variables with which any S3 client, and `ner-pipeline`, talk to this stack."""
        return self.s3.environment() | {"NER_INBOX": INBOX, "NER_RESULTS": RESULTS}

    def start(self) -> None:
        """Start all services and return when they are ready for work."""
        self.start_s3()
        self.start_code_server()
        self.start_daemon()

    def start_s3(self) -> None:
        """Start the S3 server and make the buckets. Meanwhile the runs of a dead code server are freed.

        Raises:
            NerPipelineError: another process has services on this directory, or the server does not start.
        """
        _check_settings(Settings.load())
        self._lock.acquire()
        if self._fresh:
            shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        self._prepare_dagster_home()
        self._dead_runs = self._spawn("dead_runs", {}, "-m", "ner_pipeline.orchestration.dead_runs")
        self._s3 = LocalS3Server(
            self.home / "s3", log_file=self.logs / "s3.log", keep_open=[self._lock.descriptor]
        )
        self._s3.start()
        self._make_buckets()

    def start_code_server(self) -> None:
        """Let the code server begin to load, and do not wait for it.

        It comes after the step that frees dead runs: the first Dagster process on a new directory makes
        the tables, and two that do so at a time leave them broken.
        """
        self._wait_for_dead_runs()
        port = free_ports(1, preferred=[self._remembered().get("code_server", 0)])[0]
        self._remember("code_server", port)
        (self.home / "workspace.yaml").write_text(_workspace(port))
        self._code_server = self._spawn(
            "code_server",
            self.environment(),
            *("-m", "dagster", "api", "grpc", "--module-name", "ner_pipeline.definitions"),
            *("--attribute", "defs", "--host", "127.0.0.1", "--port", str(port)),
        )
        self._children.append(self._code_server)

    def start_daemon(self) -> None:
        """Wait for the code server, then start the daemon and the UI.

        The daemon comes last: it looks at its code location once when it starts, and then each minute.

        Raises:
            NerPipelineError: a service ended, or was not ready in time; with the end of its log.
        """
        self._wait_for_code_server()
        workspace = str(self.home / "workspace.yaml")
        self._children.append(
            self._spawn("daemon", self.environment(), "-m", "dagster._daemon", "run", "-w", workspace)
        )
        if self._ui:
            self._start_ui(workspace)

    def check(self) -> None:
        """Raise if a service has ended.

        Raises:
            NerPipelineError: naming the service, with the end of its log.
        """
        if self.s3.exit_code() is not None:
            raise NerPipelineError(_ended("s3", self.s3.exit_code(), self.s3.output(), self.logs / "s3.log"))
        for child in self._children:
            if child.exit_code() is not None:
                raise NerPipelineError(_ended(child.name, child.exit_code(), child.output(), child.log_file))

    def watch(self) -> None:
        """Stay until a service ends, which raises, or a signal does."""
        while True:
            self.check()
            time.sleep(0.5)

    def stop(self) -> None:
        """End every service: Dagster first, so that a run in flight does not see its storage go."""
        with _signals_ignored():
            dagster = [*self._children, *filter(None, (self._dead_runs,))]
            for child in dagster:
                child.ask_to_end()
            for child in dagster:
                child.stop()
            if self._s3 is not None:
                self._s3.stop()
            self._children, self._dead_runs, self._code_server, self._s3 = [], None, None, None
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _make_buckets(self) -> None:
        client = self.s3.client()
        present = {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}
        for uri in (INBOX, RESULTS):
            name = uri.removeprefix("s3://").rstrip("/")
            if name not in present:
                client.create_bucket(Bucket=name)

    def _prepare_dagster_home(self) -> None:
        template = _CHECKOUT / "deploy" / "local" / "dagster.yaml"
        if not template.exists():
            raise NerPipelineError(f"{template} is not there: `ner-pipeline up` and `demo` need a checkout")
        self._dagster_home.mkdir(exist_ok=True)
        shutil.copyfile(template, self._dagster_home / "dagster.yaml")

    @property
    def _dagster_home(self) -> Path:
        return self.home / "dagster"

    def _spawn(self, name: str, variables: Mapping[str, str], *arguments: str) -> ChildProcess:
        return ChildProcess(
            name,
            [sys.executable, *arguments],
            log_file=self.logs / f"{name}.log",
            environment=_service_environment(
                os.environ, {**variables, "DAGSTER_HOME": str(self._dagster_home)}
            ),
            working_dir=self.home,
            keep_open=[self._lock.descriptor],
        )

    def _wait_for_dead_runs(self) -> None:
        child = self._dead_runs
        if child is None:
            raise RuntimeError("start_s3 comes first")
        wait_until(
            lambda: child.exit_code() is not None, within_s=60, what=child.name, log_file=child.log_file
        )
        if child.exit_code() != 0:
            raise NerPipelineError(_ended(child.name, child.exit_code(), child.output(), child.log_file))

    def _wait_for_code_server(self) -> None:
        child = self._code_server
        if child is None:
            raise RuntimeError("start_code_server comes first")
        port = self._remembered()["code_server"]
        # It opens its port when all definitions are loaded.
        self._wait_for(child, lambda: answers(port), CODE_SERVER_WITHIN_S)

    def _start_ui(self, workspace: str) -> None:
        ui = self._spawn_ui(workspace, self._remembered().get("ui", DEFAULT_UI_PORT))
        if ui.exit_code() is not None:
            # Somebody else may have taken the port between our choice and the server's start.
            ui = self._spawn_ui(workspace, 0)
        self._children.append(ui)
        self.check()

    def _spawn_ui(self, workspace: str, preferred_port: int) -> ChildProcess:
        """Start the UI and wait until it serves, or has ended."""
        port = free_ports(1, preferred=[preferred_port])[0]
        ui = self._spawn(
            "webserver",
            self.environment(),
            *("-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(port), "-w", workspace),
        )
        self.ui_url = f"http://127.0.0.1:{port}"
        try:
            self._wait_for(ui, lambda: self._ui_decided(ui), UI_WITHIN_S)
        except BaseException:
            ui.stop()
            raise
        self._remember("ui", port)
        return ui

    def _ui_decided(self, ui: ChildProcess) -> bool:
        return ui.exit_code() is not None or serves_instance(self.ui_url, self._dagster_home)

    def _wait_for(self, child: ChildProcess, ready: Callable[[], bool], within_s: float) -> None:
        def ready_and_all_alive() -> bool:
            self.check()
            return ready()

        wait_until(ready_and_all_alive, within_s=within_s, what=child.name, log_file=child.log_file)

    def _remembered(self) -> dict[str, int]:
        with contextlib.suppress(OSError, ValueError):
            return {str(k): int(v) for k, v in json.loads((self.home / "ports.json").read_text()).items()}
        return {}

    def _remember(self, name: str, port: int) -> None:
        (self.home / "ports.json").write_text(json.dumps(self._remembered() | {name: port}))


def _check_settings(settings: Settings) -> None:
    """Say at once what every run would say later."""
    choose_device(settings.device)
    if settings.runs_pipeline:
        find_pipeline(settings.model)


def _ended(name: str, code: int | None, output: str, log_file: Path) -> str:
    reason = explain(output)
    return f"the service {name} ended by itself, with exit code {code}; its log: {log_file}\n{reason}"


def explain(output: str) -> str:
    """Return the part of a dead service's log that tells why: its last exception, or its last lines."""
    _, traceback, last = output.rpartition("Traceback (most recent call last):")
    lines = [line for line in last.splitlines() if line.strip()]
    if traceback:
        lines = [line for line in lines if not line.startswith(" ")] or lines
    return "\n".join(lines[-10:])


def _workspace(port: int) -> str:
    """Return the workspace file of daemon and UI. JSON is YAML, and needs no writer of its own."""
    server = {"host": "127.0.0.1", "port": port, "location_name": "ner_pipeline"}
    return json.dumps({"load_from": [{"grpc_server": server}]}, indent=1) + "\n"


def _service_environment(inherited: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """Return what the services see: the user's environment, but no other S3 and no proxy to ourselves.

    A session token, a profile or an AWS_ENDPOINT_URL_S3 of the user's would win over our variables.
    """
    kept = {name: value for name, value in inherited.items() if not name.startswith("AWS_")}
    if (model := kept.get("NER_MODEL")) and Path(model).exists():
        # The services run in a directory of their own.
        kept["NER_MODEL"] = str(Path(model).resolve())
    for name in ("NO_PROXY", "no_proxy"):
        kept[name] = ",".join(filter(None, (kept.get(name, ""), "127.0.0.1,localhost")))
    # No credentials file either: its [default] profile may name another endpoint for S3 alone.
    away = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    return kept | away | {"AWS_EC2_METADATA_DISABLED": "true"} | dict(ours)


@contextlib.contextmanager
def _signals_ignored() -> Iterator[None]:
    """Let a second Ctrl-C not break off what the first one began. All that happens inside is bounded."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
