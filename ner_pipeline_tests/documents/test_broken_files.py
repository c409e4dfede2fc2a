import io

import pytest

from ner_pipeline.documents import read_documents
from ner_pipeline_tests.documents.broken_files import FORMATS, PACKINGS, WAYS, mixed_set


def check(documents, expected):
    assert [(d.outcome, d.reason) for d in documents] == [(e.outcome, e.reason) for e in expected]
    for document, wanted in zip(documents, expected, strict=True):
        assert wanted.text is None or document.text == wanted.text
        assert not wanted.warning or wanted.warning in document.warnings
        for start, end, entity in wanted.entities:
            assert document.text[start:end] == entity


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_be_broken_has_its_outcome(read, way):
    name, raw, expected = WAYS[way]
    documents = read(name, raw)
    check(documents, expected)
    assert all(d.detail for d in documents if d.outcome == "rejected")
    check(read(name, raw, size=len(raw)), expected)
    assert read(name, raw, block_sizes=[1000, 7]) == documents


def test_of_a_mixed_set_every_document_is_as_expected_and_none_is_missing(full):
    files = mixed_set(5_000 if full else 200, seed=1)
    assert sum(file.way is not None for file in files.values()) == len(files) // 10
    for name, (raw, expected, _) in files.items():
        check(list(read_documents(name, io.BytesIO(raw), size=len(raw))), expected)


def test_a_mixed_set_is_the_same_each_time_and_has_all_formats_and_packings():
    files = mixed_set(200, seed=1)
    assert files == mixed_set(200, seed=1)
    assert files != mixed_set(200, seed=2)
    good = {name.partition("good")[2] for name, file in files.items() if file.way is None}
    assert good == {f".{kind}{packing}" for kind in FORMATS for packing in PACKINGS}
