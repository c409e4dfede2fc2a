"""The id of a document: readable, and never shared by two documents.

The id that a record carries in itself is something else (`Document.record_id`): nobody guarantees that
those are unique.
"""

from __future__ import annotations

import re

__all__ = ["doc_id"]

_LOOKS_LIKE_A_RECORD = re.compile(r"#[0-9]+\Z")


def doc_id(key: str, record: int | None) -> str:
    """Name the document that is record number `record` of the object `key`, or the whole object.

    Records count from 1, so `#0` is free to mark a whole object whose own key ends like a record's id:
    without it the object `a#1` and the first record of the object `a` would share an id.
    """
    if record is not None:
        return f"{key}#{record}"
    return f"{key}#0" if _LOOKS_LIKE_A_RECORD.search(key) else key
