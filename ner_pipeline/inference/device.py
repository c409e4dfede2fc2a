"""Which device computes, and why: the values of `NER_DEVICE` and what they lead to here.

Looks for CuPy only when a GPU is asked for or may be there, and never loads a model. The choice takes
effect in `activate`, which has to be called before the model is loaded, in each process and each thread
that computes: thinc keeps its operations in a context variable.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from dataclasses import dataclass

from ner_pipeline.errors import ModelError

__all__ = ["ALLOWED", "Device", "activate", "choose_device", "parse_device"]

ALLOWED = "auto, cpu, gpu, gpu:N (N = number of the GPU, from 0)"

_GPU = re.compile(r"gpu(?::(\d{1,4}))?", re.ASCII)
_REMEDY = "on a machine with an NVIDIA GPU pip install 'ner-pipeline[gpu]', elsewhere set NER_DEVICE=cpu"


@dataclass(frozen=True, slots=True)
class Device:
    """A device that is there."""

    name: str
    """`cpu`, or `gpu:N`."""
    why: str
    """Why this one, in words."""

    @property
    def gpu(self) -> int | None:
        """The number of the GPU; None for the CPU."""
        return None if self.name == "cpu" else int(self.name.removeprefix("gpu:"))


def parse_device(spec: str) -> str:
    """Check a value of `NER_DEVICE` without looking at the machine: `auto`, `cpu` or `gpu:N`."""
    value = spec.strip().lower()
    if value in {"auto", "cpu"}:
        return value
    match = _GPU.fullmatch(value)
    if match is None:
        raise ValueError(f"NER_DEVICE={spec!r}: must be one of {ALLOWED}")
    return f"gpu:{int(match[1] or 0)}"


def choose_device(spec: str) -> Device:
    """Choose the device that `spec` asks for; `auto` takes a GPU if one can be used."""
    wanted = parse_device(spec)
    if wanted == "cpu":
        return Device("cpu", "NER_DEVICE=cpu")
    count, obstacle = _gpus()
    if wanted == "auto":
        if count:
            return Device("gpu:0", f"NER_DEVICE=auto: {count} GPU(s) found through CuPy")
        return Device("cpu", f"NER_DEVICE=auto: {obstacle}")
    if int(wanted.removeprefix("gpu:")) < count:
        return Device(wanted, f"NER_DEVICE={spec}")
    problem = obstacle or f"this machine has {count} GPU(s), numbered from 0"
    raise ModelError(f"NER_DEVICE={spec}: {problem}; {_REMEDY}")


def activate(device: Device) -> None:
    """Make spaCy compute on `device`, in this thread. Before the model is loaded."""
    from thinc.api import require_cpu, require_gpu

    if device.gpu is None:
        require_cpu()
    else:
        require_gpu(device.gpu)


def _gpus() -> tuple[int, str]:
    """Give the number of usable GPUs, and what is in the way if there is none."""
    if importlib.util.find_spec("cupy") is None:
        return 0, "CuPy is not installed"
    try:
        count = int(importlib.import_module("cupy").cuda.runtime.getDeviceCount())
    except Exception as error:  # noqa: BLE001 - CuPy has a tree of errors of its own for each broken driver
        return 0, f"CuPy finds no GPU ({type(error).__name__}: {error})"
    return count, "" if count else "CuPy finds no GPU"
