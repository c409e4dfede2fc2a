"""The parts of the benchmark, each in a process of its own: one cannot slow or fatten another.

    python -m benchmarks.parts PART SIZE FILE

runs one part and writes its figures to FILE, which is what `python -m benchmarks` does for each.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.sizes import SIZES

ROOT = Path(__file__).parents[1]

PARTS = {
    "throughput": "tokens per second, beside spaCy and what others do",
    "linear": "what twice as many documents cost, and one twice as long",
    "memory": "what a worker holds after each batch, and after a flood of new words",
    "loading": "from a new process to the first result",
    "ticks": "how long the sensor looks through a large inbox",
    "upload_to_result": "from the end of an upload to entities on S3, one text of 1 MB",
    "small_sets": "what a set of one document costs",
    "s3_to_s3": "records from S3 to S3, as a user runs it",
}


def run(part: str, size: str) -> tuple[dict[str, Any], str]:
    """Run a part; give its figures, and what went wrong."""
    print(f"\n{part}: {PARTS[part]}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "figures.json"
        command = (sys.executable, "-m", "benchmarks.parts", part, size, str(written))
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code != 0:
            return {}, f"it ended with exit code {code}; see what it printed"
        figures = json.loads(written.read_text())
    return {**figures, "took_s": round(time.monotonic() - began, 1)}, ""


def main() -> None:
    part, size, written = sys.argv[1:]
    figures = importlib.import_module(f"benchmarks.{part}").measure(SIZES[size])
    Path(written).write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
