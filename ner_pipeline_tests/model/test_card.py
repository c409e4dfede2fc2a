"""The tables of the card: written anew between their marks, with everything else left as it is."""

import json

import card
import pytest

PAGE = """# Card
<!-- scores: universal -->
old
<!-- end: universal -->
between
<!-- scores: others -->
<!-- end: others -->
end
"""


def scores(file, f1):
    total = {"precision": 0.5, "recall": 0.25, "f1": f1, "gold": 40}
    return {"files": [{"file": file, "total": total}], "mean_f1": f1}


@pytest.fixture
def folder(tmp_path):
    for name, f1 in (("slim", 0.3333), ("full", 0.4)):
        for suffix, file in (("", "nob_norne-ud-test.iob2"), ("_others", "fi_turku.spacy")):
            (tmp_path / f"{name}{suffix}.json").write_text(json.dumps(scores(file, f1)))
    (tmp_path / "README.md").write_text(PAGE, encoding="utf-8")
    return tmp_path


def write(folder):
    card.main(str(folder), str(folder / "README.md"))
    return (folder / "README.md").read_text(encoding="utf-8").splitlines()


def test_the_scores_of_both_pipelines_stand_side_by_side(folder):
    lines = write(folder)
    figures = "40 | 0.500 | 0.250 | 0.333 | 0.500 | 0.250 | 0.400 |"
    assert f"| Norwegian, Bokmål | nob_norne | {figures}" in lines
    assert f"| Finnish | fi_turku | {figures}" in lines
    assert lines.count("| **mean** | | | | | **0.333** | | | **0.400** |") == 2


def test_what_is_not_a_table_stays_and_old_tables_go(folder):
    lines = write(folder)
    assert "old" not in lines
    assert [line for line in lines if not line.startswith("|")] == [
        line for line in PAGE.splitlines() if line != "old"
    ]
    assert write(folder) == lines


def test_a_page_without_the_marks_is_left_alone(folder):
    (folder / "README.md").write_text(PAGE.replace("<!-- end: others -->", ""), encoding="utf-8")
    with pytest.raises(SystemExit, match="end: others"):
        write(folder)
    assert "old" in (folder / "README.md").read_text(encoding="utf-8")
