"""How many cores this process may use, which in a container or on a shared machine are not all.

Asks the scheduler's affinity and the CPU quotas of the process's control group and of all groups above it,
of version 2 (`cpu.max`) and version 1 (`cpu.cfs_quota_us`). How many workers that makes is for `topology`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

__all__ = ["cpu_groups", "quota", "usable_cores"]


def usable_cores(root: Path = Path("/")) -> int:
    """Give the cores to compute with, at least 1. Below `root` lie `proc` and `sys`.

    A part of a core counts as one: to be held back now and then costs less than to leave it idle.
    """
    limit = min([_allowed(), *map(quota, _quota_texts(root))])
    return max(1, math.ceil(limit))


def quota(text: str) -> float:
    """Read how many cores a quota is worth: `QUOTA PERIOD`, where `max` and `-1` mean no limit."""
    limit, period = text.split()
    return math.inf if limit in {"max", "-1"} else int(limit) / int(period)


def cpu_groups(text: str) -> Iterator[tuple[int, PurePosixPath]]:
    """Read `/proc/self/cgroup`: the version and the path of each group that may limit the CPU.

    >>> list(cpu_groups("4:memory:/a\\n1:cpu,cpuacct:/b\\n0::/c"))
    [(1, PurePosixPath('/b')), (2, PurePosixPath('/c'))]
    """
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            yield (1 if controllers else 2), PurePosixPath(path)


def _allowed() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quota_texts(root: Path) -> Iterator[str]:
    with suppress(OSError):
        for version, group in cpu_groups((root / "proc/self/cgroup").read_text()):
            for path in (group, *group.parents):
                with suppress(OSError):
                    yield _quota_text(root / "sys/fs/cgroup", version, path.relative_to("/"))


def _quota_text(mount: Path, version: int, group: PurePosixPath) -> str:
    """Read the quota of one group. In a container the path may be the host's, of which only `/` is there."""
    if version == 2:
        return (mount / group / "cpu.max").read_text()
    folder = mount / "cpu" / group
    return f"{(folder / 'cpu.cfs_quota_us').read_text()} {(folder / 'cpu.cfs_period_us').read_text()}"
