"""Counting: entities that are marked, found, and both. Pure numbers; no files and no model.

An entity is found when its start, its end and its label are right. Nothing is given for a part of that; how
often only the label was wrong, or only the edges, is counted beside the scores, as a help.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple, Self

from ner_pipeline.inference.spans import Span

__all__ = ["Scores", "Tally"]

_Entity = tuple[int, int, str]


class Tally(NamedTuple):
    """How many entities gold data has, how many were found, and how many of those are right."""

    gold: int
    found: int
    correct: int

    @property
    def precision(self) -> float:
        """Which part of what was found is right; 0 where nothing was found."""
        return _ratio(self.correct, self.found)

    @property
    def recall(self) -> float:
        """Which part of the gold entities was found; 0 where there are none."""
        return _ratio(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _ratio(2 * self.correct, self.gold + self.found)


@dataclass(slots=True)
class Scores:
    """What has been counted so far, by label."""

    gold: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    correct: Counter[str] = field(default_factory=Counter)
    wrong_label: int = 0
    """Found where a gold entity stands, and called something else."""
    overlapping: int = 0
    """Found where a part of a gold entity stands, or more than one."""

    def add(self, gold: Iterable[Span], found: Iterable[Span]) -> None:
        """Count the entities of one text."""
        marked, given = Counter(map(_entity, gold)), Counter(map(_entity, found))
        correct = marked & given
        for total, part in ((self.gold, marked), (self.found, given), (self.correct, correct)):
            total.update(label for _, _, label in part.elements())
        places = _Places(marked)
        for start, end, _ in (given - correct).elements():
            there = (start, end) in places.all
            self.wrong_label += there
            self.overlapping += not there and places.overlap(start, end)

    def __add__(self, other: Self) -> Scores:
        return Scores(
            self.gold + other.gold,
            self.found + other.found,
            self.correct + other.correct,
            self.wrong_label + other.wrong_label,
            self.overlapping + other.overlapping,
        )

    @property
    def by_label(self) -> dict[str, Tally]:
        """The tally of each label that is in the gold data or was found, sorted."""
        labels = sorted(self.gold | self.found)
        return {label: Tally(self.gold[label], self.found[label], self.correct[label]) for label in labels}

    @property
    def total(self) -> Tally:
        """The tally of all labels together."""
        return Tally(self.gold.total(), self.found.total(), self.correct.total())


class _Places:
    """Where the gold entities of a text are."""

    def __init__(self, entities: Iterable[_Entity]) -> None:
        places = sorted((start, end) for start, end, _ in entities)
        self.all = frozenset(places)
        self._starts = [start for start, _ in places]
        self._ends_up_to = list(accumulate((end for _, end in places), max))

    def overlap(self, start: int, end: int) -> bool:
        """Tell whether one of them has a character from `start` to `end`."""
        before = bisect_left(self._starts, end)
        return before > 0 and self._ends_up_to[before - 1] > start


def _entity(span: Span) -> _Entity:
    return span.start, span.end, span.label


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
