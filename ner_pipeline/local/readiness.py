"""Waiting for services: always by looking, always with a deadline."""

from __future__ import annotations

import socket
import time
import urllib.request
from typing import TYPE_CHECKING

from ner_pipeline.errors import NerPipelineError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["answers", "serves", "wait_until"]


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


def serves(url: str) -> bool:
    """Tell whether a GET of an http address on this machine succeeds."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(url, timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False
