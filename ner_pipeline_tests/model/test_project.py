"""The commands of project.yml, in small: what they read is there, and the same ones give the same weights."""

import json
import shutil

import pytest
import srsly
from corpora import CORPORA, SPLITS
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from weasel.cli.run import project_run

NAMES = {"en": {"PER": ["Zoe Quist"], "LOC": ["Zwolle"]}, "zh": {"ORG": ["工商银行"]}}
FEW = {
    "training.max_steps": 6,
    "training.eval_frequency": 3,
    "training.batcher.size": 100,
    "corpora.dev.limit": 2,
}
"""In place of what takes hours."""


@pytest.fixture(scope="module")
def project_file(model_folder):
    return srsly.read_yaml(model_folder / "project.yml")


@pytest.fixture(scope="module")
def run(project_file, small_corpora):
    """Run a command of a project, in processes of its own."""

    def run(project, command, hash_seed="0"):
        few = " ".join(f"--{name} {value}" for name, value in FEW.items())
        train = f"{project_file['vars']['train']} {few}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NER_CORPORA", str(small_corpora))
            patch.setenv("PYTHONHASHSEED", hash_seed)
            # The last bits of a product depend on how many threads share it.
            patch.setenv("OPENBLAS_NUM_THREADS", "1")
            project_run(project, command, overrides={"vars.train": train}, force=True, capture=True)

    return run


@pytest.fixture(scope="module")
def project(model_folder, run, tmp_path_factory):
    """A copy of the project, with small corpora that are converted and a short list of names."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(model_folder / "scripts", project / "scripts")
    for file in (*model_folder.glob("*.cfg"), model_folder / "project.yml"):
        shutil.copy(file, project)
    (project / "assets").mkdir()
    (project / "assets" / "names.json").write_text(json.dumps(NAMES), encoding="utf-8")
    run(project, "convert")
    return project


def test_each_command_reads_what_is_there_or_what_one_before_it_has_made(project_file, model_folder):
    commands = {command["name"]: command for command in project_file["commands"]}
    for workflow, names in project_file["workflows"].items():
        made = set()
        for command in map(commands.get, names):
            missing = [dep for dep in command["deps"] if dep not in made and not _shipped(model_folder / dep)]
            assert missing == [], (workflow, command["name"])
            made |= set(command.get("outputs", []))


def _shipped(path):
    return path.is_file() and (path.suffix in {".py", ".cfg"} or path.name == "NOTICE")


def test_convert_writes_a_file_of_each_split_with_what_people_have_marked(project):
    files = {(file.parent.name, file.stem): file for file in (project / "corpus").rglob("*.spacy")}
    assert set(files) == {(split, one.name) for one in CORPORA for split in SPLITS if getattr(one, split)}
    for (split, name), file in files.items():
        labels = {ent.label_ for doc in DocBin().from_disk(file).get_docs(Vocab()) for ent in doc.ents}
        assert labels == {"PER", "LOC", "ORG"} if split == "train" else labels, (split, name)


def test_the_same_command_gives_the_same_weights_and_scores(project, run):
    run(project, "train-slim", hash_seed="1")
    first = (project / "training" / "slim").rename(project / "training" / "first")
    run(project, "train-slim", hash_seed="2")
    assert _contents(first) == _contents(project / "training" / "slim")
    performance = json.loads((first / "model-best" / "meta.json").read_text())["performance"]
    assert performance["ner_loss"] > 0


def _contents(folder):
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
