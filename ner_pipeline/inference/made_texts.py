"""Made-up texts for measuring speed where there are no texts to measure with.

What a model finds in them means nothing. They share with real texts what decides the speed of an extractor:
sentences with their marks and names, and words as Zipf's law deals them out, a few of them over and over and
no end of new ones. The same seed gives the same texts on every machine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module

__all__ = ["WordMaker", "example_sentences", "made_texts"]

VOCABULARY = 100_000
"""How many words there are to draw from. A million characters have as many different words as a novel's."""
REPLACED = 0.5
"""The share of the longer words of a sentence that are replaced by drawn ones."""
SENTENCES_PER_TEXT = (1, 6)

_LONGER_WORD = re.compile(r"[^\W\d_]{4,}")
_BEGINNING = re.compile(r"(?<![^\W_])[^\W\d_]{3}")


class WordMaker:
    """An endless vocabulary: a word for each rank, the rarer the longer, in the letters of some sentences."""

    def __init__(self, sentences: Sequence[str]) -> None:
        found = {begin.lower() for sentence in sentences for begin in _BEGINNING.findall(sentence)}
        self._syllables = sorted(found) or ["lorem"]

    def word(self, rank: int) -> str:
        """Write the rank as a number whose digits are the beginnings of words."""
        syllables = []
        while rank:
            rank, digit = divmod(rank - 1, len(self._syllables))
            syllables.append(self._syllables[digit])
        return "".join(syllables)

    def draw(self, chance: random.Random) -> str:
        """Draw a word: one of rank r comes half as often as one of rank r/2, as in Zipf's law."""
        return self.word(int(VOCABULARY ** chance.random()))


def made_texts(sentences: Sequence[str], *, chars: int, seed: int = 0) -> Iterator[str]:
    """Make texts of about so many characters together, of sentences in which words are replaced."""
    chance, words = random.Random(seed), WordMaker(sentences)  # noqa: S311 - nothing is kept secret
    left = chars

    def replacement(match: re.Match[str]) -> str:
        if chance.random() >= REPLACED:
            return match[0]
        drawn = words.draw(chance)
        return drawn.capitalize() if match[0][0].isupper() else drawn

    while left > 0:
        chosen = chance.choices(sentences, k=chance.randint(*SENTENCES_PER_TEXT))
        text = _LONGER_WORD.sub(replacement, " ".join(chosen))
        left -= len(text)
        yield text


def example_sentences(language: str) -> list[str]:
    """Give the sentences that spaCy brings along for a language, or else those for many languages."""
    with suppress(ModuleNotFoundError):
        return list(import_module(f"spacy.lang.{language}.examples").sentences)
    return list(import_module("spacy.lang.xx.examples").sentences)
