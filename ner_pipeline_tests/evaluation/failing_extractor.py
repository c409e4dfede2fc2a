"""A fake extractor for worker processes: finds `Kim`, and fails on `BOOM`."""

from ner_pipeline.inference.extractor import ModelCard
from ner_pipeline.inference.spans import Span


class Failing:
    card = ModelCard("failing 1.0.0", "0" * 16, ("PER",), "cpu", "failing", "a test")

    def extract(self, texts):
        if any("BOOM" in text for text in texts):
            raise ValueError("planted")
        return [[Span(0, 3, "PER")] if text.startswith("Kim") else [] for text in texts]


def load(model, device, components):
    return Failing()
