"""Stopping a run from outside: after the case in flight, or at once."""

from __future__ import annotations

import os
import threading


class InterruptedRunError(Exception):
    """The run was told to stop at once; the case in flight has no row."""


class StopSignal:
    """Set from a signal handler or another thread; seen by the run and by every waiting worker."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        self._finish = threading.Event()
        self._now = threading.Event()

    def finish(self) -> None:
        """Finish the cases in flight, start no other."""
        self._finish.set()

    def now(self) -> None:
        """Stop at once."""
        self._finish.set()
        if not self._now.is_set():
            self._now.set()
            os.write(self._writer, b"x")

    @property
    def finishing(self) -> bool:
        """True once no further case is to be started."""
        return self._finish.is_set()

    @property
    def immediate(self) -> bool:
        """True once the case in flight is to be given up."""
        return self._now.is_set()

    def fileno(self) -> int:
        """Readable once `now` was called."""
        return self._reader

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self._reader)
        os.close(self._writer)
