"""Every proof in its full size, and a report of what held.

    python -m benchmarks.proof [--fuzz-seconds 600]

`make test` holds a small form of each. This runs them with more examples and real sizes (`NER_PROOF`), lets
the fuzz target search for as long as it is told, and writes `benchmarks/PROOF.md`, anew after each proof.
What one prints is shown as it comes; the report has its last line.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

REPORT = Path(__file__).with_name("PROOF.md")
ROOT = Path(__file__).parents[1]
SHOWN_VERSIONS = ("dagster", "spacy", "pyarrow", "hypothesis")


@dataclass(frozen=True)
class Proof:
    """A command that ends with 0 when what it shows holds."""

    shows: str
    arguments: tuple[str, ...]

    @property
    def command(self) -> str:
        return " ".join(("python", "-m", *self.arguments))


@dataclass(frozen=True)
class Result:
    proof: Proof
    held: bool
    last_line: str
    seconds: float
    commit: str


def proofs(fuzz_seconds: int) -> tuple[Proof, ...]:
    return (
        Proof(
            "no input makes a reader crash, hang or break an invariant",
            ("ner_pipeline_tests.documents.fuzz", "--seconds", str(fuzz_seconds)),
        ),
        Proof("the field cases, and what is always true", _tests("field_cases", but="2000")),
        Proof("every format, packing and encoding", _tests("documents")),
        Proof("windows, offsets, worker pool, compiled steps", _tests("inference")),
        Proof(
            "the compiled entities are those of spaCy: whole corpora, by document and by paragraph",
            ("ner_pipeline_tests.inference.compiled.whole_corpora",),
        ),
        Proof("S3, sets, publication, graph", _tests("storage", "orchestration")),
        Proof("the running services", _tests("integration")),
        Proof(
            "2,000 partitions are backfilled, cancelled, and completed by what is missing",
            ("pytest", "-q", "ner_pipeline_tests/field_cases/test_d_backfill.py", "-k", "2000"),
        ),
    )


def _tests(*folders: str, but: str = "") -> tuple[str, ...]:
    paths = [f"ner_pipeline_tests/{folder}" for folder in folders]
    left_out = ("-k", f"not {but}") if but else ()
    return ("pytest", "-q", "-n", "2", "--dist", "loadfile", *paths, *left_out)


def run(proof: Proof) -> Result:
    print(f"\n$ {proof.command}", flush=True)
    began = time.monotonic()
    process = subprocess.Popen(
        (sys.executable, "-m", *proof.arguments),
        cwd=ROOT,
        env={**os.environ, "NER_PROOF": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    last_line = ""
    for line in process.stdout or ():
        print(line, end="", flush=True)
        last_line = line.strip() or last_line
    held = process.wait() == 0
    return Result(proof, held, last_line.strip("= "), time.monotonic() - began, _commit())


def report(results: Sequence[Result], waiting: Sequence[Proof]) -> Iterator[str]:
    yield "# Proofs\n"
    yield "What `make proof` ran last, and what came of it. `make test` holds a small form of each.\n"
    yield f"* {datetime.now(UTC):%Y-%m-%d}"
    versions = ", ".join(f"{name} {version(name)}" for name in SHOWN_VERSIONS)
    yield f"* Python {platform.python_version()}, {versions}"
    yield f"* {os.cpu_count()} cores, {platform.system()} {platform.machine()}\n"
    yield "| shows | command | held | last line | seconds | commit |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for result in results:
        held = "yes" if result.held else "**no**"
        last_line = result.last_line.replace("|", "\\|")
        proof = result.proof
        told = f"{held} | {last_line} | {result.seconds:,.0f} | {result.commit}"
        yield f"| {proof.shows} | `{proof.command}` | {told} |"
    for proof in waiting:
        yield f"| {proof.shows} | `{proof.command}` | not run | | | |"


def _commit() -> str:
    command = ("git", "describe", "--always", "--dirty", "--exclude=*")
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fuzz-seconds", type=int, default=600)
    waiting = list(proofs(parser.parse_args().fuzz_seconds))
    results: list[Result] = []
    while waiting:
        results.append(run(waiting.pop(0)))
        REPORT.write_text("\n".join(report(results, waiting)) + "\n")
    print(f"\n{REPORT.relative_to(ROOT)} written")
    sys.exit(not all(result.held for result in results))


if __name__ == "__main__":
    main()
