"""Score a pipeline on the test files, with the project's own command, and keep both reports.

    python scripts/evaluate.py xx_ner_slim CORPORA corpus/test metrics/slim

The test files of Universal NER are read as they are published: `metrics/slim.json`. The others are read as
`convert` has written them: `metrics/slim_others.json`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from corpora import CORPORA, LABELS


def main(pipeline: str, corpora: str, converted: str, output: str) -> None:
    """Write both reports, and print what they say."""
    tests = [(one.name, part.files) for one in CORPORA for part in one.test]
    universal = [Path(corpora, files) for _, files in tests if files.endswith(".iob2")]
    others = [Path(converted, f"{name}.spacy") for name, files in tests if not files.endswith(".iob2")]
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    for report, files in ((f"{output}.json", universal), (f"{output}_others.json", others)):
        gold = [argument for file in files for argument in ("--gold", str(file))]
        labels = ",".join(sorted(set(LABELS.values())))
        options = ["--model", pipeline, "--labels", labels, "--json", report]
        command = [sys.executable, "-m", "ner_pipeline.cli", "evaluate", *options, *gold]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
