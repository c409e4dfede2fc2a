"""The character sets that are read, and by which names people call them.

Which of them some bytes are in is told in `recognition`; what the bytes say is read in `decoding`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Final

__all__ = ["CHARSETS", "UTF8", "codec_name", "declared_charsets"]

UTF8: Final = "utf-8"

CHARSETS: Final = frozenset(
    codecs.lookup(name).name
    for name in (
        *("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "ascii"),
        *("gb18030", "cp950", "big5hkscs", "cp932", "euc_jis_2004", "iso2022_jp_ext", "cp949"),
        *(f"cp{number}" for number in range(1250, 1259)),
        *(f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        *("koi8_r", "koi8_u", "koi8_t", "kz1048", "ptcp154", "cp874"),
        *("cp437", "cp737", "cp775", "cp850", "cp852", "cp855", "cp857", "cp858", "cp860", "cp861", "cp862"),
        *("cp863", "cp865", "cp866", "cp869", "cp1125"),
        *("mac_roman", "mac_latin2", "mac_cyrillic", "mac_greek", "mac_turkish", "mac_iceland"),
    )
)
"""By the names that their codecs have. In all but UTF-16, UTF-32 and ISO-2022-JP what is below 0x80
is ASCII; in all but UTF-16 and UTF-32 the bytes 0x0A and 0x0D are line ends and nothing else."""

# Where files bear the name of a set and hold its superset, the superset is read, as in the WHATWG Encoding
# Standard: what calls itself Latin-1 has quotes and the euro where Latin-1 has control characters.
_READ_AS: Final = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "shift_jis": "cp932",
    "euc_jp": "euc_jis_2004",
    "euc_kr": "cp949",
    "iso2022_jp": "iso2022_jp_ext",
    "utf-8-sig": UTF8,
}
_FURTHER_LABELS: Final = {
    "cp1252": "ansi 88591 csisolatin1",
    "utf-16": "unicode ucs2 iso10646ucs2 csunicode cp1200",
    "utf-32": "ucs4 iso10646ucs4",
    UTF8: "utf8mb3 utf8mb4 xutf8 utf8bom unicode11utf8 65001",
    "utf-16-le": "utf16le",
    "utf-16-be": "utf16be",
    "utf-32-le": "utf32le",
    "utf-32-be": "utf32be",
    "koi8_r": "koi8r cskoi8r",
    "iso8859_6": "iso88596i iso88596e csiso88596i csiso88596e",
    "iso8859_8": "iso88598e csiso88598i csiso88598e logical visual iso88598i",
    "iso8859_15": "csisolatin9",
    "gb18030": "csgb2312 csiso58gb231280 xgbk gb231280",
    "cp949": "cseuckr isoir149 csksc56011987 ksc56011989 ksc5601",
    "cp950": "cnbig5 xxbig5 xbig5",
    "euc_jp": "eucjpms cp51932 xeucjp",
    "iso2022_jp": "iso2022jp1 iso2022jp2",
    "mac_greek": "xmacgreek",
    "mac_turkish": "xmacturkish",
    "mac_latin2": "xmacce xmaccentraleurroman",
    "mac_cyrillic": "xmacukrainian xmaccyrillic",
    "mac_roman": "csmacintosh xmacroman",
    "cp932": "xsjis windows31j",
}
_CODEC_OF: Final = {label: name for name, labels in _FURTHER_LABELS.items() for label in labels.split()}
"""What people write besides the names that Python knows, small letters and digits alone."""
_MAX_LABEL_CHARS: Final = 60
_WINDOWS: Final = re.compile(r"x?(?:windows|win|cp|ms|ibm|dos|ansi)?(\d{3,4})")

_PARAMETER: Final = re.compile(r"""(?:^|[;,\s])charset\s*=\s*["']?([^\s"';,]+)""", re.IGNORECASE)
_METADATA_KEYS: Final = ("charset", "content-charset", "encoding")


def codec_name(label: str) -> str | None:
    """Find the codec for what `label` names; None where it is no charset, or none that is read.

    >>> codec_name("ISO-8859-1"), codec_name("x-sjis"), codec_name("win-1251"), codec_name("rot13")
    ('cp1252', 'cp932', 'cp1251', None)

    "utf-16" and "utf-32" stay what they are: which end comes first is told by the bytes.
    """
    label = label.strip()[:_MAX_LABEL_CHARS]
    plain = "".join(filter(str.isalnum, label.casefold()))
    number = _WINDOWS.fullmatch(plain)
    known = _CODEC_OF.get(plain) or (f"cp{number[1]}" if number else label)
    name = _python_name(known) or _python_name(plain)
    name = _READ_AS.get(name, name)
    return name if name in CHARSETS or name in ("utf-16", "utf-32") else None


def _python_name(label: str) -> str:
    try:
        return codecs.lookup(label).name
    except (LookupError, ValueError):  # the latter over NUL and over surrogates
        return ""


def declared_charsets(content_type: str | None, metadata: Mapping[str, str]) -> tuple[str, ...]:
    """Find the charsets that an uploader declared, as they were written: that of ContentType goes first.

    >>> declared_charsets('text/plain; Charset="koi8-r"', {"charset": "utf-8"})
    ('koi8-r', 'utf-8')
    """
    parameter = _PARAMETER.search(content_type or "")
    lowered = {key.lower(): value.strip() for key, value in metadata.items()}
    found = (parameter and parameter[1], *map(lowered.get, _METADATA_KEYS))
    return tuple(label for label in found if label)
