"""How many cores a process may use, told from files as Linux writes them."""

import os

import pytest

from ner_pipeline.inference.pool import cores
from ner_pipeline.inference.pool.cores import usable_cores


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Plants a machine of 8 cores, the process's control groups, and the files of quotas."""
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)

    def plant(groups, **quotas):
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(groups)
        for name, text in quotas.items():
            path = tmp_path / "sys/fs/cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return plant


def version_1(folder, quota, period="100000"):
    return {f"{folder}/cpu.cfs_quota_us": f"{quota}\n", f"{folder}/cpu.cfs_period_us": f"{period}\n"}


@pytest.mark.parametrize(
    ("groups", "quotas", "expected"),
    [
        ("0::/\n", {"cpu.max": "max 100000\n"}, 8),
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "10000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "1600000 100000\n"}, 8),
        ("0::/a/b\n", {"a/b/cpu.max": "400000 100000\n", "a/cpu.max": "300000 100000\n"}, 3),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "max 100000\n"}, 8),
        ("0::/the/path/on/the/host\n", {"cpu.max": "200000 100000\n"}, 2),
        ("3:cpu,cpuacct:/\n0::/\n", version_1("cpu", -1), 8),
        ("3:cpu,cpuacct:/\n0::/\n", version_1("cpu", 250000), 3),
        ("1:cpu:/docker/4f\n", version_1("cpu", 50000, 25000), 2),
        ("1:cpu:/a/b\n", version_1("cpu/a/b", -1) | version_1("cpu/a", 500000), 5),
        ("2:cpuset:/\n", version_1("cpu", 100000), 8),
        ("", {}, 8),
    ],
    ids=[
        "no-limit",
        "two-cores",
        "a-core-and-a-half",
        "a-tenth",
        "more-than-there-are",
        "the-group-above-is-narrower",
        "no-limit-in-either",
        "the-hosts-path-in-a-container",
        "v1-no-limit",
        "v1-two-and-a-half",
        "v1-the-hosts-path",
        "v1-the-group-above",
        "a-group-of-other-things",
        "no-groups",
    ],
)
def test_the_narrowest_limit_counts(machine, groups, quotas, expected):
    assert usable_cores(machine(groups, **quotas)) == expected


def test_without_control_groups_the_affinity_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert usable_cores(tmp_path) == 3


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinity")
def test_here_it_is_no_more_than_the_affinity():
    assert 1 <= usable_cores() <= len(os.sched_getaffinity(0))
