"""What `submit`, `status` and `fetch` do: the asynchronous request, for people at a terminal.

They talk to S3 alone. Arguments are parsed in `cli`; what is uploaded, asked and fetched is decided in
`storage.submission` and `storage.progress`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from ner_pipeline.errors import NerPipelineError
from ner_pipeline.settings import Settings
from ner_pipeline.storage import submission
from ner_pipeline.storage.objects import connect
from ner_pipeline.storage.progress import SetState, SetStatus, set_status

__all__ = ["fetch", "status", "submit"]

POLL_S = 1.0
_EXIT_CODES = {SetState.FAILED: 1, SetState.UNKNOWN: 2}


def submit(paths: Sequence[Path], set_name: str) -> str:
    """Upload files with a progress bar on stderr; give the partition key."""
    files = submission.collect_files(paths)
    inbox, client = Settings.load().places.inbox, connect()
    total = sum(path.stat().st_size for path in files.values())
    columns = (
        TextColumn("uploading"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total)
        return submission.submit(
            client,
            inbox,
            set_name or submission.new_set_name(),
            files,
            lambda sent: progress.advance(task, sent),
        )


def status(key: str, *, wait: bool, as_json: bool) -> tuple[str, int]:
    """Give what to print of a set, and the exit code."""
    places, client = Settings.load().places, connect()
    found = set_status(client, places.inbox, places.results, key)
    while wait and found.state in (SetState.QUEUED, SetState.RUNNING):
        time.sleep(POLL_S)
        found = set_status(client, places.inbox, places.results, key)
    facts = _facts(found)
    text = json.dumps(facts, ensure_ascii=False) if as_json else _as_lines(facts)
    return text, _EXIT_CODES.get(found.state, 0)


def _facts(found: SetStatus) -> dict[str, Any]:
    facts: dict[str, Any] = {"key": found.key, "state": str(found.state), "reason": found.reason}
    if found.state is SetState.DONE and found.manifest is not None:
        facts |= {
            "documents": dict(found.manifest.documents),
            "reasons": [dict(count) for count in found.manifest.outcomes.counts],
            "worst": [
                {"document": account.place, **dict(account)} for account in found.manifest.outcomes.worst
            ],
            "entities": found.manifest.entities,
            "labels": dict(found.manifest.entities_by_label),
            "entities_uri": found.manifest.tables["entities"].uri,
            "outcomes_uri": found.manifest.tables["outcomes"].uri,
            "set_version": found.manifest.set_version,
            "model": str(found.manifest.model),
            "published_at": found.manifest.published_at.isoformat(),
        }
    return facts


def _as_lines(facts: dict[str, Any]) -> str:
    head = f"{facts['key']}: {facts['state']}" + (f" ({facts['reason']})" if facts["reason"] else "")
    if "documents" not in facts:
        return head
    documents = ", ".join(f"{count:,} {outcome}" for outcome, count in facts["documents"].items() if count)
    return "\n".join(
        [
            head,
            f"  documents  {documents or 'none'}",
            f"  entities   {facts['entities']:,}",
            f"  on S3      {facts['entities_uri']}",
            f"  model      {facts['model']}",
            *_reason_lines(facts["reasons"]),
            *(line for account in facts["worst"] for line in _account_lines(account)),
        ]
    )


def _reason_lines(reasons: Sequence[dict[str, Any]]) -> list[str]:
    told = [count for count in reasons if count["reason"]]
    lines = [f"{count['documents']:>10,} {count['outcome']}: {count['reason']}" for count in told]
    return ["", "  reasons and warnings", *lines] if lines else []


def _account_lines(account: dict[str, Any]) -> list[str]:
    return [
        "",
        f"  {_printable(account['document'])}",
        f"    {account['outcome']}: {account['reason']}; {account['action']}",
        f"    {_printable(account['detail'])}",
    ]


def _printable(text: str) -> str:
    """Let no key of an uploader write control sequences to somebody's terminal."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def fetch(key: str, form: str, output: Path | None) -> str:
    """Write the entities of a set into a local file; give what to print."""
    if form not in list(submission.TableFormat):
        raise NerPipelineError(f"--format {form}: use one of {', '.join(submission.TableFormat)}")
    target = output or Path(f"{key}.{form}")
    if output is not None and not target.parent.is_dir():
        raise NerPipelineError(f"{target}: there is no folder {target.parent}")
    places = Settings.load().places
    rows = submission.fetch(connect(), places.results, key, submission.TableFormat(form), target)
    return f"{rows:,} entities in {target}"
