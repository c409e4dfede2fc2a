"""What an evaluation shows: a table for people, and the same as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ner_pipeline.errors import NerPipelineError
from ner_pipeline.evaluation.run import Evaluation, FileScores
from ner_pipeline.evaluation.scores import Scores, Tally

__all__ = ["as_json", "check_json_path", "report", "show"]

STDOUT = "-"
_NUMBERS = ("precision", "recall", "F1", "gold", "found", "correct")


def check_json_path(json_path: str) -> None:
    """Tell before an evaluation, which may take long, whether its JSON can be written.

    Raises:
        NerPipelineError: it cannot.
    """
    if json_path in ("", STDOUT):
        return
    with _saying(json_path):
        path = Path(json_path)
        was_there = path.exists()
        path.open("ab").close()
        if not was_there:
            path.unlink()


def report(evaluation: Evaluation, json_path: str = "", console: Console | None = None) -> None:
    """Print the table, and write the JSON if it was asked for; to standard output it goes alone."""
    console = console or Console(highlight=False)
    if json_path != STDOUT:
        show(evaluation, console)
    if json_path:
        content = json.dumps(as_json(evaluation), indent=1, ensure_ascii=False)
        _write(content + "\n", json_path)


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Give all that is known of an evaluation, in plain values."""
    card = evaluation.card
    return {
        "model": card.model,
        "model_version": card.version,
        "spacy": version("spacy"),
        "device": card.device,
        "extractor": card.extractor,
        "why": card.why,
        "map": dict(evaluation.choice.renamed),
        "left_out": list(evaluation.left_out),
        "files": [_file(file) for file in evaluation.files],
        "micro": _scores(evaluation.micro),
        "mean_f1": evaluation.mean_f1,
    }


def show(evaluation: Evaluation, console: Console) -> None:
    """Print the report for people."""
    console.print(_table(evaluation))
    for line in _remarks(evaluation):
        console.print(Text(line), soft_wrap=True)


def _write(content: str, json_path: str) -> None:
    if json_path == STDOUT:
        print(content, end="")
        return
    with _saying(json_path):
        Path(json_path).write_text(content, encoding="utf-8")


@contextmanager
def _saying(json_path: str) -> Iterator[None]:
    """Name the file of which the system says what is wrong."""
    try:
        yield
    except OSError as error:
        raise NerPipelineError(f"--json {json_path}: {error.strerror}") from error


def _file(file: FileScores) -> dict[str, Any]:
    count = file.tokens
    return {
        # Without its folder: published scores are to tell nothing of the machine that made them.
        "file": file.path.name,
        "sha256": file.sha256,
        "texts": file.texts,
        "tokens": count and count.tokens,
        "off_token_edges": count and count.off_edges,
        "gold_changed": file.gold_changed,
        **_scores(file.scores),
    }


def _scores(scores: Scores) -> dict[str, Any]:
    return {
        "labels": {label: _tally(tally) for label, tally in scores.by_label.items()},
        "total": _tally(scores.total),
        "wrong_label": scores.wrong_label,
        "overlapping": scores.overlapping,
    }


def _tally(tally: Tally) -> dict[str, float]:
    return {
        "precision": tally.precision,
        "recall": tally.recall,
        "f1": tally.f1,
        "gold": tally.gold,
        "found": tally.found,
        "correct": tally.correct,
    }


def _table(evaluation: Evaluation) -> Table:
    table = Table("file, label")
    for name in _NUMBERS:
        table.add_column(name, justify="right")
    for file in evaluation.files:
        table.add_row(Text(file.path.name, overflow="fold"), *_cells(file.scores.total))
        for label, tally in file.scores.by_label.items():
            table.add_row(Text(f"  {label}"), *_cells(tally))
        table.add_section()
    if len(evaluation.files) > 1:
        table.add_row("all together (micro)", *_cells(evaluation.micro.total))
        table.add_row("mean of the files", "", "", f"{evaluation.mean_f1:.3f}")
    return table


def _cells(tally: Tally) -> Iterator[str]:
    yield from (f"{ratio:.3f}" for ratio in (tally.precision, tally.recall, tally.f1))
    yield from (f"{count:,}" for count in tally)


def _remarks(evaluation: Evaluation) -> Iterator[str]:
    """Say what helps to understand the numbers."""
    micro, card = evaluation.micro, evaluation.card
    wrong = micro.total.found - micro.total.correct
    yield (
        f"{wrong:,} of the found entities are wrong: {micro.wrong_label:,} by their label alone, "
        f"{micro.overlapping:,} by their edges, for they overlap a gold entity"
    )
    if off_edges := sum(file.tokens.off_edges for file in evaluation.files if file.tokens):
        yield f"{off_edges:,} of {micro.total.gold:,} gold entities are not on token boundaries of the model"
    if changed := sum(file.gold_changed for file in evaluation.files):
        yield f"{changed:,} gold entities were tightened to what is seen of them, as found ones are"
    if evaluation.left_out:
        yield f"left out: {', '.join(evaluation.left_out)}"
    yield f"{card.model} ({card.version}) on {card.device}, {card.extractor} extractor: {card.why}"
