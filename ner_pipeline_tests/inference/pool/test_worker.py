"""What a worker says of an extractor that raises."""

import pytest

from ner_pipeline.inference.pool import worker
from ner_pipeline.inference.pool.worker import DETAIL_CHARS, BatchFailed, extract_batch


class Raising:
    """An extractor that says what its text says."""

    def extract(self, texts):
        raise ValueError(texts[0])


@pytest.fixture(autouse=True)
def _raising(monkeypatch):
    monkeypatch.setattr(worker._state, "extractor", Raising())


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("bad shape", "ValueError: bad shape"),
        ("bad\r\n\tshape\u2028here ", "ValueError: bad shape here"),
        ("\x1b[31mred\0\u202e", "ValueError: \ufffd[31mred\ufffd\ufffd"),
        ("half \ud83d", "ValueError: half \ufffd"),
        ("naïve 北京 😀", "ValueError: naïve 北京 😀"),
    ],
    ids=["plain", "lines", "control", "surrogate", "any-script"],
)
def test_an_error_is_told_in_one_printable_line(message, expected):
    assert extract_batch([message]) == BatchFailed(expected)


def test_a_long_error_is_cut():
    told = extract_batch(["x" * 10_000])
    assert isinstance(told, BatchFailed)
    assert len(told.detail) == DETAIL_CHARS + 1
    assert told.detail.endswith("x…")
