"""Documents and results put together: the rows that are published of them, every rule applied.

A batch of documents at a time, in columns: what is done for each document alone is what its text and its
spans decide, by the rules of `inference.validation`. Nothing is read or written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ner_pipeline.documents.document import Outcome, Warned, action_taken
from ner_pipeline.inference.pool.ledger import TextResult
from ner_pipeline.inference.scripts import describe_mismatch, foreign_script
from ner_pipeline.inference.spans import Span
from ner_pipeline.inference.validation import utf8_offsets, utf16_offsets, validate
from ner_pipeline.storage.manifests import ModelRecord
from ner_pipeline.storage.tables import ENTITIES, QUARANTINE

__all__ = ["MergedBatch", "merge_batch"]

_SOURCE = ["doc_id", "source_key", "source_etag", "source_last_modified", "set_version"]
"""What a row about a span says of its document."""
_ENTITY = (
    *("entity", "label", "start", "end"),
    *("start_utf16", "end_utf16", "start_utf8", "end_utf8", "kb_id"),
)
_REFUSED = ("start", "end", "label", "reason")

_Row = dict[str, Any]
_Change = Callable[[_Row], _Row]


@dataclass(frozen=True, slots=True)
class MergedBatch:
    """What became of some documents: rows of the three tables, and how many spans were mended."""

    outcomes: pa.Table
    entities: pa.Table
    quarantine: pa.Table
    trimmed: int
    dropped: int


def merge_batch(
    accounts: pa.Table,
    texts: Iterable[str | None],
    results: Iterator[TextResult],
    model: ModelRecord,
    *,
    utf8: bool,
) -> MergedBatch:
    """Judge the spans of some documents.

    Args:
        accounts: the rows of `OUTCOMES` as the reading has left them.
        texts: of each document its text.
        results: of each document that is `ok` its result.
    """
    found = _Found(model, utf8)
    for number, (outcome, text) in enumerate(zip(accounts["outcome"].to_pylist(), texts, strict=True)):
        if outcome == Outcome.OK and text is not None:
            found.judge(number, text, next(results))
    return found.batch(accounts)


@dataclass(slots=True)
class _Found:
    """What is found in the documents of a batch, each of which is known by its number in it."""

    model: ModelRecord
    utf8: bool
    entities: list[tuple[Any, ...]] = field(default_factory=list)
    """The number of the document, then the columns `_ENTITY`."""
    refused: list[tuple[Any, ...]] = field(default_factory=list)
    """The number of the document, then the columns `_REFUSED`."""
    changes: dict[int, _Change] = field(default_factory=dict)
    trimmed: int = 0
    dropped: int = 0

    def judge(self, number: int, text: str, result: TextResult) -> None:
        """Apply the rules to the spans of one document."""
        if result.outcome == "failed":
            self.changes[number] = partial(_failed, result=result)
            return
        # A model that names no labels (some custom components do not) may give any.
        judged = validate(text, result.spans, self.model.labels or None)
        self.entities.extend(_entities(number, text, judged.spans, utf8=self.utf8))
        self.refused.extend(
            (number, span.start, span.end, span.label, reason) for span, reason in judged.quarantined
        )
        self.trimmed += judged.trimmed
        self.dropped += judged.dropped
        if warned := _warnings(text, result, self.model):
            self.changes[number] = partial(_warned, warned=warned)

    def batch(self, accounts: pa.Table) -> MergedBatch:
        """Give the rows of all that was found."""
        name = str(self.model)
        return MergedBatch(
            _outcomes(accounts, self.changes, [number for number, *_ in self.entities], name),
            _about_spans(accounts, self.entities, _ENTITY, name, ENTITIES),
            _about_spans(accounts, self.refused, _REFUSED, name, QUARANTINE),
            self.trimmed,
            self.dropped,
        )


def _entities(number: int, text: str, spans: list[Span], *, utf8: bool) -> Iterator[tuple[Any, ...]]:
    units = utf16_offsets(text, spans)
    octets = utf8_offsets(text, spans) if utf8 else [(None, None)] * len(spans)
    for span, unit_edges, octet_edges in zip(spans, units, octets, strict=True):
        start, end, label, kb_id = span
        yield (number, text[start:end], label, start, end, *unit_edges, *octet_edges, kb_id or None)


def _warnings(text: str, result: TextResult, model: ModelRecord) -> dict[str, str]:
    """Say what is to be known of a document that was read and computed."""
    warned: dict[str, str] = {}
    if result.approximate:
        warned[Warned.APPROXIMATE] = "the text was cut where its model wants it whole"
    if script := foreign_script(text, model.scripts):
        warned[Warned.LANGUAGE_MISMATCH] = describe_mismatch(script, model.scripts)
    return warned


def _warned(row: _Row, warned: Mapping[str, str]) -> _Row:
    detail = "; ".join(filter(None, (row["detail"], *warned.values())))
    return {**row, "warnings": sorted({*row["warnings"], *warned}), "detail": detail}


def _failed(row: _Row, result: TextResult) -> _Row:
    action = action_taken(Outcome.FAILED, record=row["record"])
    told = {"outcome": Outcome.FAILED, "reason": result.reason, "detail": result.detail}
    return {**row, **told, "action": action}


def _outcomes(
    accounts: pa.Table, changes: Mapping[int, _Change], owners: Sequence[int], model: str
) -> pa.Table:
    """Give the outcome rows; `owners` are the documents of the entities."""
    counts = np.bincount(np.array(owners, np.int64), minlength=len(accounts))
    counted = _with_column(_changed(accounts, changes), "entities", pa.array(counts, pa.int64()))
    return _with_column(counted, "model", pa.repeat(model, len(accounts)))


def _changed(accounts: pa.Table, changes: Mapping[int, _Change]) -> pa.Table:
    """Put changed rows in the place of the former ones: they are few, and the others never become objects."""
    numbers = np.array(list(changes), np.int64)
    rows = zip(accounts.take(numbers).to_pylist(), changes.values(), strict=True)
    changed = pa.Table.from_pylist([change(row) for row, change in rows], schema=accounts.schema)
    places = np.arange(len(accounts))
    places[numbers] = len(accounts) + np.arange(len(numbers))
    return pa.concat_tables([accounts, changed]).take(places)


def _with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    index = table.schema.get_field_index(name)
    return table.set_column(index, table.schema.field(index), values)


def _about_spans(
    accounts: pa.Table, rows: Sequence[tuple[Any, ...]], names: Sequence[str], model: str, schema: pa.Schema
) -> pa.Table:
    """Give rows about spans, each with the columns of its document."""
    source = accounts.select(_SOURCE).take(pa.array([row[0] for row in rows], pa.int64()))
    told = {name: [row[index] for row in rows] for index, name in enumerate(names, start=1)}
    columns = {**told, **dict(zip(_SOURCE, source.columns, strict=True)), "model": [model] * len(rows)}
    return pa.table(columns, schema=schema)
