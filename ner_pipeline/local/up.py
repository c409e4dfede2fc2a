"""`ner-pipeline up`: the services of one machine, staying until a signal ends them."""

from __future__ import annotations

import os
import shlex
import signal
from typing import TYPE_CHECKING

from ner_pipeline.local.stack import LocalStack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["end_on_signals", "export_lines", "up"]


def up(local_dir: Path, say: Callable[[str], None]) -> None:
    """Run all services with the UI until Ctrl-C, SIGTERM or the end of one of them.

    Raises:
        NerPipelineError: a service did not start, or ended.
    """
    end_on_signals()
    with LocalStack(local_dir / "up", ui=True) as stack:
        try:
            stack.start()
            say(_greeting(stack))
            stack.watch()
        except KeyboardInterrupt:
            say("Ending the services …")


def end_on_signals() -> None:
    """Let SIGTERM and a closed terminal do what Ctrl-C does.

    SIGINT is set too: a shell starts its background commands with SIGINT ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def export_lines(variables: Mapping[str, str]) -> str:
    """Return the variables as lines for a shell."""
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


def _greeting(stack: LocalStack) -> str:
    environment_file = stack.home / "env.sh"
    _write_private(environment_file, export_lines(stack.environment()) + "\n")
    return "\n".join(
        [
            f"Dagster UI  {stack.ui_url}",
            f"S3          {stack.s3.endpoint_url}",
            f"logs        {stack.logs}",
            "",
            f"For another terminal (also in {environment_file}):",
            "",
            export_lines(stack.environment()),
            "",
            "Ctrl-C ends all services.",
        ]
    )


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
