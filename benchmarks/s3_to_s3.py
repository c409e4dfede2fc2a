"""Many records from S3 to S3: one set of `.jsonl` objects, from the end of its upload to published tables.

As a user runs it: the sensor finds the set, nothing is started by hand. Beside the total stand the seconds of
each part, the peak memory of each process, and the share of the time in which nothing is inferred.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.process_tree import Peaks, watch_memory
from benchmarks.sizes import Size
from benchmarks.stack_runs import Services, services
from benchmarks.texts import count_tokens, load_texts, records
from ner_pipeline.local.stack import INBOX, RESULTS
from ner_pipeline.storage.layout import Layout
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import Manifest, read_manifest
from ner_pipeline.storage.submission import submit

RECORDS_PER_OBJECT = 10_000
COUNTED_RECORDS = 2_000
"""Tokens are counted in so many records, and reckoned for the others."""
SET = "records"


def measure(size: Size) -> dict[str, Any]:
    peaks = Peaks()
    with services() as running:
        uploaded = _upload(running, size.records)
        with watch_memory(os.getpid(), peaks):
            [run] = running.wait_for_runs(1, uploaded)
        parts = running.parts(run, uploaded)
        manifest = _manifest(running)
    total = parts["total"]
    tokens_each = count_tokens(tuple(records(COUNTED_RECORDS))) / COUNTED_RECORDS
    return {
        "texts": load_texts().name,
        "records": size.records,
        "tokens_per_record": round(tokens_each, 1),
        "documents": dict(manifest.documents),
        "entities": manifest.entities,
        "extractor": manifest.model.extractor,
        "parts_s": {name: round(seconds, 2) for name, seconds in parts.items()},
        "documents_per_s": round(size.records / total, 1),
        "tokens_per_s": round(size.records * tokens_each / total),
        "share_outside_inference": round(1 - parts["infer"] / total, 3),
        "peak_rss_mb": {name: mb for name, mb in peaks.mb.items() if not name.startswith("keeper")},
    }


def _upload(running: Services, count: int) -> float:
    """Upload the records as a set, and give the moment when all was there."""
    with tempfile.TemporaryDirectory() as folder:
        files = dict(_files(Path(folder), count))
        inbox = S3Location.parse_prefix(INBOX)
        submit(running.stack.s3.client(), inbox, SET, files, lambda sent: None)
    return time.time()


def _files(folder: Path, count: int) -> Iterator[tuple[str, Path]]:
    left = records(count)
    for number in range(-(-count // RECORDS_PER_OBJECT)):
        path = folder / f"part-{number:04}.jsonl"
        part = islice(left, RECORDS_PER_OBJECT)
        lines = (json.dumps({"id": f"{number}-{line}", "text": text}) for line, text in enumerate(part))
        path.write_text("\n".join(lines) + "\n")
        yield path.name, path


def _manifest(running: Services) -> Manifest:
    manifest = read_manifest(running.stack.s3.client(), Layout(S3Location.parse_prefix(RESULTS)).of_set(SET))
    if manifest is None:
        raise SystemExit("the run ended well, but nothing is published")
    return manifest
