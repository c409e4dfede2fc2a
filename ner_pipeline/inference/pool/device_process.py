"""The process that computes for all workers: it alone holds the network, and the device that it is on.

On a GPU one process has to compute: each more would hold a model and a context of its own, and the device
would wait while one of them tokenizes. So workers tokenize, and ask here. This is the process as the pool
sees it; what runs in it is `device_server`. Imports nothing heavy.
"""

from __future__ import annotations

import signal
import socket
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ner_pipeline.inference.pool.spawning import WorkerContext, end_with_parent
from ner_pipeline.inference.pool.worker import describe_error, resolve

__all__ = ["DeviceProcess"]

STOP_LIMIT_S = 5.0
"""How long to wait for the process to end by itself."""


class DeviceProcess:
    """A device process, from its start on."""

    def __init__(self, network: str, model: str, device: str, components: str) -> None:
        """Start it. `network` is the `"module:function"` that loads the network, called with the others.

        It can be connected to at once; it answers when the network is loaded.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="ner-device-")
        self.address = str(Path(self._folder.name) / "socket")
        """Where it listens: a socket in a folder that no other user can open."""
        context = WorkerContext()
        self._words, words = context.Pipe(duplex=False)
        with socket.socket(socket.AF_UNIX) as listener, words:
            listener.bind(self.address)
            listener.listen()
            arguments = (listener, words, network, model, device, components)
            self._process = context.Process(target=_run, args=arguments, name="ner-device", daemon=True)
            self._process.start()

    @property
    def alive(self) -> bool:
        """Whether it is there and may answer."""
        return self._process.is_alive()

    @property
    def load_error(self) -> str:
        """What it said when it could not load the network; empty if it did not say so."""
        try:
            return str(self._words.recv()) if self._words.poll() else ""
        except EOFError:
            return ""

    def wait(self, limit_s: float) -> None:
        """Wait until it has ended, for so long at most."""
        self._process.join(limit_s)

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        self._process.kill()

    def close(self) -> None:
        """End it, and leave nothing behind."""
        self._process.terminate()
        self._process.join(STOP_LIMIT_S)
        self._process.kill()
        self._process.join()
        self._words.close()
        self._folder.cleanup()


def _run(
    listener: socket.socket,
    words: Connection[Any, Any],
    network: str,
    model: str,
    device: str,
    components: str,
) -> None:
    """Load the network, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    from ner_pipeline.inference.pool.device_server import serve
    from ner_pipeline.inference.pool.shared_network import SharedNetwork

    try:
        loaded = resolve(network)(model, device, components)
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent has to hear it
        words.send(describe_error(error))
        return
    serve(listener, SharedNetwork(loaded))
