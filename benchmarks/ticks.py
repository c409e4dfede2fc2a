"""How long the inbox sensor takes to look through a large inbox in which nothing is new.

The listing comes from the local S3 server; grouping, comparing and deciding are the sensor's own functions.
"""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.sizes import Size
from ner_pipeline.storage.document_sets import group_inbox
from ner_pipeline.storage.inbox import InboxState, TickLimits, listing_digest, plan_tick
from ner_pipeline.storage.local_server import LocalS3Server
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.objects import list_objects, put_bytes

INBOX = S3Location("bench-ticks", "inbox/")
UPLOADERS = 8
KEYS_PER_FOLDER = 100


def measure(size: Size) -> dict[str, Any]:
    inboxes, held = [], 0
    with tempfile.TemporaryDirectory(prefix="ner-ticks-") as folder:
        log_file = Path(folder) / "s3.log"
        with LocalS3Server(Path(folder) / "s3", log_file=log_file) as server:
            client = server.client()
            client.create_bucket(Bucket=INBOX.bucket)
            for keys in size.listed_keys:
                _fill(client, held, keys)
                held = keys
                inboxes.append({"keys": keys, **_look(client, size.rounds)})
    return {"inboxes": inboxes}


def _fill(client: Any, first: int, last: int) -> None:
    places = (INBOX / f"set-{number // KEYS_PER_FOLDER}/{number}.txt" for number in range(first, last))
    with ThreadPoolExecutor(UPLOADERS) as pool:
        for _ in pool.map(lambda place: put_bytes(client, place, b"text"), places):
            pass


def _look(client: Any, rounds: int) -> dict[str, float]:
    """Time the listing and the decision, after the tick that has asked for all that is there."""
    listing, deciding = [], []
    state = InboxState()
    for _ in range(rounds + 1):
        began = time.perf_counter()
        objects = list_objects(client, INBOX)
        listed = time.perf_counter()
        limits = TickLimits(settle_seconds=0, sets_per_tick=len(objects))
        digest, inbox = listing_digest(objects), group_inbox(objects, INBOX)
        state = plan_tick(inbox, state, now=0.0, limits=limits, listing=digest).state
        listing.append(listed - began)
        deciding.append(time.perf_counter() - listed)
    return {"listing_s": round(median(listing[1:]), 3), "deciding_s": round(median(deciding[1:]), 3)}
