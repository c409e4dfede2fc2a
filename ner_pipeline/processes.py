"""Child processes that never outlive the process that started them.

A child runs under a *keeper*: this file, run as a script with nothing but the standard library. The
keeper holds the reading end of a pipe whose other end only the parent has. When the parent closes it, or
dies in whatever way, `kill -9` included, the keeper ends the child and everything that the child started.

Why a keeper and not Linux's parent-death signal: that one reaches the child only, not the run workers
that it started, it fires when the *thread* that forked ends, and macOS has none.

What runs as a child is not decided here: see `storage.local_server` and `local.stack`.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ChildProcess"]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class ChildProcess:
    """One command with its log file, ended together with all that it started.

    `grace_s` is what it gets between SIGTERM and SIGKILL. The descriptors in `keep_open` stay open until
    the command and all that it started have ended, also when the parent is gone: a lock held through
    them says truly whether anything is left.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log_file: Path,
        environment: Mapping[str, str],
        working_dir: Path,
        grace_s: float = 10.0,
        keep_open: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.log_file = log_file
        self._grace_s = grace_s
        log_file.parent.mkdir(parents=True, exist_ok=True)
        keeper = [sys.executable, "-I", "-S", __file__, str(grace_s), *command]
        with log_file.open("ab") as log:
            self._log_start = log.tell()
            self._keeper = subprocess.Popen(
                keeper,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=working_dir,
                pass_fds=keep_open,
                start_new_session=True,  # a Ctrl-C in the terminal reaches the parent alone
            )

    def exit_code(self) -> int | None:
        """Return how the command ended, or None while it runs. Negative: the signal that ended it."""
        code = self._keeper.poll()
        return code if code is None or code <= 128 else 128 - code

    def output(self) -> str:
        """Return what the command has written to its log file since it was started, without colours."""
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            return _COLOUR.sub("", log.read().decode("utf-8", "replace"))

    def log_tail(self, lines: int = 15) -> str:
        """Return the last lines that the command has written."""
        return "\n".join(self.output().splitlines()[-lines:])

    def ask_to_end(self) -> None:
        """Begin to end the command, and do not wait for it."""
        if self._keeper.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._keeper.stdin.close()

    def stop(self) -> None:
        """End the command and all that it started. Does nothing for one that has ended."""
        self.ask_to_end()
        # The keeper kills after the grace period and ends then, at once.
        self._keeper.wait(timeout=self._grace_s + 10)


class _Keeper:
    """The other side: runs the command in a session of its own, so that the whole group can be ended."""

    def __init__(self, command: Sequence[str], grace_s: float) -> None:
        self._grace_s = grace_s
        self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def run(self) -> int:
        threading.Thread(target=self._end_with_the_parent, daemon=True).start()
        code = self._child.wait()
        self._signal_group(signal.SIGKILL)  # what the command left behind
        return code if code >= 0 else 128 - code

    def _end_with_the_parent(self) -> None:
        while os.read(0, 1024):
            pass
        self.end()

    def end(self, *_: object) -> None:
        """Ask the group to end, and kill it after the grace period."""
        self._signal_group(signal.SIGTERM)
        killer = threading.Timer(self._grace_s, self._signal_group, [signal.SIGKILL])
        killer.daemon = True
        killer.start()

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, number)


def _main() -> int:
    keeper = _Keeper(sys.argv[2:], float(sys.argv[1]))
    signal.signal(signal.SIGTERM, keeper.end)
    return keeper.run()


if __name__ == "__main__":
    sys.exit(_main())
