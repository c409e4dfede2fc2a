"""The command `ner-pipeline`.

A command here parses its arguments and calls one function. What is heavy is imported inside the command,
so `--help` stays fast; what went wrong is said in one place, `_say_errors`.
"""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from ner_pipeline.errors import NerPipelineError

__all__ = ["app"]

P = ParamSpec("P")

app = typer.Typer(
    name="ner-pipeline",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _prepare() -> None:
    """Documents dropped into S3 become validated named entities on S3."""
    # What a terminal cannot show becomes a question mark, and not the end of the command.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


LocalDir = Annotated[Path, typer.Option("--local-dir", help="Where the services keep their data and logs.")]


class ExtractorName(StrEnum):
    """The extractors of this package, as `NER_EXTRACTOR` names them."""

    AUTO = "auto"
    SPACY = "spacy"


def _say_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Let a command end with one message and exit code 1 where this package raised on purpose."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except NerPipelineError as error:
            typer.echo(f"ner-pipeline: {error}", err=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            typer.echo("ner-pipeline: interrupted", err=True)
            raise typer.Exit(130) from None

    return wrapped


@app.command()
@_say_errors
def up(local_dir: LocalDir = Path(".local")) -> None:
    """Run S3, Dagster and its UI on this machine until Ctrl-C."""
    from ner_pipeline.local.up import up as run

    run(local_dir, typer.echo)


@app.command()
@_say_errors
def demo(
    local_dir: LocalDir = Path(".local"),
    examples: Annotated[Path, typer.Option(help="A folder of document sets, one sub-folder each.")] = Path(
        "examples"
    ),
    within_seconds: Annotated[float, typer.Option(help="Give up after so long.")] = 300.0,
) -> None:
    """Upload the examples to a local S3, let the sensor find them, and show the entities."""
    from ner_pipeline.local.demo import demo as run

    run(local_dir, examples, within_s=within_seconds, say=typer.echo)


@app.command()
@_say_errors
def submit(
    files: Annotated[list[Path], typer.Argument(help="Documents to upload; folders are walked.")],
    set_name: Annotated[
        str, typer.Option("--set", help="Name of the document set; a new one by default.")
    ] = "",
) -> None:
    """Upload documents as one set, mark it ready, and print its partition key."""
    from ner_pipeline.client import submit as run

    typer.echo(run(files, set_name))


@app.command()
@_say_errors
def status(
    key: Annotated[str, typer.Argument(help="The partition key that `submit` printed.")],
    wait: Annotated[bool, typer.Option("--wait", help="Stay until the set is done or has failed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Tell where a set stands: queued, running, done, or failed with the reason.

    Exit code: 0 queued, running or done; 1 failed; 2 there is no such set.
    """
    from ner_pipeline.client import status as run

    text, code = run(key, wait=wait, as_json=as_json)
    typer.echo(text)
    raise typer.Exit(code)


@app.command()
@_say_errors
def fetch(
    key: Annotated[str, typer.Argument(help="The partition key that `submit` printed.")],
    form: Annotated[str, typer.Option("--format", help="parquet, csv or jsonl.")] = "parquet",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="By default KEY.FORMAT here.")] = None,
) -> None:
    """Write the entities of a set into a local file."""
    from ner_pipeline.client import fetch as run

    typer.echo(run(key, form, output))


@app.command()
@_say_errors
def bench(
    tune: Annotated[bool, typer.Option("--tune", help="Find the best sizes of blocks and batches.")] = False,
    model: Annotated[str, typer.Option(help="A folder or package; NER_MODEL by default.")] = "",
) -> None:
    """Measure how fast this machine extracts entities, beside spaCy itself."""
    from ner_pipeline.inference import bench as measuring
    from ner_pipeline.settings import Settings

    settings = Settings.load()
    run = measuring.tune if tune else measuring.compare
    run(model or settings.model, settings.device, settings.components, typer.echo)


@app.command()
@_say_errors
def evaluate(
    gold: Annotated[list[Path], typer.Option(help="A file with IOB tags or a .spacy file; repeatable.")],
    model: Annotated[str, typer.Option(help="A folder or package; NER_MODEL by default.")] = "",
    labels: Annotated[str, typer.Option(help="Those that count, such as PER,LOC,ORG.")] = "",
    renamings: Annotated[
        list[str] | None, typer.Option("--map", metavar="OLD=NEW", help="Rename a label; repeatable.")
    ] = None,
    json_path: Annotated[str, typer.Option("--json", metavar="PATH", help="Or - for here, alone.")] = "",
    extractor: Annotated[ExtractorName | None, typer.Option(help="NER_EXTRACTOR by default.")] = None,
    components: Annotated[str, typer.Option(help="NER_COMPONENTS by default.")] = "",
) -> None:
    """Score a model on gold data: precision, recall and F1 of whole entities."""
    from ner_pipeline.evaluation.labels import LabelChoice
    from ner_pipeline.evaluation.report import check_json_path, report
    from ner_pipeline.evaluation.run import evaluate as run
    from ner_pipeline.settings import Settings

    asked = {"model": model, "extractor": extractor, "components": components}
    settings = Settings.load().model_copy(update={name: value for name, value in asked.items() if value})
    choice = LabelChoice.parse(labels, renamings or [])
    check_json_path(json_path)
    report(run(gold, settings, choice), json_path)


if __name__ == "__main__":
    app()
