"""Waiting for services: always by looking, always with a deadline."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from typing import TYPE_CHECKING

from ner_pipeline.errors import NerPipelineError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["answers", "serves_instance", "wait_until"]


def wait_until(condition: Callable[[], bool], *, within_s: float, what: str, log_file: Path) -> None:
    """Look at `condition` again and again until it holds.

    Raises:
        NerPipelineError: it does not hold within `within_s`.
    """
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise NerPipelineError(f"{what} was not ready within {within_s:g} s; its log: {log_file}")
        time.sleep(0.05)


def answers(port: int) -> bool:
    """Tell whether somebody listens on the port of the loopback interface."""
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex(("127.0.0.1", port)) == 0


def serves_instance(url: str, dagster_home: Path) -> bool:
    """Tell whether Dagster's UI at an address on this machine is that of the instance in `dagster_home`.

    Not merely whether somebody answers there: two stacks that start at the same time choose the same free
    port, and the one whose UI is slower would take the other's for its own.
    """
    query = json.dumps({"query": "{ instance { info } }"}).encode()
    request = urllib.request.Request(f"{url}/graphql", query, {"Content-Type": "application/json"})  # noqa: S310 - an address of ours
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=2) as response:
            return str(dagster_home) in json.load(response)["data"]["instance"]["info"]
    except (OSError, ValueError, LookupError, TypeError):
        return False
