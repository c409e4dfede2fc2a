"""Fuzz all readers: `python -m ner_pipeline_tests.documents.fuzz --seconds 600`.

Guided by coverage where atheris is installed, by chance alone where it is not. Each finding is printed
once, with the bytes that `Case.of_bytes` reads; there was one if the command fails.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None
else:
    with atheris.instrument_imports(include=["ner_pipeline.documents"]):
        import ner_pipeline.documents  # noqa: F401

from ner_pipeline_tests.documents.fuzzing import Case, cases, check, corpus, mutate

SLOW_S = 30
"""Of computing: a small packed file may hold a hundred thousand records, and each is read several times."""


class Findings:
    """What was found, each place once."""

    def __init__(self, seconds: int) -> None:
        self.places: set[str] = set()
        self.tried = 0
        self._ends = time.monotonic() + seconds

    def try_one(self, case: Case) -> None:
        """Check one case, and print it if it is a finding."""
        self.tried += 1
        began = time.process_time()
        try:
            check(case)
        except Exception as error:
            self._note(repr(traceback.extract_tb(error.__traceback__)[-1]), case)
        if time.process_time() - began > SLOW_S:
            self._note("slow", case)
        if time.monotonic() > self._ends:
            print(f"{self.tried:,} inputs, {len(self.places)} findings", flush=True)
            # libFuzzer has no other way to be told to stop.
            os._exit(bool(self.places))

    def _note(self, place: str, case: Case) -> None:
        if place not in self.places:
            self.places.add(place)
            print(f"FINDING {place}\n{traceback.format_exc()}\n{case.to_bytes()!r}", flush=True)


def fuzz_by_coverage(findings: Findings, seed: int) -> None:
    """Let libFuzzer choose which inputs to go on from."""

    def mutated(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.3:
            return atheris.Mutate(data, max_size)
        return mutate(Case.of_bytes(data), rng).to_bytes()[:max_size]

    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(corpus()):
            Path(folder, str(number)).write_bytes(case.to_bytes())
        options = ["-max_len=20000", "-rss_limit_mb=3000", f"-seed={seed}", "-print_final_stats=1"]
        atheris.Setup(
            [sys.argv[0], *options, folder],
            lambda data: findings.try_one(Case.of_bytes(data)),
            custom_mutator=mutated,
        )
        atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    findings = Findings(given.seconds)
    if atheris is not None:
        fuzz_by_coverage(findings, given.seed)
    for case in cases(given.seed):
        findings.try_one(case)


if __name__ == "__main__":
    main()
