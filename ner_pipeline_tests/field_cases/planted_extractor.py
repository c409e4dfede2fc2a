"""Finds capitalised words, in worker processes, with accidents that a text can ask for.

KILL ends the process by SIGKILL, BOOM raises. CROWD:path runs out of memory, and says so in a file, whenever
another text is computed along with it.
"""

import os
import re
import signal
from pathlib import Path

from ner_pipeline.inference.extractor import ModelCard
from ner_pipeline.inference.spans import Span

SMALL_MEMORY_CHARS = 20_000


class PlantedExtractor:
    card = ModelCard(
        model="planted 1.0",
        version="0" * 16,
        labels=("WORD",),
        device="cpu",
        extractor="planted",
        why="a test",
    )

    def extract(self, texts):
        for text in texts:
            if "KILL" in text:
                os.kill(os.getpid(), signal.SIGKILL)
            if "BOOM" in text:
                raise ValueError("planted")
            if len(texts) > 1 and (crowd := re.search(r"CROWD:(\S+)", text)):
                Path(crowd[1]).touch()
                raise MemoryError
        return [
            [Span(m.start(), m.end(), "WORD") for m in re.finditer(r"\b[A-Z][a-z]+", text)] for text in texts
        ]


class SmallMemoryExtractor(PlantedExtractor):
    def extract(self, texts):
        if sum(map(len, texts)) > SMALL_MEMORY_CHARS:
            raise MemoryError
        return super().extract(texts)


def load(model, device, components):
    return PlantedExtractor()


def load_with_small_memory(model, device, components):
    return SmallMemoryExtractor()
