"""How long from the end of an upload to published entities, and where the time goes.

One text of 1 MB as a loose file, through all services, each time as content that was never seen before.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.sizes import Size
from benchmarks.stack_runs import Services, services
from benchmarks.texts import load_texts
from ner_pipeline.local.stack import INBOX
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import put_file

BUDGET_S = {"tick": 5, "queue": 1, "launch": 5, "load": 2, "infer": 10, "publish": 1, "total": 29}
"""Seconds for 1 MB of text: in all no more than an API gateway waits."""


def measure(size: Size) -> dict[str, Any]:
    text = "\n\n".join(load_texts().texts)[: size.latency_chars]
    with services() as running:
        runs = [_upload(running, text, number) for number in range(size.rounds)]
    parts = {name: round(median(run[name] for run in runs), 2) for name in runs[0]}
    return {"chars": len(text), "runs": runs, "parts_s": parts, "budget_s": BUDGET_S}


def _upload(running: Services, text: str, number: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "fresh.txt"
        fresh.write_text(f"{text}\nMeasured for the {number}th time.\n", encoding="utf-8")
        put_file(running.stack.s3.client(), S3Location.parse(INBOX) / f"latency-{number}.txt", fresh)
    uploaded = time.time()
    [run] = running.wait_for_runs(1, uploaded)
    return {name: round(seconds, 3) for name, seconds in running.parts(run, uploaded).items()}
