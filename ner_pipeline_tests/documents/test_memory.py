"""Peak memory, measured in a process of its own: the peak of this one is that of all its tests."""

import subprocess
import sys

import pytest

MEASURE = """
import resource, sys
from itertools import repeat
from ner_pipeline.documents import read_documents

class Stream:
    def __init__(self, piece, times):
        self.pieces = repeat(piece, times)
    def read(self, count=-1):
        return next(self.pieces, b"")

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

key, piece, times = sys.argv[1], eval(sys.argv[2]), int(sys.argv[3])
before = peak()
outcomes = {}
for document in read_documents(key, Stream(piece, times)):
    outcomes[document.reason] = outcomes.get(document.reason, 0) + 1
print(peak() - before, outcomes)
"""


@pytest.mark.parametrize(
    ("key", "piece", "times", "outcomes"),
    [
        ("300 MB of text.txt", "b'Bob met Ann. ' * 8000", 2900, {"too_large": 1}),
        ("200 MB of lines.jsonl", """b'{"text":"' + b'Bob met Ann. ' * 5000 + b'"}\\n'""", 3100, {"": 3100}),
        ("200 MB in one line.jsonl", "b'Bob met Ann. ' * 8000", 2000, {"too_large": 1}),
        (
            "200 MB of rows.csv",
            """b'text\\n"' + b'Bob met Ann. ' * 5000 + b'"\\n'""",
            3100,
            {"": 3100 * 2 - 1},
        ),
    ],
)
def test_memory_stays_far_below_the_size_of_the_object(key, piece, times, outcomes):
    command = [sys.executable, "-c", MEASURE, key, piece, str(times)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    grown_mb, _, seen = result.stdout.partition(" ")
    assert eval(seen) == outcomes
    assert int(grown_mb) < 100
