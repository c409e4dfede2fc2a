"""A few made-up sentences for each file that a table of corpora names, laid out like the real ones."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SENTENCES = 60
"""In each file: enough to make ten pieces of a newspaper, so that a tenth of it is one."""
NAMES = {
    "PER": ("Ana Berg", "Ivo", "Olga Lind Holm"),
    "LOC": ("Oslo", "Nova Luka", "Rijeka"),
    "ORG": ("Acme", "Kolo Bank", "Union of Bakers"),
}
WORDS = {"PER": "said", "LOC": "in", "ORG": "from"}
CHINESE_NAMES = {"PER": ("张伟", "王小明"), "LOC": ("北京", "上海"), "ORG": ("光明银行", "东方大学")}
CHINESE_WORDS = {"PER": "见到", "LOC": "在", "ORG": "来自"}

LINES = {
    "UNER": "{number}\t{token}\t{tag}\t-\t-\n",
    "btc": "{token}\t{tag}\n",
    "wikigold": "{token} {tag}\n",
    "sec": "{token} NN - {tag}\n",
    "lener": "{token} {tag}\n",
    "europeana": "{token} {tag}\n",
    "turku": "{token}\t{tag}\n",
}
"""A token's line, by what the name of the corpus's folder begins with."""
OWN_LABELS = {"lener": {"PER": "PESSOA", "LOC": "LOCAL", "ORG": "ORGANIZACAO"}}
FACT_RU_EVAL = {"PER": ("Person", "name"), "LOC": ("Location", "loc_name"), "ORG": ("Org", "org_name")}
"""What it calls an object and the span of its name."""

Token = tuple[str, str]
"""With its tag, in IOB2."""


def write_corpora(folder: Path, table: Iterable[Any]) -> None:
    """Write each file that the table names below the folder."""
    for corpus in table:
        for part in (*corpus.train, *corpus.dev, *corpus.test):
            path = folder / part.files.replace("*", "made")
            path.parent.mkdir(parents=True, exist_ok=True)
            sentences = list(_sentences(part.files, chinese=corpus.name.startswith("zh")))
            kind = part.files.partition("/")[0].partition("_")[0]
            if kind in LINES:
                path.write_text("".join(_lines(kind, sentences)), encoding="utf-8")
            else:
                _write_fact_ru_eval(path, sentences)


def _sentences(seed: str, *, chinese: bool) -> Iterator[list[Token]]:
    """Give sentences that differ, each with a name of every label."""
    chance = random.Random(seed)
    names, words = (CHINESE_NAMES, CHINESE_WORDS) if chinese else (NAMES, WORDS)
    for number in range(SENTENCES):
        sentence = [(str(number), "O")]
        for label in chance.sample(sorted(names), len(names)):
            first, *others = chance.choice(names[label]).split()
            sentence += [
                (words[label], "O"),
                (first, f"B-{label}"),
                *((word, f"I-{label}") for word in others),
            ]
        yield sentence


def _lines(kind: str, sentences: Iterable[list[Token]]) -> Iterator[str]:
    labels = OWN_LABELS.get(kind, {})
    for sentence in sentences:
        for number, (token, tag) in enumerate(sentence, start=1):
            prefix, dash, label = tag.partition("-")
            own = f"{prefix}{dash}{labels.get(label, label)}"
            yield LINES[kind].format(number=number, token=token, tag=own)
        if kind != "europeana":  # It has no sentences.
            yield "\n"


def _write_fact_ru_eval(path: Path, sentences: Iterable[list[Token]]) -> None:
    """Write a text of paragraphs and the two files beside it, in which each token of a name is a span."""
    text, spans, objects = "", [], []
    for sentence in sentences:
        for token, tag in sentence:
            prefix, _, label = tag.partition("-")
            if label:
                kind, what = FACT_RU_EVAL[label]
                objects += [f"{len(objects)} {kind}"] if prefix == "B" else []
                objects[-1] += f" {len(spans)}"
                spans.append(f"{len(spans)} {what} {len(text)} {len(token)} 0 1  # 0 {token}")
            text += f"{token} "
        text += "\n\n"
    path.write_text(text, encoding="utf-8")
    for suffix, rows in ((".spans", spans), (".objects", objects)):
        path.with_suffix(suffix).write_text("\n".join(rows), encoding="utf-8")
