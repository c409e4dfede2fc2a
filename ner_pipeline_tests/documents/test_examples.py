"""The example sets show what their README says they show."""

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def told(read, path):
    """The reason or the warning of each document."""
    return [
        document.reason or ", ".join(document.warnings) for document in read(path.name, path.read_bytes())
    ]


@pytest.mark.parametrize("folder", ["contracts", "languages", "long-read", "loose", "news", "support-mails"])
def test_the_ordinary_sets_are_read_without_a_rejection(read, folder):
    paths = sorted((EXAMPLES / folder).iterdir())
    assert paths
    assert {reason for path in paths for reason in told(read, path)} == {""}


def test_the_odd_files_show_each_kind_of_outcome(read):
    assert {path.name: told(read, path) for path in (EXAMPLES / "odd-files").iterdir()} == {
        "emoji.txt": [""],
        "empty.txt": ["blank"],
        "excel-unicode.tsv": ["", ""],
        "half-written.jsonl": [
            *("", "surrogates_replaced"),
            *("text_not_string", "no_text_field", "invalid_json"),
        ],
        "latin-1.txt": ["encoding_uncertain"],
        "letters.zip": ["", "", "text_not_string", "unknown_format"],
        "minutes.docx": ["unknown_format"],
        "page.html": [""],
        "with-bom.txt": [""],
    }
