"""What the extractor said, through the table and back."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ner_pipeline.inference.pool.ledger import TextResult
from ner_pipeline.inference.spans import Span
from ner_pipeline.orchestration.text_results import StoredResults, results_table
from ner_pipeline.storage.tables import TEXT_RESULTS

RESULTS = [
    TextResult("a", [Span(0, 3, "WORD"), Span(4, 9, "WORD", "Q1")], seconds=0.5),
    TextResult("b", []),
    TextResult("c", [], outcome="failed", reason="timeout", detail="it took longer"),
    TextResult("d", [Span(-1, 99, "")], approximate=True),
    TextResult("e", [Span(2, 3, "WORD")]),
]


def stored(folder, *parts):
    paths = [folder / f"{number}.parquet" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        pq.write_table(results_table(part), path)
    return StoredResults(paths)


def test_results_come_back_as_they_were_put_in_any_order_from_any_shard(tmp_path):
    results = stored(tmp_path, RESULTS[3:], [], RESULTS[:2], RESULTS[2:3])
    asked = ["c", "a", "e", "a", "b", "d"]
    places = results.places(pa.chunked_array([asked]))
    assert [result.id for result in results.at(places.to_numpy())] == asked
    assert list(results.at(results.places(pa.chunked_array([list("abcde")])).to_numpy())) == RESULTS


def test_a_text_without_a_result_has_no_place(tmp_path):
    places = stored(tmp_path, RESULTS).places(pa.chunked_array([["b", "z", None]]))
    assert places.to_pylist() == [1, None, None]
    assert stored(tmp_path).places(pa.chunked_array([["b"]])).to_pylist() == [None]


def test_nothing_asked_is_nothing_given(tmp_path):
    assert list(stored(tmp_path, RESULTS).at(np.array([], np.int64))) == []
    assert results_table([]).schema.equals(TEXT_RESULTS)
