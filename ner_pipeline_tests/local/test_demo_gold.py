"""The gold entities of the examples: right in themselves, and counted against published tables."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ner_pipeline.errors import GoldError
from ner_pipeline.inference.spans import Span
from ner_pipeline.local.demo import find_examples
from ner_pipeline.local.demo_gold import (
    GOLD_FILE,
    GoldCount,
    GoldDocument,
    count,
    in_words,
    published_spans,
    read_gold_documents,
)
from ner_pipeline.settings import Places
from ner_pipeline.storage.locations import S3Location
from ner_pipeline.storage.manifests import PublishedTable
from ner_pipeline.storage.objects import put_file

EXAMPLES = Path(__file__).parents[2] / "examples"
GOLD = read_gold_documents(EXAMPLES)


def document(name: str, language: str, *entities: tuple[int, int, str, str]) -> GoldDocument:
    return GoldDocument(document=name, language=language, entities=entities)


@pytest.mark.parametrize("gold", GOLD, ids=lambda gold: gold.document)
def test_every_gold_entity_of_the_examples_stands_where_it_is_said_to_stand(gold: GoldDocument) -> None:
    text = (EXAMPLES / gold.document).read_text(encoding="utf-8")
    assert [text[start:end] for start, end, _, _ in gold.entities] == [entity[3] for entity in gold.entities]
    assert {span.label for span in gold.spans} <= {"PER", "LOC", "ORG"}
    assert all(before.end <= after.start for before, after in pairwise(gold.spans))


def test_every_document_of_a_set_with_gold_entities_has_them() -> None:
    marked = [gold.document for gold in GOLD]
    sets = {name: files for name, files in find_examples(EXAMPLES).items() if f"{name}/" in str(marked)}
    assert sorted(marked) == sorted(f"{name}/{file}" for name, files in sets.items() for file in files)
    assert {"en", "zh", "pt", "hr"} <= {gold.language for gold in GOLD}


def test_examples_without_gold_entities_are_not_scored(tmp_path: Path) -> None:
    assert read_gold_documents(tmp_path) == []
    assert in_words(count([], {}, {"PER"})) == ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "gold.jsonl:2: line: Invalid JSON"),
        ('{"document": "a.txt", "entities": []}', "gold.jsonl:2: language: Field required"),
        (
            '{"document": "a.txt", "language": "en", "entities": [[0, "x", "PER", "Ada"]]}',
            r"gold.jsonl:2: entities.0.1: Input should be a valid integer",
        ),
        (
            '{"document": "a.txt", "language": "en", "entities": [[-1, 3, "PER", "Ada"]]}',
            r"gold.jsonl:2: entities.0.0: Input should be greater than or equal to 0",
        ),
        (
            '{"document": "a.txt", "language": "en", "entities": [[3, 3, "PER", "Ada"]]}',
            r"gold.jsonl:2: line: .*the entity 'Ada' from 3 to 3 must end behind its start",
        ),
        (
            '{"document": "a.txt", "language": "en", "entities": [[0, 3, "", "Ada"]]}',
            r"gold.jsonl:2: entities.0.2: String should have at least 1 character",
        ),
    ],
    ids=["no-json", "no-language", "no-number", "negative", "no-character", "no-label"],
)
def test_a_line_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path, line: str, message: str) -> None:
    good = document("b.txt", "en").model_dump_json()
    (tmp_path / GOLD_FILE).write_text(f"{good}\n{line}\n")
    with pytest.raises(GoldError, match=message):
        read_gold_documents(tmp_path)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_of_another_encoding_is_one_message(tmp_path: Path, encoding: str) -> None:
    line = '{"document": "é.txt", "language": "fr", "entities": []}'
    (tmp_path / GOLD_FILE).write_text(line, encoding)
    with pytest.raises(GoldError, match=r"gold\.jsonl: not UTF-8"):
        read_gold_documents(tmp_path)


def test_a_folder_in_the_place_of_the_file_is_one_message(tmp_path: Path) -> None:
    (tmp_path / GOLD_FILE).mkdir()
    with pytest.raises(GoldError, match=r"gold\.jsonl: Is a directory"):
        read_gold_documents(tmp_path)


def test_blank_lines_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    gold = [document("a.txt", "en", (0, 3, "PER", "A\u2028a")), document("b.txt", "en")]
    lines = "\r\n \r\n".join(line.model_dump_json() for line in gold)
    (tmp_path / GOLD_FILE).write_text(f"{lines}\r\n\r\n", "utf-8-sig")
    assert read_gold_documents(tmp_path) == gold


def test_a_document_with_two_lines_is_refused(tmp_path: Path) -> None:
    lines = [document(name, "en").model_dump_json() for name in ("a.txt", "b.txt", "a.txt")]
    (tmp_path / GOLD_FILE).write_text("\n".join(lines))
    with pytest.raises(GoldError, match=r"gold\.jsonl: more than one line of a\.txt;"):
        read_gold_documents(tmp_path)


def test_an_entity_counts_where_its_place_and_its_label_are_right() -> None:
    gold = [
        document("s/sv.txt", "sv", (0, 3, "PER", "Ada")),
        document("s/1.txt", "en", (0, 3, "PER", "Ada"), (7, 13, "LOC", "London")),
        document("s/2.txt", "en", (0, 3, "ORG", "IBM")),
    ]
    spans = [Span(0, 3, "PER"), Span(7, 13, "ORG"), Span(20, 23, "PER")]
    counted = count(gold, {"s/sv.txt": [], "s/1.txt": spans, "s/2.txt": []}, {"PER", "LOC", "ORG"})
    assert totals(counted) == {"en": (3, 3, 1), "sv": (1, 0, 0)}
    assert list(counted.by_language) == ["en", "sv"]
    assert in_words(counted) == (
        "Gold entities found: en 1 of 3, sv 0 of 1, and 2 more that are not in the gold"
    )


def totals(counted: GoldCount) -> dict[str, tuple[int, int, int]]:
    return {language: scores.total for language, scores in counted.by_language.items()}


def test_a_document_that_no_set_has_published_is_named_and_not_counted() -> None:
    gold = [
        document("s/typo.txt", "sv", (0, 3, "PER", "Ada")),
        document("s/1.txt", "en", (0, 3, "PER", "Ada")),
    ]
    counted = count(gold, {"s/1.txt": []}, {"PER"})
    assert totals(counted) == {"en": (1, 0, 0)}
    assert in_words(counted).endswith("Gold documents that no set has published: s/typo.txt")


def test_only_labels_that_both_sides_have_are_counted_and_the_others_are_named() -> None:
    gold = [document("s/1.txt", "en", (0, 3, "PER", "Ada"), (7, 13, "LOC", "London"), (20, 23, "ORG", "IBM"))]
    found = {"s/1.txt": [Span(0, 3, "PERSON"), Span(20, 23, "ORG"), Span(30, 34, "DATE")]}
    counted = count(gold, found, {"PERSON", "ORG", "DATE"})
    assert totals(counted) == {"en": (1, 1, 1)}
    assert in_words(counted).endswith("Gold labels that the model does not have: LOC, PER")


def test_a_model_without_any_of_the_labels_has_no_score() -> None:
    counted = count([document("s/1.txt", "en", (0, 3, "PER", "Ada"))], {"s/1.txt": []}, {"GENE"})
    assert in_words(counted) == "Gold labels that the model does not have: PER"


class Published:
    """As much of a manifest as tells where the tables of a set are."""

    def __init__(
        self, client: Any, folder: S3Location, scratch: Path, tables: dict[str, dict[str, Any]]
    ) -> None:
        self.tables = {}
        for name, columns in tables.items():
            pq.write_table(pa.table(columns), scratch / name)
            etag = put_file(client, folder / name, scratch / name)
            self.tables[name] = PublishedTable(uri=str(folder / name), etag=etag, sha256="", rows=0)


def test_what_was_found_is_read_from_the_published_tables(
    client: Any, places: Places, tmp_path: Path
) -> None:
    manifests = []
    for name in ("news", "mails"):
        ids = [f"{name}/1.txt", f"{name}/2.txt"]
        entities = {"doc_id": ids, "start": [0, 4], "end": [3, 6], "label": ["PER", "LOC"]}
        outcomes = {"doc_id": [*ids, f"{name}/3.txt"]}
        tables = {"outcomes": outcomes, "entities": entities}
        manifests.append(Published(client, places.results / f"{name}/", tmp_path, tables))
    found = published_spans(client, manifests, {"news/1.txt", "mails/2.txt", "mails/3.txt", "other.txt"})
    assert found == {
        "news/1.txt": [Span(0, 3, "PER")],
        "mails/2.txt": [Span(4, 6, "LOC")],
        "mails/3.txt": [],
    }
