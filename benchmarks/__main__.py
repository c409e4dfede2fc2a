"""Measure, print, and write `.local/bench.json`.

    python -m benchmarks [--full | --small] [--only throughput,loading]

`make bench` runs all parts. With `--only`, the figures of the other parts stay as they were last measured;
each part says when and at which commit. A part that fails is named, the others still run, and the exit code
is 1.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.chart import CHART, draw
from benchmarks.parts import PARTS, ROOT, run
from benchmarks.report import BENCH, show
from ner_pipeline.inference.pool.cores import usable_cores

HEADLINES = (
    "tokens",
    "ways",
    "ratio_to_nlp_pipe_all_cores",
    "differing_entities",
    "sgemm_bound_share",
    "peak_rss_mb",
)
"""Figures of the part `throughput` that stand at the top of the file."""


def summarise(parts: Mapping[str, Mapping[str, Any]], failed: Mapping[str, str], size: str) -> dict[str, Any]:
    """Put together what the file holds."""
    headlines = {name: parts.get("throughput", {}).get(name) for name in HEADLINES}
    return {
        **headlines,
        "size": size,
        "measured_at": _now(),
        "machine": _machine(),
        "parts": dict(parts),
        "failed": dict(failed),
    }


def main() -> None:
    arguments = _arguments()
    parts = _measured_before() if arguments.only != list(PARTS) else {}
    failed: dict[str, str] = {}
    for part in arguments.only:
        figures, failure = run(part, arguments.size)
        if failure:
            failed[part] = failure
            parts.pop(part, None)
        else:
            parts[part] = {**figures, "size": arguments.size, "measured_at": _now(), "commit": _commit()}
        bench = summarise(parts, failed, arguments.size)
        BENCH.parent.mkdir(exist_ok=True)
        BENCH.write_text(json.dumps(bench, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    show(bench, Console())
    print(f"\n{BENCH.relative_to(ROOT)} written")
    if bench["ways"] and arguments.size != "small" and "throughput" in arguments.only:
        draw(bench, CHART)
        print(f"{CHART.relative_to(ROOT)} drawn")
    sys.exit(bool(failed))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure, print and write.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", dest="size", action="store_const", const="full", help="about an hour")
    size.add_argument("--small", dest="size", action="store_const", const="small", help="only to try it")
    parser.add_argument("--only", type=_parts, default=list(PARTS), help=f"some of {','.join(PARTS)}")
    parser.set_defaults(size="default")
    return parser.parse_args()


def _parts(value: str) -> Sequence[str]:
    chosen = value.split(",")
    if unknown := set(chosen) - PARTS.keys():
        raise argparse.ArgumentTypeError(
            f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}"
        )
    return chosen


def _measured_before() -> dict[str, Any]:
    return dict(json.loads(BENCH.read_text())["parts"]) if BENCH.exists() else {}


def _machine() -> dict[str, Any]:
    return {
        "cores": usable_cores(),
        "cpu": _cpu(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("spacy", "thinc", "numpy", "dagster")},
    }


def _cpu() -> str:
    """Give the name of the processor, where the system tells."""
    described = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    match = re.search(r"model name\s*: (.+)", described)
    return match[1] if match else platform.processor() or platform.machine()


def _commit() -> str:
    command = ("git", "describe", "--always", "--dirty", "--exclude=*")
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


if __name__ == "__main__":
    main()
