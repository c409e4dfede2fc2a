"""What the extractor said of each distinct text: as a table, and found again for a document.

In columns, since a set has millions of spans. What is said of a text is not judged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ner_pipeline.inference.pool.ledger import TextResult
from ner_pipeline.inference.spans import Span
from ner_pipeline.storage.tables import TEXT_RESULTS

__all__ = ["StoredResults", "results_table"]

_SPANS = TEXT_RESULTS.field("spans").type


def results_table(results: Sequence[TextResult]) -> pa.Table:
    """Give results as rows of `TEXT_RESULTS`."""
    plain = ("outcome", "reason", "detail", "seconds", "approximate")
    columns = {name: [getattr(result, name) for result in results] for name in plain}
    shas = [result.id for result in results]
    return pa.table({"text_sha256": shas, **columns, "spans": _spans_column(results)}, schema=TEXT_RESULTS)


def _spans_column(results: Sequence[TextResult]) -> pa.ListArray:
    spans = [span for result in results for span in result.spans]
    fields = list(_SPANS.value_type)
    columns = [pa.array([span[index] for span in spans], field.type) for index, field in enumerate(fields)]
    ends = pa.array(accumulate((len(result.spans) for result in results), initial=0), pa.int32())
    return pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays(columns, fields=fields), type=_SPANS)


def _results(table: pa.Table) -> Iterator[TextResult]:
    """Give the rows of `TEXT_RESULTS` as results."""
    lists = table["spans"].combine_chunks()
    spans = map(Span, *(column.to_pylist() for column in lists.flatten().flatten()))
    plain = ("text_sha256", "outcome", "reason", "detail", "seconds", "approximate")
    columns = [table[name].to_pylist() for name in plain]
    for count, sha256, *told in zip(lists.value_lengths().to_pylist(), *columns, strict=True):
        yield TextResult(sha256, list(islice(spans, count)), *told)


class StoredResults:
    """The results of all shards.

    Only a few shards are held at a time. The documents of a shard lie close together in the table, so in
    the order of the documents a shard is loaded once, or a few times where long texts lie in between.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        held = [pq.read_table(path, columns=["text_sha256"])["text_sha256"] for path in files]
        self._begins = np.cumsum([0, *map(len, held)])
        self._sha256s = pa.chunked_array([chunk for column in held for chunk in column.chunks], pa.string())
        self._table = lru_cache(maxsize=4)(self._load)

    def places(self, sha256s: pa.ChunkedArray) -> pa.ChunkedArray:
        """Give where the result of each text stands, as `at` takes it; null where there is none."""
        return pc.index_in(sha256s, value_set=self._sha256s)

    def at(self, places: NDArray[np.int64]) -> Iterator[TextResult]:
        """Give the results that stand at these places, in this order."""
        files = np.searchsorted(self._begins, places, side="right") - 1
        by_file = np.argsort(files, kind="stable")
        parts = [self._rows(file, places[files == file]) for file in np.unique(files)]
        return _results(pa.concat_tables([TEXT_RESULTS.empty_table(), *parts]).take(np.argsort(by_file)))

    def _load(self, file: int) -> pa.Table:
        return pq.read_table(self._files[file])

    def _rows(self, file: int, places: NDArray[np.int64]) -> pa.Table:
        return self._table(file).take(places - self._begins[file])
