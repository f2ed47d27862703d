"""A program on a terminal of its own, as a person has it in front of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from types import TracebackType

# For what a machine that is busy may take; nothing waits this long when all is well.
PATIENCE_S = 120.0
CTRL_C = b"\x03"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """Runs `opbench WORDS`; keys are sent as bytes, so Ctrl-C reaches whom it would reach."""

    def __init__(self, *words: str, columns: int = 100, env: Mapping[str, str] | None = None) -> None:
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "opbench", *words],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env={"TERM": "xterm-256color", **os.environ, **(env or {})},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(follower)
        self.raw = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._leader)

    @property
    def pid(self) -> int:
        """The process id of the program."""
        return self._process.pid

    @property
    def text(self) -> str:
        """All that was written, without colours and movements of the cursor."""
        return ESCAPES.sub("", self.raw)

    @property
    def lines(self) -> list[str]:
        """The text line by line."""
        return self.text.replace("\r", "").split("\n")

    def send(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._leader, keys)

    def wait_for(self, text: str) -> None:
        """Read until the text was written."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.text:
            assert self._read(deadline), f"{text!r} never came:\n{self.text}"

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """Wait until something has happened that is not to be seen on the terminal."""
        deadline = time.monotonic() + PATIENCE_S
        while not happened():
            assert time.monotonic() < deadline, self.text
            time.sleep(0.005)

    def end(self) -> int:
        """Read until the program ends; its exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self._read(deadline):
            pass
        return self._process.wait(timeout=PATIENCE_S)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._leader], [], [], max(deadline - time.monotonic(), 0))
        assert ready, f"nothing more came:\n{self.text}"
        # Reading from a terminal that nobody has open any more is an error on Linux.
        with contextlib.suppress(OSError):
            part = os.read(self._leader, 65536).decode()
            self.raw += part
            return bool(part)
        return False
