""".jsonl: each line is a JSON object, and a document. A bad line costs itself and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError, excerpt, listed
from ner_pipeline.documents.decoding import Decoded, TextSource, open_text
from ner_pipeline.documents.document import Document, Warned
from ner_pipeline.documents.limits import Fields, ReadLimits, ReadOptions
from ner_pipeline.documents.readers.lines import Line, split_lines
from ner_pipeline.documents.sources import ByteSource
from ner_pipeline.documents.verdicts import judge, mend_surrogates, reject

__all__ = ["JSON_DECODER", "judge_record", "parse_json", "read_jsonl"]


class _Number(str):
    """A number as it is spelled: an id 9007199254740993 or 1.10 must not pass through a float."""

    __slots__ = ()


JSON_DECODER: Final = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_Number)
"""Keeps numbers as they are spelled."""
_BLANK: Final = " \t\n\r\v\f"
_JSON_TYPES: Final = {
    _Number: "a number",
    list: "a list",
    dict: "an object",
    bool: "true or false",
    type(None): "null",
}


def read_jsonl(source: ByteSource, options: ReadOptions) -> Iterator[Document]:
    """Yield one document for each line that is not blank; its record number is its line number."""
    text = open_text(source, *options.charsets)
    limits = options.limits
    documents = (_document(line, text, options) for line in split_lines(text, limits.max_record_bytes))
    for count, document in enumerate(filter(None, documents), start=1):
        if count > limits.max_records:
            raise BadInputError(
                "too_many_records", f"it has more than {limits.max_records:,} records; split it"
            )
        yield document


def parse_json(text: str) -> object:
    """Parse the JSON text of one record."""
    try:
        return JSON_DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = f"{error.msg.removesuffix(' at')} at character {error.pos + 1:,}"
        raise BadInputError("invalid_json", f"{where} of {excerpt(text)}") from error
    except RecursionError as error:
        raise BadInputError("invalid_json", f"nested too deeply: {excerpt(text)}") from error


def judge_record(
    place: Document, record: object, decoded: Decoded, options: ReadOptions, *, where: str
) -> Document:
    """Make a document of what `JSON_DECODER` found in `decoded`; `where` begins what a rejection says."""
    record_id, id_note = _record_id(record, options.fields)
    place = place._replace(record_id=record_id, encoding=decoded.encoding)
    try:
        text, lone = mend_surrogates(_text(record, decoded, options.fields))
    except BadInputError as fault:
        return reject(place, BadInputError(fault.reason, f"{where}: {fault.detail}"))
    found = _noted(decoded.with_text(text), lone, id_note) if lone or id_note else decoded.with_text(text)
    return judge(place, found, options.limits)


def _noted(decoded: Decoded, lone_surrogates: int, id_note: str) -> Decoded:
    if not lone_surrogates:
        return replace(decoded, note="; ".join(filter(None, (id_note, decoded.note))))
    text_note = f"{lone_surrogates:,} lone surrogate(s) (half an emoji) became U+FFFD"
    return replace(
        decoded,
        warnings=tuple(sorted({*decoded.warnings, Warned.SURROGATES_REPLACED})),
        note="; ".join(filter(None, (text_note, id_note, decoded.note))),
    )


def _document(line: Line, text: TextSource, options: ReadOptions) -> Document | None:
    """Make a document of a line, or None of a blank one."""
    place = Document(record=line.number, byte_offset=line.offset, had_bom=text.had_bom)
    if line.too_long:
        return _reject(place, _too_large(line, options.limits))
    decoded = text.decode(line.raw, offset=line.offset)
    # Where files with byte order marks were joined, one stands before a line in the middle.
    spelled = decoded.text.removeprefix("\ufeff").rstrip(_BLANK)
    if not spelled:
        return None
    try:
        record = parse_json(spelled)
    except BadInputError as fault:
        return _reject(place._replace(encoding=decoded.encoding), fault)
    return judge_record(place, record, decoded, options, where=f"line {line.number:,}")


def _reject(place: Document, fault: BadInputError) -> Document:
    return reject(place, BadInputError(fault.reason, f"line {place.record:,}: {fault.detail}"))


def _too_large(line: Line, limits: ReadLimits) -> BadInputError:
    return BadInputError(
        "too_large", f"more than {limits.max_record_bytes:,} bytes, beginning with {excerpt(line.raw)}"
    )


def _text(record: object, decoded: Decoded, fields: Fields) -> str:
    if not isinstance(record, dict):
        shown = excerpt(decoded.text.strip(_BLANK))
        raise BadInputError("not_an_object", f"{shown} is {_kind(record)}, no JSON object")
    if fields.text not in record:
        found = listed(list(record))
        raise BadInputError(
            "no_text_field", f"no {fields.text!r} (found {found}); rename the field or set NER_TEXT_FIELD"
        )
    text = record[fields.text]
    if not isinstance(text, str) or isinstance(text, _Number):
        raise BadInputError("text_not_string", f"{fields.text!r} is {_kind(text)}, no string; give it as one")
    return text


def _record_id(record: object, fields: Fields) -> tuple[str | None, str]:
    """Spell an id as the record does, with a note where it cannot be spelled."""
    value = record.get(fields.id) if isinstance(record, dict) else None
    if value is None or isinstance(value, (list, dict)):
        note = "" if value is None else f"{fields.id!r} is {_kind(value)} and was left out"
        return None, note
    if isinstance(value, bool):
        return json.dumps(value), ""
    return mend_surrogates(str(value))[0], ""


def _kind(value: object) -> str:
    return _JSON_TYPES.get(type(value), "a string")
