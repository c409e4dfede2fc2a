"""Which labels are scored, and under which names: a model and gold data seldom agree on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Self

from ner_pipeline.errors import NerPipelineError
from ner_pipeline.inference.spans import Span

__all__ = ["LabelChoice"]


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """New names for some labels, and those that count; by default all do."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    """After renaming; empty: all."""

    @classmethod
    def parse(cls, labels: str, renamings: Sequence[str]) -> Self:
        """Read `PER,LOC` and [`GPE=LOC`, …]."""
        kept = frozenset(label.strip() for label in labels.split(",") if label.strip())
        if labels and not kept:
            raise NerPipelineError(f"--labels {labels!r} names no label; give them as in PER,LOC,ORG")
        return cls(_parse_renamings(renamings), kept)

    def apply(self, spans: Iterable[Span]) -> list[Span]:
        """Give the spans that count, under their new labels."""
        renamed = (span._replace(label=self.renamed.get(span.label, span.label)) for span in spans)
        return [span for span in renamed if not self.kept or span.label in self.kept]

    def left_out(self, known: Set[str]) -> list[str]:
        """Tell which of the labels that model and gold data know do not count.

        Raises:
            NerPipelineError: a label was named that neither of them knows.
        """
        new_names = {self.renamed.get(label, label) for label in known}
        unknown = sorted((self.renamed.keys() - known) | (self.kept - new_names))
        if unknown:
            raise NerPipelineError(
                f"neither the model nor the gold data has a label {', '.join(unknown)}; "
                f"they have {', '.join(sorted(known | new_names))}"
            )
        return sorted(new_names - self.kept) if self.kept else []


def _parse_renamings(renamings: Iterable[str]) -> dict[str, str]:
    renamed: dict[str, str] = {}
    for renaming in renamings:
        old, new = (label.strip() for label in renaming.partition("=")[::2])
        if not (old and new):
            raise NerPipelineError(f"--map {renaming}: give an old label and a new one, as in GPE=LOC")
        if renamed.setdefault(old, new) != new:
            raise NerPipelineError(f"--map {renaming}: {old} is renamed to {renamed[old]} already")
    return renamed
