"""`ExtractionPool`: the processes, and what goes between them.

The orchestration calls `ExtractionPool` and nothing else of this package for computing. Windows, not
documents, are the unit: one long text uses all cores. Workers are started when there is work for them, so
a small set costs one model load. No failure of a worker hangs or ends an extraction: `ledger` says who is
to blame, `slot` holds one worker each, `worker` is what runs in it. On a GPU they may have a device process
that computes for all of them; `topology` says when.

A worker that dies with nothing to do, while it loads or before it begins a task, is replaced, and nobody
is blamed; so is a device process, with all its workers. When that happens again and again without a single
result in between, the pool gives up with `WorkerFault`. A model that cannot be loaded at all is a
`ModelError` with the worker's own words.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from types import TracebackType
from typing import Literal, Self

from ner_pipeline.errors import ModelError, WorkerFault
from ner_pipeline.inference.device import choose_device
from ner_pipeline.inference.extractor import DEFAULT_LOADER, Extractor, ModelCard
from ner_pipeline.inference.model_version import version_for_input
from ner_pipeline.inference.pipeline_files import DEFAULT_MODEL
from ner_pipeline.inference.pool.batching import BATCH_CHARS, CHARS_PER_WORKER, Batching
from ner_pipeline.inference.pool.cores import usable_cores
from ner_pipeline.inference.pool.device_process import DeviceProcess
from ner_pipeline.inference.pool.ledger import Ledger, TextResult
from ner_pipeline.inference.pool.slot import Died, Lost, Slot, Task, TimedOut
from ner_pipeline.inference.pool.topology import choose_topology, cut_of, is_compiled
from ner_pipeline.inference.pool.worker import (
    BatchFailed,
    BatchFound,
    DeviceGone,
    LoaderCall,
    LoadFailed,
    describe,
    extract_batch,
)
from ner_pipeline.inference.windows import CutRule

__all__ = ["ExtractionPool"]

QUEUED = 2
"""Tasks per worker: one that runs, and one so that it need not wait for the parent."""
POLL_S = 0.5
"""How often the pool looks whether its workers are still there. Results do not wait for it."""
LOSSES = 5
"""How often workers may be lost, without a result in between, before the pool gives up: so often, and once
more for each worker, since one shortage of memory may end all of them."""
FAULTS = 4
"""After so many failed batches in a row a worker is replaced."""
GONE_LIMIT_S = 1.0
"""How long a device process may take to end after it has let go of its workers."""

Loader = Callable[..., Extractor]


class ExtractionPool:
    """Worker processes that turn texts into spans. A context manager; use it from one thread."""

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        device: str = "auto",
        components: str = "ner",
        workers: int = 0,
        timeout_s: float = 300.0,
        *,
        normalize: bool = False,
        loader: Loader | str = DEFAULT_LOADER,
        network: str = "",
        cut: CutRule | None = None,
        batch_chars: int = BATCH_CHARS,
        block_tokens: int = 0,
        chars_per_worker: int = CHARS_PER_WORKER,
    ) -> None:
        """Check the arguments; no process is started yet.

        `model`, `device`, `components` are the values of `NER_MODEL`, `NER_DEVICE`, `NER_COMPONENTS`.
        `workers=0` is one per core; who computes on a GPU is told in `topology`. `timeout_s` is for one batch
        of windows. `normalize` shows the model simpler characters (see `input_map`), which
        makes another model version. `loader` is another `load_extractor`: an importable function, or
        `"module:function"`; it is called once in each worker. If it takes a `network`, the one of a device
        process, `network` names the function that loads that. `cut` overrides how texts are cut;
        `batch_chars` is what a worker is given at a time, `block_tokens` what it encodes at a time.
        """
        if timeout_s <= 0 or workers < 0:
            raise ValueError(f"timeout_s={timeout_s} must be above 0, workers={workers} 0 or above")
        loader = _name_of(loader)
        topology = choose_topology(
            gpu=choose_device(device).gpu is not None,
            compiled=is_compiled(loader, model, components),
            network=network,
            workers=workers or usable_cores(),
        )
        self._cut = cut or cut_of(loader, model, components)
        cost = topology.cost * self._cut.cost
        self._sizes = Batching.of(topology.workers, cost, batch_chars, chars_per_worker)
        options = {"block_tokens": block_tokens} if block_tokens and loader == DEFAULT_LOADER else {}
        self._load = LoaderCall(loader, (model, device, components), options)
        self._network = topology.network
        self._timeout_s = timeout_s
        self._normalize = normalize
        self._slots: list[Slot] = []
        self._device_process: DeviceProcess | None = None
        self._ledger = Ledger(self._cut, normalize=normalize)
        self._ready: deque[TextResult] = deque()
        self._card: ModelCard | None = None
        self._losses = 0
        self._busy = self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def card(self) -> ModelCard:
        """What a worker says of the model it has loaded. Starts one if none has answered yet."""
        self._check_open()
        while self._card is None:
            if not any(slot.tasks for slot in self._slots):
                self._ask_for_card()
            self._collect()
        return self._card

    def extract(self, texts: Iterable[tuple[str, str]]) -> Iterator[TextResult]:
        """Give the result of each (id, text), as it is done, each exactly once.

        Blank texts are `ok` without spans. The order is that in which texts are done.

        Reads `texts` as far ahead as the workers need and no further. One extraction at a time.
        """
        self._check_open()
        if self._busy:
            raise RuntimeError("this pool is already extracting; finish or close that iterator first")
        self._busy = True
        self._ledger = Ledger(self._cut, normalize=self._normalize)
        self._ready.clear()
        try:
            yield from self._run(iter(texts))
        finally:
            self._busy = False
            self._drop_tasks()

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        self._closed = True
        self._discard(self._slots)
        if self._device_process:
            self._device_process.close()
            self._device_process = None

    def _run(self, source: Iterator[tuple[str, str]]) -> Iterator[TextResult]:
        more = True
        while True:
            while more and self._sizes.wants_more(self._ledger.waiting_cost, self._ledger.open_chars):
                item = next(source, None)
                more = item is not None
                if item is not None:
                    yield from self._ledger.admit(*item)
            self._hand_out()
            if not any(slot.tasks for slot in self._slots) and not self._ledger.waiting and not more:
                return
            self._collect()
            while self._ready:
                yield self._ready.popleft()

    def _hand_out(self) -> None:
        while self._ledger.waiting:
            slot = self._free_slot()
            if slot is None:
                return
            pieces = self._ledger.take(self._sizes.share(self._ledger.waiting_cost))
            texts = self._ledger.texts(pieces)
            slot.submit(extract_batch, texts, timeout_s=self._timeout_s, pieces=pieces)

    def _free_slot(self) -> Slot | None:
        """Give an idle worker, else a new one if there is work for it, else one that can queue."""
        load = {slot: sum(bool(task.pieces) for task in slot.tasks) for slot in self._slots}
        idle = next((slot for slot in self._slots if not load[slot]), None)
        if idle is not None:
            return idle
        waiting = self._ledger.waiting_cost
        if self._sizes.needs_worker(waiting, len(self._slots)):
            return self._start_worker()
        if self._sizes.may_queue(waiting):
            return next((slot for slot in self._slots if load[slot] < QUEUED), None)
        return None

    def _start_worker(self) -> Slot:
        slot = Slot(self._load, self._address())
        slot.submit(describe, timeout_s=self._timeout_s)
        self._slots.append(slot)
        return slot

    def _address(self) -> str:
        """Give where the device process listens, started with the first worker; empty if there is none."""
        if self._network and self._device_process is None:
            self._device_process = DeviceProcess(self._network, *self._load.arguments)
        return self._device_process.address if self._device_process else ""

    def _ask_for_card(self) -> None:
        if self._slots:
            self._slots[0].submit(describe, timeout_s=self._timeout_s)
        else:
            self._start_worker()

    def _collect(self) -> None:
        """Wait for a task to be done, or for a moment, and enter what came of all that are."""
        futures = [task.future for slot in self._slots for task in slot.tasks]
        if futures:
            wait(futures, timeout=POLL_S, return_when=FIRST_COMPLETED)
        for slot in list(self._slots):
            # Asked before the results are taken out: what a pool gave before it broke still counts.
            usable = slot.usable
            verdicts = {self._enter(slot, task) for task in slot.done()}
            if "lost" in verdicts or not usable:
                self._count_loss()
            if verdicts - {"fine"} or not usable:
                self._discard([slot])
        if (process := self._device_process) and not process.alive:
            self._end_device_process(process)

    def _enter(self, slot: Slot, task: Task) -> Literal["fine", "died", "lost"]:
        """Enter the result of a task, and tell what it says of its slot."""
        result = task.result()
        match result:
            case BatchFound(spans, seconds):
                self._losses = slot.faults = 0
                self._ready += self._ledger.found(task.pieces, spans, seconds)
            case BatchFailed(detail) if not task.pieces:
                raise ModelError(f"the extractor has no usable card: {detail}")
            case BatchFailed(detail):
                self._ready += self._ledger.failed(task.pieces, "extractor_error", detail)
                slot.faults += 1
                if slot.faults >= FAULTS:
                    # It may be the process that is broken and not the texts: a GPU context does not recover.
                    return "died"
            case TimedOut():
                detail = f"it took longer than {self._timeout_s:g} s on one worker"
                self._ready += self._ledger.failed(task.pieces, "timeout", detail)
                if self._device_process:
                    # It may be the device that hangs; then no other worker would get an answer either.
                    self._device_process.kill()
            case Died(detail):
                self._ready += self._ledger.failed(task.pieces, "worker_died", detail)
                return "died"
            case DeviceGone():
                self._ledger.put_back(task.pieces)
                return "lost" if self._device_process_lives() else "died"
            case LoadFailed(detail) if self._card is None:
                raise ModelError(detail)
            case Lost() | LoadFailed():
                self._ledger.put_back(task.pieces)
                return "lost"
            case _:
                version = version_for_input(result.version, self._normalize)
                self._card = self._card or replace(result, version=version)
        slot.ready = True
        return "fine"

    def _device_process_lives(self) -> bool:
        """Tell whether only a worker has lost the device process, and not all have."""
        if self._device_process:
            self._device_process.wait(GONE_LIMIT_S)
        return self._device_process is not None and self._device_process.alive

    def _end_device_process(self, gone: DeviceProcess) -> None:
        """Take leave of one that has ended, and of its workers. The next worker comes with another one."""
        self._device_process = None
        self._discard(self._slots)
        detail = gone.load_error
        gone.close()
        if detail:
            raise ModelError(detail)
        self._count_loss()

    def _count_loss(self) -> None:
        self._losses += 1
        if self._losses > LOSSES + self._sizes.workers:
            raise WorkerFault(
                f"{self._losses} processes ended before they did their work, without a result in between: "
                "they were killed from outside, ran out of memory while loading the model, or cannot import "
                "it. See what the worker processes wrote; give the machine more memory or set fewer workers"
            )

    def _discard(self, slots: Sequence[Slot]) -> None:
        """Throw slots away, and take back what they had not begun."""
        self._slots = [slot for slot in self._slots if slot not in slots]
        for slot in slots:
            for task in slot.tasks:
                self._ledger.put_back(task.pieces)
            slot.tasks = []
            slot.stop()
        for slot in slots:
            slot.join()

    def _drop_tasks(self) -> None:
        """After an extraction that was broken off: its tasks must not turn up in the next one."""
        self._discard([slot for slot in self._slots if slot.tasks])

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("this pool is closed")


def _name_of(loader: Loader | str) -> str:
    """Give the name under which a worker can import the loader."""
    if isinstance(loader, str):
        name = loader
    else:
        module = getattr(loader, "__module__", "")
        name = f"{module}:{getattr(loader, '__qualname__', '')}"
    module, separator, function = name.partition(":")
    if not separator or not module or module == "__main__" or not function.isidentifier():
        raise ValueError(
            f"loader {name!r}: must be a function at the top of an importable module, or its name as "
            "'module:function'; workers do not see the script that was started"
        )
    return name
