"""What happens inside a worker process: load one extractor, then turn batches of texts into plain tuples.

Nothing here raises: what goes wrong travels back as a value, since an exception that cannot be pickled,
or one in a process that is just starting, would reach the parent as a broken pool without a reason.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ner_pipeline.errors import NerPipelineError
from ner_pipeline.inference.extractor import Extractor, ModelCard
from ner_pipeline.inference.pool.spawning import end_with_parent
from ner_pipeline.inference.spans import Span

__all__ = [
    "BatchFailed",
    "BatchFound",
    "DeviceGone",
    "LoadFailed",
    "LoaderCall",
    "describe",
    "describe_error",
    "extract_batch",
    "prepare",
    "resolve",
]

DETAIL_CHARS = 500
"""An error's text may quote the whole document."""


@dataclass(frozen=True, slots=True)
class LoaderCall:
    """What loads the extractor in a worker."""

    loader: str
    """A function that a worker can import, as `module:function`."""
    arguments: tuple[str, str, str]
    """The model, the device and the components."""
    options: dict[str, int]
    """What else is asked of it, by name; only an extractor of ours is asked for more."""


@dataclass(frozen=True, slots=True)
class BatchFound:
    """The spans of each text of a batch, as plain tuples (start, end, label, kb_id)."""

    spans: list[list[tuple[int, int, str, str]]]
    seconds: float


@dataclass(frozen=True, slots=True)
class BatchFailed:
    """The extractor raised, or gave something that is no list of spans per text."""

    detail: str


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """The extractor could not be loaded in this process."""

    detail: str


class DeviceGone(Exception):
    """The device process that computes for this one has ended. That is no text's fault."""


@dataclass(slots=True)
class _State:
    """What this process holds: a worker has one extractor for its whole life."""

    extractor: Extractor | None = None
    fault: LoadFailed | DeviceGone = field(default=LoadFailed("prepare() has not been called"))


_state = _State()


def prepare(load: LoaderCall, address: str) -> None:
    """Load the extractor, once per process. It computes here, unless a device process has an `address`."""
    end_with_parent()
    try:
        _state.extractor = _load(load, address)
    except DeviceGone as gone:
        _state.fault = gone
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent has to hear it
        _state.fault = LoadFailed(describe_error(error))


def describe() -> ModelCard | LoadFailed | DeviceGone:
    """Give the card of the loaded model."""
    return _state.fault if _state.extractor is None else _state.extractor.card


def extract_batch(texts: list[str]) -> BatchFound | BatchFailed | LoadFailed | DeviceGone:
    """Extract the spans of each text."""
    if _state.extractor is None:
        return _state.fault
    begin = time.perf_counter()
    try:
        spans = [[_plain(span) for span in found] for found in _state.extractor.extract(texts)]
    except DeviceGone as gone:
        return gone
    except Exception as error:  # noqa: BLE001 - a document's fault must not end the worker
        return BatchFailed(describe_error(error))
    if len(spans) != len(texts):
        return BatchFailed(f"the extractor gave {len(spans)} results for {len(texts)} texts")
    return BatchFound(spans, time.perf_counter() - begin)


def resolve(name: str) -> Callable[..., Any]:
    """Import the callable that `module:name` names."""
    module, _, attribute = name.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return found


def describe_error(error: Exception) -> str:
    """Say in one printable line what went wrong: it becomes a cell of a table, and may quote any text."""
    # Our own errors are written to be read as they stand.
    text = str(error) if isinstance(error, NerPipelineError) else f"{type(error).__name__}: {error}"
    line = " ".join(text.split())
    line = "".join(character if character.isprintable() else "\ufffd" for character in line)
    return line if len(line) <= DETAIL_CHARS else f"{line[:DETAIL_CHARS]}…"


def _load(load: LoaderCall, address: str) -> Extractor:
    """Load the extractor; with a network only if a device process has one."""
    loader: Callable[..., Extractor] = resolve(load.loader)
    if not address:
        return loader(*load.arguments, **load.options)
    from ner_pipeline.inference.pool.remote_network import RemoteNetwork

    network = RemoteNetwork(address)
    extractor = loader(*load.arguments, network=network, **load.options)
    # Here, since a batch must not pay for it with its time.
    network.wait_until_loaded()
    return extractor


def _plain(span: Span) -> tuple[int, int, str, str]:
    """Take a span apart, whatever class it has. One of other types is the extractor's fault, not a row's."""
    start, end, label, kb_id = span
    if not (type(start) is type(end) is int and type(label) is type(kb_id) is str):
        raise TypeError(f"the extractor gave {tuple(span)!r}; a span is (int, int, str, str)")
    return start, end, label, kb_id
