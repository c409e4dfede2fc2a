"""zip: the members of an archive, each as a source of its own.

A zip is read from its end, so it is spooled first: a few megabytes in memory, more on disk. `zipfile`
reads the directory and the members. What it does not check is checked here before anything is unpacked:
how large the directory is, whether members share bytes, and what their sizes come to. Names are labels
and nothing more: no member is ever written under its name.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import IO, Final, NamedTuple

from ner_pipeline.documents.bad_input import BadInputError, excerpt
from ner_pipeline.documents.sources import ByteSource, spooled
from ner_pipeline.documents.unpacking.budget import Budget

__all__ = ["Member", "zip_members"]

_MAX_DIRECTORY_BYTES: Final = 16 * 1024**2
"""Some 150,000 members: `zipfile` holds the directory in memory, at several times its size."""
_LOCAL_HEADER_BYTES: Final = 30
_ENCRYPTED_FLAGS: Final = 0x1 | 0x40
_UTF8_NAME_FLAG: Final = 0x800
_READ_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The others unpack without a bound on memory in `zipfile`, and hardly anybody writes them."""
_ZIP_ERRORS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ValueError,
    OverflowError,
    NotImplementedError,
)
_UNPACKED_BLOCK_BYTES: Final = 64 * 1024
_NO_DOCUMENTS: Final = ("_SUCCESS", ".DS_Store", "Thumbs.db", "desktop.ini")
_FOREIGN: Final = {
    "[Content_Types].xml": "an Office file (.docx, .xlsx, .pptx)",
    "mimetype": "an OpenDocument file or an e-book (.odt, .epub)",
    "META-INF/MANIFEST.MF": "a Java archive",
    "AndroidManifest.xml": "an Android package",
}


class Member(NamedTuple):
    """One file in an archive. What is wrong with it shows when its bytes are read."""

    path: str
    source: ByteSource


def zip_members(packed: ByteSource, max_bytes: int, budget: Budget) -> Iterator[Member]:
    """Yield the members of the archive that may be documents, in the order of its directory."""
    with spooled(packed, max_bytes) as file:
        if packed.position:
            yield from _members(file, budget)


def _members(file: IO[bytes], budget: Budget) -> Iterator[Member]:
    with _opened(file) as archive:
        infos = [info for info in archive.infolist() if not info.filename.endswith("/")]
        _check_kind(infos)
        _check_places(infos, archive.start_dir)
        wanted = [(path, info) for info in infos if _may_be_a_document(path := _path(info))]
        budget.announce(sum(info.file_size for _, info in wanted))
        for path, info in wanted:
            yield Member(path, budget.spend(_unpack(archive, info)))


@contextmanager
def _opened(file: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    with _translated():
        archive = zipfile.ZipFile(_BoundedFile(file))
    with archive:
        yield archive


@contextmanager
def _translated() -> Iterator[None]:
    """Translate all that `zipfile` raises over bad bytes."""
    try:
        yield
    except _ZIP_ERRORS as error:
        raise _invalid(excerpt(str(error) or "it ends too early")) from error


class _BoundedFile:
    """The file for `zipfile`, which reads the directory in one call, of whatever size the archive claims."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seekable = file.seekable
        self.tell = file.tell

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence == 0 and not 0 <= offset < 2**63:
            raise _invalid(f"it points to byte {offset:,}")
        return self._file.seek(offset, whence)

    def read(self, count: int = -1) -> bytes:
        if count > _MAX_DIRECTORY_BYTES:
            raise _invalid(f"its directory has more than {_MAX_DIRECTORY_BYTES:,} bytes")
        return self._file.read(count)


def _check_kind(infos: list[zipfile.ZipInfo]) -> None:
    for info in infos:
        if info.filename in _FOREIGN:
            raise BadInputError(
                "unknown_format", f"it is {_FOREIGN[info.filename]}, no archive of texts; save it as text"
            )


def _check_places(infos: list[zipfile.ZipInfo], directory_offset: int) -> None:
    """Refuse members that share bytes: so a small archive can unpack to petabytes."""
    starts = sorted((info.header_offset, _least_bytes(info)) for info in infos)
    for (start, length), (next_start, _) in pairwise([*starts, (directory_offset, 0)]):
        if start + length > next_start:
            raise _invalid(f"members overlap at byte {next_start:,}")


def _least_bytes(info: zipfile.ZipInfo) -> int:
    return _LOCAL_HEADER_BYTES + len(info.orig_filename) + info.compress_size


def _path(info: zipfile.ZipInfo) -> str:
    """Give the name as it was meant: where nothing says that it is UTF-8, it may be so all the same."""
    if info.flag_bits & _UTF8_NAME_FLAG:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _may_be_a_document(path: str) -> bool:
    name = path.rpartition("/")[2]
    if name.endswith("\\"):  # a folder, as some programs write it
        return False
    return not (path.startswith("__MACOSX/") or name.startswith("._") or name in _NO_DOCUMENTS)


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    _check_readable(info)
    with _translated():
        member = archive.open(info)
    left = info.file_size
    with member:
        while block := _read(member):
            left -= len(block)
            yield block
    if left:
        raise _invalid(f"it lacks {left:,} of the bytes that its directory tells of")


def _read(member: IO[bytes]) -> bytes:
    with _translated():
        return member.read(_UNPACKED_BLOCK_BYTES)


def _check_readable(info: zipfile.ZipInfo) -> None:
    if info.flag_bits & _ENCRYPTED_FLAGS:
        raise BadInputError("encrypted", "it is encrypted; pack it without a password")
    if info.compress_type not in _READ_METHODS:
        raise _invalid(f"it is packed by method {info.compress_type}; pack it with deflate")


def _invalid(what: str) -> BadInputError:
    return BadInputError("invalid_zip", f"the zip archive is damaged, or of a kind that is not read: {what}")
