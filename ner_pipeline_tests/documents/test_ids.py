import pytest
from hypothesis import given
from hypothesis import strategies as st

from ner_pipeline.documents import doc_id

keys = st.text(alphabet="ab#01/\n٣", max_size=8)
documents = st.tuples(keys, st.none() | st.integers(1, 120))


@given(documents, documents)
def test_two_documents_never_share_an_id(one, other):
    assert (doc_id(*one) == doc_id(*other)) == (one == other)


@pytest.mark.parametrize(
    ("key", "record", "expected"),
    [
        ("in/a.txt", None, "in/a.txt"),
        ("in/a.jsonl", 12, "in/a.jsonl#12"),
        ("in/a#1", None, "in/a#1#0"),
        ("in/a#1\n", None, "in/a#1\n"),
        ("in/a#b", None, "in/a#b"),
    ],
)
def test_ids_are_readable(key, record, expected):
    assert doc_id(key, record) == expected
