"""Ctrl-C once: finish the case in flight; twice: stop now. Either way all rows so far are kept."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType, TracebackType
from typing import Any

from opbench.execution.interrupt import StopSignal

_FIRST = "opbench: finishing the case in flight; Ctrl-C once more stops now\n"
_STOPPED = "opbench: stopping now\n"
# Over "^C" and whatever progress stands in the last line of a terminal.
_ERASE_LINE = "\r\x1b[2K"
# Those who send these do not wait for a case to end.
_AT_ONCE = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupts:
    """While this is entered, signals stop the run instead of the program."""

    def __init__(self, stop: StopSignal) -> None:
        self._stop = stop
        self._before: dict[int, Any] = {}
        self.received = 0

    @property
    def exit_code(self) -> int:
        """As shells count: 130 for Ctrl-C, 143 for SIGTERM; 0 when nothing came."""
        return 128 + self.received if self.received else 0

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, *_AT_ONCE):
            # What nohup or a shell in the background ignores stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and not self._stop.finishing:
            self._stop.finish()
            _tell(_FIRST)
        else:
            self._stop.now()
            # A third one ends whatever still hangs.
            self._restore()
            _tell(_STOPPED)
        self.received = self.received or number

    def _restore(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())


def _tell(message: str) -> None:
    # sys.stderr may be in the middle of a write, and must not be entered twice.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        start = _ERASE_LINE if sys.stderr.isatty() else ""
        os.write(sys.stderr.fileno(), f"{start}{message}".encode())
