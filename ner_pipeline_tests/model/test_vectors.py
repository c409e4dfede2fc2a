"""Word vectors: the same every time, for whole words of the texts alone."""

import os
import subprocess
import sys

import pytest
import spacy
from spacy.tokens import DocBin

pytest.importorskip("gensim", reason="the extra `train` is not installed")

SENTENCES = ["the bank of Oslo said so", "张伟在北京", "Kim said that the bank is in Oslo"]


@pytest.fixture(scope="module")
def write_vectors(model_folder, tmp_path_factory):
    """Run the script on some texts and a novel; what is in a set has another order for each seed."""
    folder = tmp_path_factory.mktemp("vectors")
    (folder / "train").mkdir()
    DocBin(docs=[spacy.blank("xx")(text) for text in SENTENCES * 3]).to_disk(folder / "train" / "a.spacy")
    (folder / "long_texts").mkdir()
    (folder / "long_texts" / "novel.txt").write_bytes("The whale, naïve.\r\n\r\n".encode("latin-1") * 200)

    def write(hash_seed):
        output = folder / f"{hash_seed}.txt"
        script = str(model_folder / "scripts" / "vectors.py")
        command = [sys.executable, script, str(folder), str(folder / "train"), str(output)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": hash_seed})
        return output.read_text(encoding="utf-8")

    return write


def test_they_are_the_same_every_time_and_of_the_words_that_are_frequent(write_vectors):
    written = write_vectors("1")
    assert write_vectors("2") == written
    words = {line.partition(" ")[0] for line in written.splitlines()[1:]}
    assert {"whale", "naïve", "bank", ","} <= words
    assert not {"Kim", "北", "wha"} & words
