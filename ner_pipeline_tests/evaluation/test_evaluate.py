"""`ner-pipeline evaluate`, from gold files to the table and the JSON."""

import hashlib
import io
import json
import os

import pytest
import spacy
from rich.console import Console
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

from ner_pipeline import cli
from ner_pipeline.errors import ModelError
from ner_pipeline.evaluation.gold import read_gold
from ner_pipeline.evaluation.labels import LabelChoice
from ner_pipeline.evaluation.report import report
from ner_pipeline.evaluation.run import score_files
from ner_pipeline.inference.pool import ExtractionPool

RULES = {"Kim": "PERSON", "Oslo": "GPE", "Lund": "PERSON", "Maria": "PERSON", "1984": "DATE"}
GOLD = """\
Kim\tB-PER
saw\tO
Oslo\tB-LOC
in\tO
1984\tB-DATE

Lund\tB-LOC
Maria\tB-PER
Olsen\tI-PER

# text = Norwegians
Norwe\tB-LOC
gians\tO

Bergen\tB-LOC
"""
OPTIONS = ["--labels", "PER,LOC", "--map", "PERSON=PER", "--map", "GPE=LOC"]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    """Let no setting of the person who tests change a score."""
    for name in [name for name in os.environ if name.startswith("NER_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    """A pipeline that finds what its rules say."""
    nlp = spacy.blank("en")
    patterns = [{"label": label, "pattern": name} for name, label in RULES.items()]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)
    folder = tmp_path_factory.mktemp("model") / "rules"
    nlp.to_disk(folder)
    return folder


@pytest.fixture
def iob(tmp_path):
    path = tmp_path / "gold.iob2"
    path.write_text(GOLD, encoding="utf-8")
    return path


@pytest.fixture
def docbin(tmp_path, iob):
    """The same gold data as `iob`."""
    docs = DocBin()
    for gold in read_gold(iob):
        # A token for each character: so an entity may begin and end anywhere.
        doc = Doc(Vocab(), words=list(gold.text), spaces=[False] * len(gold.text))
        doc.set_ents([doc.char_span(span.start, span.end, span.label) for span in gold.spans])
        docs.add(doc)
    docs.to_disk(tmp_path / "gold.spacy")
    return tmp_path / "gold.spacy"


def invoke(*arguments):
    return CliRunner().invoke(cli.app, ["evaluate", *map(str, arguments)])


def test_both_forms_of_gold_data_have_the_same_scores_and_they_are_right(rules, iob, docbin):
    result = invoke("--model", rules, "--gold", iob, "--gold", docbin, "--json", "-", *OPTIONS)
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    one, other = content["files"]
    assert (one["file"], one["sha256"]) == ("gold.iob2", hashlib.sha256(GOLD.encode()).hexdigest())
    assert {**one, "file": "", "sha256": ""} == {**other, "file": "", "sha256": ""}
    # Kim and Oslo are right, Lund is no person, Maria half of a name; 1984 does not count.
    assert one["labels"]["PER"] == {
        "precision": 1 / 3,
        "recall": 1 / 2,
        "f1": 0.4,
        "gold": 2,
        "found": 3,
        "correct": 1,
    }
    assert one["labels"]["LOC"] == {
        "precision": 1.0,
        "recall": 1 / 4,
        "f1": 0.4,
        "gold": 4,
        "found": 1,
        "correct": 1,
    }
    assert (one["total"]["gold"], one["total"]["found"], one["total"]["correct"]) == (6, 4, 2)
    assert (one["wrong_label"], one["overlapping"], one["off_token_edges"]) == (1, 1, 1)
    assert (one["texts"], one["tokens"]) == (4, 10)
    assert content["left_out"] == ["DATE"]
    assert content["micro"]["total"]["gold"] == 12
    assert content["mean_f1"] == content["micro"]["total"]["f1"] == 0.4
    assert content["extractor"] == "spacy"
    assert str(iob.parent) not in json.dumps(content["files"])


def test_the_table_has_every_label_and_says_what_it_leaves_out(rules, iob, tmp_path):
    json_path = tmp_path / "scores.json"
    result = invoke("--model", rules, "--gold", iob, "--json", json_path, *OPTIONS)
    lines = [" ".join(line.replace("│", " ").split()) for line in result.stdout.splitlines()]
    assert "gold.iob2 0.500 0.333 0.400 6 4 2" in lines
    assert "PER 0.333 0.500 0.400 2 3 1" in lines
    assert "1 of 6 gold entities are not on token boundaries of the model" in lines
    assert "left out: DATE" in lines
    assert "micro" not in result.stdout
    assert json.loads(json_path.read_text())["files"][0]["total"]["correct"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gold", "none.iob2"], "none.iob2: No such file"),
        (["--gold", "GOLD", "--model", "no/model"], "no/model"),
        (["--gold", "GOLD", "--labels", "PERS"], "has a label PERS"),
        (["--gold", "GOLD", "--labels", ","], "--labels ',' names no label"),
        (["--gold", "GOLD", "--map", "GPE"], "--map GPE"),
        (["--gold", "GOLD", "--map", " =LOC"], "give an old label and a new one"),
        (["--gold", "GOLD", "--map", "GPE=LOC", "--map", "GPE=ORG"], "GPE is renamed to LOC already"),
    ],
    ids=["file", "model", "label", "no-label", "map", "map-nothing", "map-twice"],
)
def test_what_cannot_be_done_is_one_message(rules, iob, arguments, message):
    asked = [iob if argument == "GOLD" else argument for argument in arguments]
    result = invoke(*(() if "--model" in asked else ("--model", rules)), *asked)
    assert (result.exit_code, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    assert message in line


def test_blanks_around_labels_do_not_count():
    choice = LabelChoice.parse(" PER , LOC", ["GPE = LOC", "GPE=LOC"])
    assert (choice.renamed, choice.kept) == ({"GPE": "LOC"}, {"PER", "LOC"})


@pytest.mark.parametrize(("json_path", "reason"), [("none/x.json", "No such file"), (".", "Is a directory")])
def test_a_json_that_cannot_be_written_is_refused_before_anything_is_computed(
    rules, iob, tmp_path, monkeypatch, json_path, reason
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ner_pipeline.evaluation.run.evaluate", None)
    result = invoke("--model", rules, "--gold", iob, "--json", json_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"--json {json_path}: {reason}" in result.stderr


def test_an_evaluation_that_fails_leaves_the_place_of_its_json_as_it_was(rules, tmp_path):
    former, other = tmp_path / "former.json", tmp_path / "new.json"
    former.write_text("{}")
    for path in (former, other):
        assert invoke("--model", rules, "--gold", tmp_path / "none", "--json", path).exit_code == 1
    assert (former.read_text(), other.exists()) == ("{}", False)


def other_extractor():
    """A pool of an extractor that is none of ours."""
    return ExtractionPool(
        "any", workers=2, loader="failing_extractor:load", batch_chars=1, chars_per_worker=1
    )


def test_each_text_gets_its_own_result_in_whatever_order_they_come(tmp_path):
    path = tmp_path / "gold.iob2"
    path.write_text("\n\n".join("Kim B-PER" if n % 3 else "Ann B-PER" for n in range(60)), encoding="utf-8")
    with other_extractor() as pool:
        [file] = score_files([path], pool, LabelChoice()).files
    assert (file.scores.total, file.tokens) == ((60, 40, 40), None)


def test_gold_entities_are_tightened_as_found_ones_are_and_it_is_said_how_many(tmp_path):
    path = tmp_path / "gold.iob2"
    path.write_text("Kim\u200b\tB-PER\n\nKim\tB-PER\n\u200f\tI-PER\n\nAnn\tO\n\u200b\tB-PER\n", "utf-8")
    with other_extractor() as pool:
        evaluation = score_files([path], pool, LabelChoice())
    [file] = evaluation.files
    assert (file.scores.total, file.gold_changed) == ((2, 2, 2), 3)
    out = io.StringIO()
    report(evaluation, console=Console(file=out, width=100))
    assert "3 gold entities were tightened" in out.getvalue()


def test_a_text_without_a_result_ends_the_evaluation_and_is_named(tmp_path):
    path = tmp_path / "gold.iob2"
    path.write_text("Kim B-PER\n\nBOOM B-PER\n", encoding="utf-8")
    failure = r"no result for 1 of the texts: gold\.iob2:3 \(extractor_error: .*planted"
    with other_extractor() as pool, pytest.raises(ModelError, match=failure):
        score_files([path], pool, LabelChoice())
