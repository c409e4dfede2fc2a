"""Peak memory, measured in a process of its own: the peak of this one is that of all its tests."""

import subprocess
import sys

import pytest

MEASURE = """
import gzip, os, resource, sys, tempfile, zipfile
from itertools import chain, repeat
import zstandard
from ner_pipeline.documents import read_documents

TEXT = b"Bob met Ann. "
LINE = b'{"text":"' + TEXT * 5000 + b'"}\\n'
NOISE = b'{"text":"' + os.urandom(32_500).hex().encode() + b'"}\\n'

class Stream:
    def __init__(self, pieces):
        self.pieces = iter(pieces)
    def read(self, count=-1):
        return next(self.pieces, b"")

def zipped(piece, times):
    file = tempfile.TemporaryFile()
    with zipfile.ZipFile(file, "w") as archive, archive.open("a.jsonl", "w") as member:
        for _ in range(times):
            member.write(piece)
    file.seek(0)
    return iter(lambda: file.read(1 << 18), b"")

def framed(pieces):
    frame = zstandard.ZstdCompressor().compressobj()
    yield from filter(None, map(frame.compress, pieces))
    yield frame.flush()

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

key, pieces = sys.argv[1], eval(sys.argv[2])
before = peak()
outcomes = {}
for document in read_documents(key, Stream(pieces)):
    outcomes[document.reason] = outcomes.get(document.reason, 0) + 1
print(peak() - before, outcomes)
"""


@pytest.mark.parametrize(
    ("key", "pieces", "outcomes"),
    [
        ("300 MB of text.txt", "repeat(TEXT * 8000, 2900)", {"too_large": 1}),
        ("300 MB of a page.html", "repeat(TEXT * 8000, 2900)", {"too_large": 1}),
        ("200 MB of lines.jsonl", "repeat(LINE, 3100)", {"": 3100}),
        ("200 MB in one line.jsonl", "repeat(TEXT * 8000, 2000)", {"too_large": 1}),
        (
            "130 MB in one array.json",
            "chain([b'['], repeat(LINE + b',', 2000))",
            {"": 2000, "invalid_json": 1},
        ),
        ("200 MB in one value.json", "chain([b'[{'], repeat(TEXT * 8000, 2000))", {"too_large": 1}),
        ("200 MB of rows.csv", """repeat(b'text\\n"' + TEXT * 5000 + b'"\\n', 3100)""", {"": 3100 * 2 - 1}),
        ("130 MB in members.jsonl.gz", "repeat(gzip.compress(NOISE, 1), 2000)", {"": 2000}),
        ("130 MB in frames.jsonl.zst", "repeat(zstandard.compress(NOISE), 2000)", {"": 2000}),
        ("130 MB in an archive.zip", "zipped(LINE, 2000)", {"": 2000}),
        ("2 GB of blanks.txt.gz", "repeat(gzip.compress(b' ' * 2**24), 128)", {"expands_too_much": 1}),
        ("2 GB of blanks.txt.zst", "framed(repeat(b' ' * 2**20, 2048))", {"expands_too_much": 1}),
    ],
)
def test_memory_stays_far_below_the_size_of_the_object(key, pieces, outcomes):
    command = [sys.executable, "-c", MEASURE, key, pieces]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    grown_mb, _, seen = result.stdout.partition(" ")
    assert eval(seen) == outcomes
    assert int(grown_mb) < 100
