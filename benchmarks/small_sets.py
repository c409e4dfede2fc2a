"""What a set costs that holds next to nothing: sets per hour, and CPU seconds for each.

Folder sets of one short document each, all uploaded together. The CPU time is that of all services, less what
they use while nothing happens.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.process_tree import cpu_seconds
from benchmarks.sizes import Size
from benchmarks.stack_runs import Services, services
from benchmarks.texts import load_texts
from ner_pipeline.local.stack import INBOX
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.submission import submit

IDLE_S = 20.0
"""Four ticks of the sensor, to see what waiting costs."""


def measure(size: Size) -> dict[str, Any]:
    with services() as running:
        _process_sets(running, 1, "first")
        idle_per_s = _idle_cpu(IDLE_S)
        before, began = cpu_seconds(os.getpid()), time.time()
        _process_sets(running, size.one_document_sets, "measured")
        seconds = time.time() - began
        used = cpu_seconds(os.getpid()) - before - idle_per_s * seconds
    return {
        "sets": size.one_document_sets,
        "seconds": round(seconds, 1),
        "sets_per_hour": round(size.one_document_sets * 3_600 / seconds),
        "cpu_seconds_per_set": round(used / size.one_document_sets, 2),
        "idle_cpu_share_of_a_core": round(idle_per_s, 3),
    }


def _process_sets(running: Services, count: int, name: str) -> None:
    texts, client = load_texts().texts, running.stack.s3.client()
    since = time.time()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            path = Path(folder) / "document.txt"
            path.write_text(f"{name} {number}\n{texts[number % len(texts)]}", encoding="utf-8")
            inbox = S3Location.parse_prefix(INBOX)
            submit(client, inbox, f"{name}-{number}", {path.name: path}, lambda sent: None)
    running.wait_for_runs(count, since)


def _idle_cpu(seconds: float) -> float:
    before = cpu_seconds(os.getpid())
    time.sleep(seconds)
    return (cpu_seconds(os.getpid()) - before) / seconds
