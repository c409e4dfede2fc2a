""".jsonl: each line is a JSON object, and a document. A bad line costs itself and no other."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError, excerpt, listed
from ner_pipeline.documents.decoding import Encoding, begin_text
from ner_pipeline.documents.document import Document
from ner_pipeline.documents.limits import Fields, ReadLimits, ReadOptions
from ner_pipeline.documents.readers.lines import Line, split_lines
from ner_pipeline.documents.sources import ByteSource
from ner_pipeline.documents.verdicts import judge, mend_surrogates, reject

__all__ = ["read_jsonl"]


class _Number(str):
    """A number as it is spelled: an id 9007199254740993 or 1.10 must not pass through a float."""

    __slots__ = ()


_parse: Final = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_Number).decode
_JSON_TYPES: Final = {
    _Number: "a number",
    list: "a list",
    dict: "an object",
    bool: "true or false",
    type(None): "null",
}


def read_jsonl(source: ByteSource, options: ReadOptions) -> Iterator[Document]:
    """Yield one document for each line that is not blank; its record number is its line number."""
    limits, fields = options.limits, options.fields
    encoding = begin_text(source)
    records = 0
    for line in split_lines(source, limits.max_record_bytes):
        if not line.raw.removeprefix(codecs.BOM_UTF8).strip():
            continue
        records += 1
        if records > limits.max_records:
            raise BadInputError(
                "too_many_records", f"it has more than {limits.max_records:,} records; split it"
            )
        yield _document(line, encoding, limits, fields)


def _document(line: Line, encoding: Encoding, limits: ReadLimits, fields: Fields) -> Document:
    place = Document(
        record=line.number, byte_offset=line.offset, encoding=encoding.name, had_bom=encoding.had_bom
    )
    try:
        record = _record(line, encoding, limits)
        return _judge_record(place, record, limits, fields)
    except BadInputError as fault:
        return reject(place, BadInputError(fault.reason, f"line {line.number:,}: {fault.detail}"))


def _record(line: Line, encoding: Encoding, limits: ReadLimits) -> dict[str, object]:
    if line.too_long:
        raise BadInputError(
            "too_large", f"more than {limits.max_record_bytes:,} bytes, beginning with {excerpt(line.raw)}"
        )
    # Where files with byte order marks were joined, one stands before a line in the middle.
    text = encoding.decode(line.raw, offset=line.offset).removeprefix("\ufeff").rstrip("\r\n")
    try:
        record = _parse(text)
    except json.JSONDecodeError as error:
        where = f"{error.msg.removesuffix(' at')} at character {error.pos + 1:,} of {excerpt(text)}"
        raise BadInputError("invalid_json", f"{where} (byte {line.offset:,} of the file)") from error
    except RecursionError as error:
        raise BadInputError("invalid_json", f"nested too deeply: {excerpt(text)}") from error
    if not isinstance(record, dict):
        raise BadInputError("not_an_object", f"{excerpt(text)} is {_kind(record)}, no JSON object")
    return record


def _judge_record(place: Document, record: dict[str, object], limits: ReadLimits, fields: Fields) -> Document:
    if fields.text not in record:
        found = listed(list(record))
        raise BadInputError(
            "no_text_field", f"no {fields.text!r} (found {found}); rename the field or set NER_TEXT_FIELD"
        )
    text = record[fields.text]
    if not isinstance(text, str) or isinstance(text, _Number):
        raise BadInputError("text_not_string", f"{fields.text!r} is {_kind(text)}, no string")
    record_id, id_note = _record_id(record.get(fields.id), fields)
    mended, count = mend_surrogates(text)
    text_note = f"{count:,} lone surrogate(s) (half an emoji) became U+FFFD" if count else ""
    note = "; ".join(filter(None, (text_note, id_note)))
    return judge(replace(place, record_id=record_id), mended, limits, note=note)


def _record_id(value: object, fields: Fields) -> tuple[str | None, str]:
    """Spell an id as the record does, with a note where it cannot be spelled."""
    if value is None or isinstance(value, (list, dict)):
        note = "" if value is None else f"{fields.id!r} is {_kind(value)} and was left out"
        return None, note
    if isinstance(value, bool):
        return json.dumps(value), ""
    return mend_surrogates(str(value))[0], ""


def _kind(value: object) -> str:
    return _JSON_TYPES.get(type(value), "a string")
