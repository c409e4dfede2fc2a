"""The real extractor, with accidents that a text can ask for. Loaded in the workers, by NER_EXTRACTOR."""

import os
import signal
import time
from pathlib import Path

from ner_pipeline.inference.extractor import load_extractor

KILLS_ITS_WORKER = "KILL-THIS-WORKER"
WAITS_FOR_A_FILE = "WAIT-FOR-A-FILE"
GATE_VARIABLE = "NER_TEST_GATE"


class PlantedExtractor:
    """Dies over one text, and over another one waits until the test opens a gate."""

    def __init__(self, extractor):
        self._extractor = extractor
        self.card = extractor.card

    def extract(self, texts):
        for text in texts:
            if KILLS_ITS_WORKER in text:
                os.kill(os.getpid(), signal.SIGKILL)
            if WAITS_FOR_A_FILE in text:
                self._wait()
        return self._extractor.extract(texts)

    def _wait(self):
        gate = Path(os.environ[GATE_VARIABLE])
        gate.with_suffix(f".{os.getpid()}").touch()
        while not gate.exists():
            time.sleep(0.05)


def load(model, device, components):
    return PlantedExtractor(load_extractor(model, device, components))
