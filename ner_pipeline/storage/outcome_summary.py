"""What became of a set's documents, in a few lines: counts by reason, and the worst documents in words.

Made while the outcomes are written, and kept in the manifest, so that `status` and the report need not read
a table of ten million rows.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel

__all__ = ["WORST_DOCUMENTS", "DocumentAccount", "OutcomeSummary", "OutcomeTally", "ReasonCount"]

WORST_DOCUMENTS = 10
DETAIL_CHARS = 400
"""A detail may quote its record; the outcomes table has it whole."""

_PLACE = ["source_key", "member", "record", "byte_offset", "outcome"]
_TOLD = [*_PLACE, "reason", "warnings", "detail", "action"]
_WORST_FIRST = ("failed", "rejected", "skipped", "ok", "empty")


class ReasonCount(BaseModel, frozen=True):
    """How many documents came to one outcome for one reason, or with one warning."""

    outcome: str
    reason: str
    """Empty for documents of which there is nothing to say."""
    documents: int


class DocumentAccount(BaseModel, frozen=True):
    """One document that somebody should look at."""

    source_key: str
    member: str | None
    record: int | None
    byte_offset: int | None
    outcome: str
    reason: str
    """The reason code; of a document that was read, its warnings."""
    detail: str
    action: str

    @property
    def place(self) -> str:
        """Say where it stands, for people."""
        member = f" > {self.member}" if self.member else ""
        record = f" record {self.record:,}" if self.record else ""
        byte = f" at byte {self.byte_offset:,}" if self.record and self.byte_offset is not None else ""
        return f"{self.source_key}{member}{record}{byte}"


class OutcomeSummary(BaseModel, frozen=True):
    """The outcomes of a set."""

    counts: tuple[ReasonCount, ...] = ()
    """The commonest first. A document with two warnings is counted under each."""
    worst: tuple[DocumentAccount, ...] = ()
    """Failed, rejected, skipped, then those read with a warning; of each reason one before a second."""


class OutcomeTally:
    """Counts the rows of outcome tables, in bounded memory."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._worst: list[tuple[tuple[int, int, int], DocumentAccount]] = []
        self._told = 0

    def add(self, outcomes: pa.Table) -> None:
        """Take the documents of a table into account."""
        is_told = pc.or_(
            pc.not_equal(outcomes["reason"], ""), pc.greater(pc.list_value_length(outcomes["warnings"]), 0)
        )
        quiet = outcomes["outcome"].filter(pc.invert(is_told))
        for entry in quiet.value_counts().to_pylist():
            self._counts[entry["values"], ""] += entry["counts"]
        for row in outcomes.select(_TOLD).filter(is_told).to_pylist():
            self._add(row)

    def _add(self, row: Mapping[str, Any]) -> None:
        """Take a document of which there is something to say into account."""
        self._told += 1
        reasons = [row["reason"]] if row["reason"] else row["warnings"]
        self._counts.update((row["outcome"], reason) for reason in reasons)
        if row["outcome"] != "empty":
            repeats = max(self._counts[row["outcome"], reason] for reason in reasons)
            self._keep((_WORST_FIRST.index(row["outcome"]), repeats, self._told), row, reasons)

    def summary(self) -> OutcomeSummary:
        """Give the summary of the rows so far."""
        counts = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return OutcomeSummary(
            counts=tuple(
                ReasonCount(outcome=outcome, reason=reason, documents=count)
                for (outcome, reason), count in counts
            ),
            worst=tuple(account for _, account in self._worst),
        )

    def _keep(self, rank: tuple[int, int, int], row: Mapping[str, Any], reasons: list[str]) -> None:
        if len(self._worst) == WORST_DOCUMENTS and rank > self._worst[-1][0]:
            return
        detail = row["detail"]
        account = DocumentAccount(
            **{name: row[name] for name in _PLACE},
            reason=", ".join(reasons),
            detail=detail if len(detail) <= DETAIL_CHARS else f"{detail[:DETAIL_CHARS]}…",
            action=row["action"],
        )
        insort(self._worst, (rank, account), key=lambda kept: kept[0])
        del self._worst[WORST_DOCUMENTS:]
