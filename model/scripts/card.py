"""Put the scores of both pipelines into the tables of README.md, between the marks that stand there.

    python scripts/card.py metrics README.md

The scores are what `ner-pipeline evaluate --json` wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

LANGUAGES = {
    "en": "English", "zh": "Chinese", "pt": "Portuguese", "hr": "Croatian", "sr": "Serbian", "da": "Danish",
    "sk": "Slovak", "sv": "Swedish", "nob": "Norwegian, Bokmål", "nno": "Norwegian, Nynorsk", "de": "German",
    "fr": "French", "nl": "Dutch", "fi": "Finnish", "ru": "Russian",
}  # fmt: skip
HEAD = """\
| language | test file | entities | slim: P | R | F1 | full: P | R | F1 |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def main(metrics: str, readme: str) -> None:
    """Write the tables anew."""
    page = Path(readme).read_text(encoding="utf-8")
    for mark, suffix in (("universal", ""), ("others", "_others")):
        slim, full = (_read(Path(metrics) / f"{name}{suffix}.json") for name in ("slim", "full"))
        page = _between(page, mark, HEAD + "".join(_rows(slim, full)))
    Path(readme).write_text(page, encoding="utf-8")


def _between(page: str, mark: str, table: str) -> str:
    begin, end = f"<!-- scores: {mark} -->", f"<!-- end: {mark} -->"
    if page.count(begin) != 1 or page.find(end) < page.find(begin):
        sys.exit(f"card: the page must have {begin} once, and {end} after it")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n{table}{end}{rest.partition(end)[2]}"


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _rows(slim: dict[str, Any], full: dict[str, Any]) -> list[str]:
    rows = []
    for file, other in zip(slim["files"], full["files"], strict=True):
        name = Path(file["file"]).name.partition("-ud")[0].removesuffix(".spacy")
        scores = " | ".join(_figures(one["total"]) for one in (file, other))
        rows.append(
            f"| {LANGUAGES[name.partition('_')[0]]} | {name} | {file['total']['gold']} | {scores} |\n"
        )
    means = [f"| | **{scores['mean_f1']:.3f}**" for scores in (slim, full)]
    return [*rows, f"| **mean** | | | {' | '.join(means)} |\n"]


def _figures(total: dict[str, float]) -> str:
    return " | ".join(f"{total[figure]:.3f}" for figure in ("precision", "recall", "f1"))


if __name__ == "__main__":
    main(*sys.argv[1:])
