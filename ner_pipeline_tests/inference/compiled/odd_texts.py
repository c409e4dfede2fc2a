"""Texts at which tokenizers and networks go wrong, and the texts of the corpora."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

_WORDS = """
don't can't I'm 's ' 'll a.m. e.g. U.S. :) :-( 8) 8 8- ( ) ; = -_- . , ... — - Mr. Paris C++ 'em o'clock
rock'n'roll Cause 'Cause cannot gonna vs. Inc. Ph.D. O D. T. 'S -D :' :'-( 10 10:30 $5 5% __ a_b #tag naïve
http://x.com/a?b=c a@b.co Zürich été qu'il l'an EE. UU. d'un aujourd'hui bzw. z.B. т.е. Иван Москве della
un'altra İstanbul'da 北京大学 日本 张伟在北京 \U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467
\u200b \ufeff e\u0301 \u0301 \xad \0 \ufffd"""
_NAMES = ("Microsoft Corp.", "John Smith", "Angela Merkel", "New York")
ATOMS = (*_WORDS.split(), *_NAMES, "x" * 70, "ab" * 400)
SPACES = (
    *(" ",) * 6,
    *("", "  ", "\n", "\n\n", " \n", "\t", "\r\n", "\u00a0", "\u2003", " \u2003 ", "\x1c", "\x85", "\u2028"),
)
EDGES = [
    "",
    " ",
    "\n",
    "  ",
    "\u00a0",
    " \n\t ",
    "a",
    " a",
    "a ",
    "Paris",
    "8 )",
    "( 8",
    "\u0301",
    "Paris\n\n",
]


def odd_texts(count: int, *, atoms: int = 40, seed: int = 5) -> list[str]:
    """Give the edges, and texts of up to so many atoms with all kinds of space between them."""
    chance = random.Random(seed)
    return [*EDGES, *(_odd_text(chance, chance.randrange(atoms)) for _ in range(count))]


def _odd_text(chance: random.Random, atoms: int) -> str:
    pairs = (chance.choice(SPACES) + chance.choice(ATOMS) for _ in range(atoms))
    return "".join(pairs) + chance.choice(SPACES)


def corpus_documents(folder: Path) -> Iterator[str]:
    """Give every file of a corpus as one text, with blank lines between its sentences or paragraphs."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".iob2", ".conll", ".tsv", ".bio"} and path.is_file():
            yield _rebuilt(path)
        elif path.suffix == ".txt" and path.parent.name in {"long_texts", "devset", "test", "train", "data"}:
            columns = path.parents[1].name in {"data", "CONLL-format"}
            yield _rebuilt(path) if columns else path.read_bytes().decode("utf-8")


def paragraphs(text: str) -> list[str]:
    """Give what stands between blank lines."""
    return [part for part in re.split(r"(?:\r?\n[ \t]*){2,}", text) if part]


def _rebuilt(path: Path) -> str:
    """Give the text of a file with a token on each line; as it was, where the file has that too."""
    lines = path.read_text(encoding="utf-8").splitlines()
    raw = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
    if raw:
        return "\n\n".join(raw)
    words = (line.split()[0] if line.strip() else "\n" for line in lines if not line.startswith("-DOCSTART-"))
    return re.sub(r" *\n[ \n]*", "\n\n", " ".join(words))
