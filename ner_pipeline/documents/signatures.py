"""Files that are no text whatever their name says, told by their first bytes.

Some would pass as text: a PDF is half ASCII. Only signatures that no text begins with are here; the
packings that are unpacked have theirs in `unpacking`.
"""

from __future__ import annotations

import re
from typing import Final

from ner_pipeline.documents.bad_input import BadInputError

__all__ = ["SIGNATURE_BYTES", "check_is_no_foreign_file"]

_SIGNATURES: Final = {
    b"%PDF-": "a PDF",
    b"{\\rtf": "an RTF document",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office document (.doc, .xls, .ppt, .msg)",
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF87a": "a GIF image",
    b"GIF89a": "a GIF image",
    b"II*\0": "a TIFF image",
    b"MM\0*": "a TIFF image",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\xfd7zXZ\0": "an xz file",
    b"\x04\x22\x4d\x18": "an LZ4 file",
    b"PAR1": "a Parquet file",
    b"Obj\x01": "an Avro file",
    b"SQLite format 3\0": "a SQLite database",
    b"\x7fELF": "a program",
}
_BZIP2: Final = b"BZh"
_BZIP2_BLOCK: Final = b"1AY&SY"
_TAR: Final = (b"ustar\0", b"ustar ")
_TAR_AT: Final = 257
SIGNATURE_BYTES: Final = _TAR_AT + len(_TAR[0])
_NAMES_TOO: Final = ("a GIF image", "a Parquet file")
"""A text may begin with these words: PAR1 is a gene. In the file there are control characters behind them."""
_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def check_is_no_foreign_file(head: bytes) -> None:
    """Refuse a file that begins with `head`, its first `SIGNATURE_BYTES`, if that is the start of no text."""
    kind = next((kind for start, kind in _SIGNATURES.items() if head.startswith(start)), None)
    if kind in _NAMES_TOO and not _BINARY.search(head):
        kind = None
    if head.startswith(_BZIP2) and head[4:].startswith(_BZIP2_BLOCK):
        kind = "a bzip2 file"
    if head[_TAR_AT:] in _TAR:
        kind = "a tar archive"
    if kind is not None:
        raise BadInputError(
            "not_text", f"by its first bytes it is {kind}, whatever its name says; save it as text"
        )
