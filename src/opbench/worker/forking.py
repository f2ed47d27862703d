"""One case, in a forked child or right here, and how it ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any

from opbench.worker import protocol, system

# A child that has reported and does not end is ended after this long.
LAST_WORDS_S = 5.0
_READ_BYTES = 1 << 16

Outcome = dict[str, Any]


def measure_here(
    request: dict[str, Any], allow: Sequence[str], connection: socket.socket
) -> tuple[Outcome | None, bytes]:
    """Measure in this process. A crash ends the worker, and the client sees that."""
    del connection
    body = _reply(request, allow)
    return {"exit": {"code": 0, "signal": 0, "timed_out": False, "out_of_memory": False, "strays": 0}}, body


def measure_in_child(
    request: dict[str, Any], allow: Sequence[str], connection: socket.socket
) -> tuple[Outcome | None, bytes]:
    """Measure in a child of its own. None when the client has gone meanwhile."""
    flush()
    threads = system.thread_count()
    reader, writer = os.pipe()
    server_pid = os.getpid()
    oom_before = system.oom_kills()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _child(request, allow, connection, writer, server_pid)
    os.close(writer)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    child = _Child(pid, reader)
    try:
        ending = child.supervise(connection, request.get("timeout_s"))
        if ending == "client_gone":
            return None, b""
        status, usage = child.reap()
    finally:
        child.close()
    code = os.waitstatus_to_exitcode(status)
    killed_by_us = ending != "ended"
    return {
        "exit": {
            "code": max(code, 0),
            "signal": max(-code, 0),
            "timed_out": ending == "timed_out",
            "out_of_memory": code == -signal.SIGKILL and not killed_by_us and system.oom_kills() > oom_before,
            "max_rss_bytes": usage.ru_maxrss * 1024,
            "strays": system.reap_all(),
            "server_threads": threads,
        }
    }, bytes(child.body) if child.complete else b""


class _Child:
    """A forked case: its result pipe and its end."""

    def __init__(self, pid: int, reader: int) -> None:
        self.pid = pid
        self.body = bytearray()
        self.complete = False
        self._reader = reader
        self._raw = bytearray()
        self._pidfd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
        self._reaped: tuple[int, Any] | None = None
        os.set_blocking(reader, False)

    def supervise(self, connection: socket.socket, timeout_s: float | None) -> str:
        """Wait for the end: "ended", "timed_out", "too_long_a_reply" or "client_gone"."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        poll.register(connection, getattr(select, "POLLRDHUP", select.POLLHUP))
        if self._pidfd is not None:
            poll.register(self._pidfd, select.POLLIN)
        reading = True
        while True:
            wait_s = None if deadline is None else deadline - time.monotonic()
            if wait_s is not None and wait_s <= 0:
                self.kill()
                return "timed_out"
            step_s = wait_s if self._pidfd is not None else min(0.01, wait_s or 0.01)
            ready = dict(poll.poll(None if step_s is None else max(1, step_s * 1000)))
            if connection.fileno() in ready:
                self.kill()
                return "client_gone"
            if reading and self._reader in ready and not self._read():
                poll.unregister(self._reader)
                reading = False
            if len(self._raw) > protocol.MAX_FRAME_BYTES + protocol.LENGTH_BYTES:
                self.kill()
                return "too_long_a_reply"
            if self.complete and reading:
                deadline = min(deadline or float("inf"), time.monotonic() + LAST_WORDS_S)
                poll.unregister(self._reader)
                reading = False
            if self._ended(ready):
                if reading:
                    while self._read():
                        pass
                return "ended"

    def _ended(self, ready: dict[int, int]) -> bool:
        if self._pidfd is not None:
            return self._pidfd in ready
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if pid:
            self._reaped = (status, usage)
        return bool(pid)

    def _read(self) -> bool:
        """Take what is there; False at the end of the pipe or when there is nothing now."""
        try:
            part = os.read(self._reader, _READ_BYTES)
        except BlockingIOError:
            return False
        self._raw += part
        if not self.complete and len(self._raw) >= protocol.LENGTH_BYTES:
            with contextlib.suppress(protocol.ProtocolError):
                length = protocol.frame_length(bytes(self._raw[: protocol.LENGTH_BYTES]))
                if len(self._raw) >= protocol.LENGTH_BYTES + length:
                    self.body = self._raw[protocol.LENGTH_BYTES : protocol.LENGTH_BYTES + length]
                    self.complete = True
        return bool(part)

    def kill(self) -> None:
        system.kill_group(self.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> tuple[int, Any]:
        """Collect the exit status; whatever it leaves in its process group dies too."""
        if self._reaped is None:
            _, status, usage = os.wait4(self.pid, 0)
            self._reaped = (status, usage)
        system.kill_group(self.pid)
        return self._reaped

    def close(self) -> None:
        os.close(self._reader)
        if self._pidfd is not None:
            os.close(self._pidfd)


def _child(
    request: dict[str, Any],
    allow: Sequence[str],
    connection: socket.socket,
    writer: int,
    server_pid: int,
) -> None:
    """The life of a child. Never returns, whatever the case does to the interpreter."""
    code = 1
    try:
        system.die_with_parent(server_pid)
        os.setpgid(0, 0)
        # Its number may be taken by a file of the case; the object must not close that one.
        os.close(connection.detach())
        pid = os.getpid()
        payload = protocol.frame(_reply(request, allow))
        if os.getpid() != pid:
            # The case forked and returned in both processes; only one of them has a result to give.
            os._exit(0)
        view = memoryview(payload)
        while view:
            view = view[os.write(writer, view) :]
        code = 0
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(2, f"opbench: no result could be sent: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def _reply(request: dict[str, Any], allow: Sequence[str]) -> bytes:
    """The reply to a request, as JSON, whatever happens in between."""
    from opbench.worker.measure import measure_case

    system.pin(request.get("cpus", ()))
    try:
        if "calibrate" in request:
            from opbench.worker.calibrate import handle

            reply = handle(request)
        elif "accelerators" in request:
            from opbench.worker.accelerators import handle as look_for_them

            reply = look_for_them()
        elif request["case"].get("device", "cpu") == "cpu":
            with system.address_space_cap(request["plan"].get("memory_cap_bytes")):
                reply = measure_case(request, allow)
        else:
            # Drivers of accelerators reserve address space far beyond what they use.
            reply = measure_case(request, allow)
        payload = protocol.encode(reply)
    except MemoryError as error:
        payload = protocol.encode({"status": "out_of_memory", "reason": str(error) or "memory ran out"})
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        payload = protocol.encode({"status": "failed", "reason": reason})
    flush()
    return payload


def flush() -> None:
    """Write out what this process has printed so far."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    system.flush_c_streams()
