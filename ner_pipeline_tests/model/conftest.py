"""What the tests of the training project share: its scripts, which import each other by their bare names.

They are on the path while they are imported here and never again; the test modules find them loaded.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ner_pipeline_tests.model.small_corpora import write_corpora

MODEL = Path(__file__).parents[2] / "model"

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(MODEL / "scripts")
    import card  # noqa: F401
    import convert  # noqa: F401
    import corpora
    import precision  # noqa: F401
    import publish  # noqa: F401
    import training  # noqa: F401

_LOAD = """
import json, sys, spacy
nlp = spacy.load(sys.argv[1])
docs = [nlp(text) for text in json.loads(sys.argv[2])]
told = {
    "pipeline": nlp.pipe_names,
    "labels": nlp.pipe_labels,
    "tokens": [[token.text for token in doc] for doc in docs],
    "entities": [[[ent.start_char, ent.end_char, ent.label_] for ent in doc.ents] for doc in docs],
}
json.dump(told, sys.stdout)
"""


@pytest.fixture(scope="session")
def model_folder():
    """The training project."""
    return MODEL


@pytest.fixture(scope="session")
def loaded_plainly():
    """Load a pipeline where spaCy is and nothing of ours, and tell what it is and what it finds in texts."""

    def load(folder, *texts):
        # -I: neither the working directory nor PYTHONPATH, so no script can be imported.
        command = [sys.executable, "-I", "-c", _LOAD, str(folder), json.dumps(texts)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return load


@pytest.fixture(scope="session")
def small_corpora(tmp_path_factory):
    """A folder such as `NER_CORPORA` names, with a few sentences for each file of the table."""
    folder = tmp_path_factory.mktemp("corpora")
    write_corpora(folder, corpora.CORPORA)
    return folder
