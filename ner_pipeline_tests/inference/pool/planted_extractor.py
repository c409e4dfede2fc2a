"""A fake extractor for worker processes: finds `Angela Merkel`, and does harm on planted words.

KILL ends the process by SIGKILL, BOOM raises, SLEEP never ends, SHORT gives too few results, FLOAT wrong
ones, QUIT raises
SystemExit, BLOB raises something that cannot be pickled. ONCE:path kills only while the file is missing.
"""

import os
import re
import signal
import threading
import time
from pathlib import Path

from ner_pipeline.errors import ModelError
from ner_pipeline.inference.extractor import ModelCard
from ner_pipeline.inference.spans import Span

NAME = re.compile(r"Angela Merkel|PERSON\d+")


class UnpicklableError(Exception):
    def __init__(self):
        super().__init__("cannot travel")
        self.lock = threading.Lock()


class Planted:
    card = ModelCard("planted 1.0.0", "0" * 16, ("PERSON",), "cpu", "planted", "a test")

    def extract(self, texts):
        for text in texts:
            self._harm(text)
        if any("FLOAT" in text for text in texts):
            return [[(0.0, 5.0, "PERSON", "")] for _ in texts]
        if any("SHORT" in text for text in texts):
            return []
        return [[Span(m.start(), m.end(), "PERSON") for m in NAME.finditer(text)] for text in texts]

    def _harm(self, text):
        once = re.search(r"ONCE:(\S+)", text)
        if once and not Path(once[1]).exists():
            Path(once[1]).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if "KILL" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if "BOOM" in text:
            raise ValueError("planted")
        if "BLOB" in text:
            raise UnpicklableError
        if "QUIT" in text:
            raise SystemExit(0)
        while "SLEEP" in text:
            time.sleep(0.05)


def load(model, device, components):
    return Planted()


def load_missing_model(model, device, components):
    raise ModelError(f"NER_MODEL={model}: no such folder or package")


def load_missing_import(model, device, components):
    import no_such_library_anywhere  # noqa: F401


def load_without_card(model, device, components):
    extractor = Planted()
    extractor.card = threading.Lock()
    return extractor


def load_and_die(model, device, components):
    os.kill(os.getpid(), signal.SIGKILL)


class Reporting(Planted):
    """Tells about its process in the kb_id: its id, thread settings, number of threads, its main script."""

    def extract(self, texts):
        settings = {os.environ.get(f"{name}_NUM_THREADS") for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
        import sys

        import numpy as np

        a = np.ones((600, 600), dtype="float32")
        for _ in range(5):
            a = (a @ a) / 600
        threads = len(list(Path("/proc/self/task").iterdir())) if Path("/proc/self/task").exists() else -1
        main = getattr(sys.modules["__main__"], "__file__", None)
        note = f"{os.getpid()}|{settings}|{threads}|{main}"
        return [[Span(0, 1, "PERSON", note)] for _ in texts]


def load_reporting(model, device, components):
    return Reporting()
