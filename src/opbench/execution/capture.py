"""What a case prints, kept to a bounded size: the beginning and the end."""

from __future__ import annotations

import os
from typing import IO

HEAD_BYTES = 8192
TAIL_BYTES = 8192
_READ_BYTES = 1 << 16


class Capture:
    """Takes any amount of bytes, keeps the first and the last few."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped_bytes = 0

    def feed(self, data: bytes) -> None:
        """Take more output."""
        room = HEAD_BYTES - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if len(data) > TAIL_BYTES:
            self._dropped_bytes += len(data) - TAIL_BYTES + len(self._tail)
            self._tail[:] = data[-TAIL_BYTES:]
        elif data:
            self._tail += data
            excess = len(self._tail) - TAIL_BYTES
            if excess > 0:
                self._dropped_bytes += excess
                del self._tail[:excess]

    def take(self) -> tuple[str, int]:
        """The text so far and how many bytes are missing from its middle; starts anew."""
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        dropped_bytes = self._dropped_bytes
        self._head.clear()
        self._tail.clear()
        self._dropped_bytes = 0
        gap = f"\n[... {dropped_bytes} bytes left out ...]\n" if dropped_bytes else ""
        return head + gap + tail, dropped_bytes


class OutputPipe:
    """The reading end of a worker's stdout or stderr."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.capture = Capture()
        self._pipe = pipe
        os.set_blocking(pipe.fileno(), False)

    def fileno(self) -> int:
        """For a selector."""
        return self._pipe.fileno()

    def read(self) -> bool:
        """Take some of what is there; False when there is nothing now, or nothing any more."""
        try:
            data = os.read(self._pipe.fileno(), _READ_BYTES)
        except BlockingIOError:
            return False
        self.capture.feed(data)
        return bool(data)

    def drain(self) -> None:
        """Take all that is there."""
        while self.read():
            pass

    def close(self) -> None:
        """Close the pipe; what was captured stays."""
        self._pipe.close()
