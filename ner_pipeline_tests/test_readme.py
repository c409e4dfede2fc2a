"""What README and docs say is so: settings, links, pictures, reason codes, queries."""

import ast
import re
from pathlib import Path

import duckdb
import pytest

from ner_pipeline.documents import Warned
from ner_pipeline.documents.reading import KNOWN_FORMATS
from ner_pipeline.inference.validation import REASONS
from ner_pipeline.settings import Settings
from ner_pipeline.storage.tables import DOCUMENTS, ENTITIES, OUTCOMES, QUARANTINE, TableWriter

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "model/README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
FAULTS = {"BadInputError", "ObjectFaultError"}
TABLES = {"documents": DOCUMENTS, "entities": ENTITIES, "outcomes": OUTCOMES, "quarantine": QUARANTINE}


def rows_of(page, heading):
    """The cells of the table under a heading, without its head."""
    section = re.split(r"^#+ ", page.read_text(), flags=re.M)
    [text] = [part for part in section if part.startswith(heading + "\n")]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.M | re.S)


def shown(default):
    if default is None:
        return "must be set"
    if default == "":
        return "not set"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def anchors(page):
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_settings_table_lists_every_setting_with_its_default():
    listed = [(name, default) for name, default, _ in rows_of(ROOT / "README.md", "Settings")]
    assert listed == [
        (f"`NER_{name.upper()}`", shown(field.default)) for name, field in Settings.model_fields.items()
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_and_picture_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        found = page if not path else page.parent / path
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


def test_the_page_about_input_lists_every_reason_code_of_a_rejection():
    listed = {
        reason.strip("`")
        for outcome, reason, _ in rows_of(ROOT / "docs/input.md", "Reason codes of `outcomes`")
        if outcome == "`rejected`"
    }
    assert listed == set(rejections())


def rejections():
    """The codes that stand in the source, as first argument of a `BadInputError` or of its kind."""
    for source in (ROOT / "ner_pipeline/documents").rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in FAULTS:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    yield first.value


def test_the_page_about_input_lists_every_format_and_every_warning():
    page = ROOT / "docs/input.md"
    formats = {name for cell, *_ in rows_of(page, "Formats") for name in re.findall(r"`\.(\w+)`", cell)}
    assert formats == {*KNOWN_FORMATS, "ndjson", "zip"}
    assert {warning.strip("`") for warning, *_ in rows_of(page, "Warnings")} == set(Warned)


def test_the_page_about_input_lists_every_reason_of_quarantine():
    listed = [
        reason.strip("`") for reason, _ in rows_of(ROOT / "docs/input.md", "Reason codes of `quarantine`")
    ]
    assert listed == list(REASONS)


def test_every_query_on_a_local_copy_is_valid(tmp_path, monkeypatch):
    for name, schema in TABLES.items():
        folder = tmp_path / "results" / name / "document_set=news"
        folder.mkdir(parents=True)
        with TableWriter(folder / f"{name}.parquet", schema):
            pass
    monkeypatch.chdir(tmp_path)
    queries = [block for page in PAGES for block in blocks(page, "sql") if "s3://" not in block]
    assert queries
    for query in queries:
        duckdb.sql(query).fetchall()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_example_compiles(page):
    for block in blocks(page, "python"):
        compile(block, page.name, "exec")
