"""The UTF-16 offsets, used as a web page would: JavaScript slices the text, and gets the entity."""

import json
import shutil
import subprocess

import pytest

NODE = shutil.which("node") or shutil.which("nodejs")

TEXTS = [
    "😀 Barack Obama visited Paris",
    "👨‍👩‍👧 Bob, and é Bob, and e\u0301 Bob",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 in the Astral Plane: 𠮷野家 near Tokyo\r\nand Zürich\u2028Berlin",
    "no entity here",
]

SLICE = """
const rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(rows.map(row => row.text.slice(row.start_utf16, row.end_utf16))));
"""


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_o01_javascript_cuts_every_entity_out_of_its_text(world):
    lines = "\n".join(json.dumps({"text": text}) for text in TEXTS)
    key = world.process("emoji/a.jsonl", lines)
    texts, rows = world.texts(key), world.rows("entities", key)
    asked = [{**row, "text": texts[row["doc_id"]]} for row in rows]
    columns = ("text", "start_utf16", "end_utf16")
    given = json.dumps([{name: row[name] for name in columns} for row in asked])
    sliced = subprocess.run([NODE, "-e", SLICE], input=given, capture_output=True, text=True, check=True)
    assert json.loads(sliced.stdout) == [row["entity"] for row in rows]
    assert {"Barack", "Bob", "Astral", "Tokyo", "Zürich", "Berlin"} <= {row["entity"] for row in rows}


def test_o01_bytes_are_counted_when_they_are_asked_for(world):
    world.settings = world.settings.model_copy(update={"utf8_offsets": True})
    key = world.process("emoji/a.txt", TEXTS[0])
    [text] = world.texts(key).values()
    for row in world.rows("entities", key):
        assert text.encode()[row["start_utf8"] : row["end_utf8"]].decode() == row["entity"]
    offsets = {row["entity"]: (row["start_utf8"], row["end_utf8"]) for row in world.rows("entities", key)}
    assert offsets["Barack"] == (5, 11)


def test_o01_bytes_are_null_where_nobody_asked(world):
    key = world.process("plain/a.txt", "Bob met Ann")
    assert {(row["start_utf8"], row["end_utf8"]) for row in world.rows("entities", key)} == {(None, None)}


def test_o01_the_schema_says_in_which_unit_each_offset_counts(world):
    key = world.process("plain/a.txt", "Bob met Ann")
    schema = world.schema("entities", key)
    names = ("start", "end_utf16", "start_utf8")
    units = {name: schema.field(name).metadata[b"unit"].decode() for name in names}
    assert units == {
        "start": "Unicode code points of the text in documents, end exclusive",
        "end_utf16": "UTF-16 units of the text in documents, end exclusive",
        "start_utf8": "bytes in UTF-8 of the text in documents, end exclusive",
    }
