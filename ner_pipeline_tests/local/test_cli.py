"""How the command ends: one message for what this package raised on purpose."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ner_pipeline import cli
from ner_pipeline.errors import NerPipelineError
from ner_pipeline.local import up


def test_an_error_of_ours_is_one_message_on_stderr(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise NerPipelineError("what, where, why, what to do")

    monkeypatch.setattr(up, "up", fail)
    result = CliRunner().invoke(cli.app, ["up", "--local-dir", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "ner-pipeline: what, where, why, what to do\n"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from ner_pipeline.cli import app; app(['--help'], standalone_mode=False)\n"
        "print(sorted({'boto3', 'dagster', 'pyarrow', 'spacy', 'numpy'} & sys.modules.keys()))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"
    assert "demo" in shown


def test_a_demo_without_examples_ends_before_anything_is_started(tmp_path: Path) -> None:
    local_dir = tmp_path / "local"
    arguments = ["demo", "--local-dir", str(local_dir), "--examples", str(tmp_path / "none")]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 1
    assert "holds no sub-folder with documents" in result.stderr
    assert not local_dir.exists()
