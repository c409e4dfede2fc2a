"""What processes cost: the peak memory of each, and the CPU time of all, told by `/proc`.

On a system without `/proc`, such as macOS, there is nothing to tell, and the figures are empty.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")
LOOK_S = 0.5

# A keeper's command line ends with that of the service it keeps, so it comes first.
_NAMES = {
    "keeper": r"ner_pipeline/processes\.py",
    "weed": r"/weed",
    "daemon": r"dagster\._daemon",
    "code server": r"dagster.api.grpc",
    "resource tracker": r"resource_tracker",
}


@dataclass
class Peaks:
    """The most that each process has held, in MB, under its name and number."""

    mb: dict[str, float] = field(default_factory=dict)

    @property
    def total_mb(self) -> float:
        """All peaks together: more than was held at any one moment."""
        return round(sum(self.mb.values()), 1)


@contextmanager
def watch_memory(root: int, peaks: Peaks) -> Iterator[None]:
    """Note the peak memory of a process and of all that it starts, also of those that end meanwhile."""
    over = threading.Event()

    def look() -> None:
        while True:
            for pid in pids_below(root):
                with suppress(OSError):
                    peaks.mb[f"{_name(pid)} {pid}"] = round(memory_mb(pid, peak=True), 1)
            if over.wait(LOOK_S):
                return

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def memory_mb(pid: int, *, peak: bool = False) -> float:
    """Read how much a process holds in memory, or the most that it has held."""
    entry = "VmHWM" if peak else "VmRSS"
    match = re.search(rf"{entry}:\s+(\d+) kB", (PROC / str(pid) / "status").read_text())
    if match is None:
        raise ProcessLookupError(f"process {pid} has ended")
    return int(match[1]) / 1024


def pids_below(root: int) -> list[int]:
    """Give a process, and all those below it that live."""
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        for thread in PROC.glob(f"{found[-1]}/task/*/children"):
            with suppress(OSError):
                waiting += map(int, thread.read_text().split())
    return found


def cpu_seconds(root: int) -> float:
    """Give the CPU time of all that a process has started, the ended ones too."""
    ticks = 0
    for pid in pids_below(root)[1:]:
        with suppress(OSError):
            fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
            # Fields 14 to 17 of proc(5): user and system time, its own and that of ended children.
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _name(pid: int) -> str:
    command = (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return next((name for name, pattern in _NAMES.items() if re.search(pattern, command)), "python")
