"""The client's side of a worker: start it, give it cases, outlive whatever happens to it."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from opbench.execution.capture import OutputPipe
from opbench.execution.environments import TOKEN_VARIABLE, WORKER_PROGRAM, EnvironmentSpec, worker_variables
from opbench.execution.interrupt import InterruptedRunError, StopSignal
from opbench.execution.options import Isolation
from opbench.worker import protocol

START_TIMEOUT_S = 300.0
# The server enforces a forked case's time-out itself; this much later the client stops waiting for it.
TIMEOUT_GRACE_S = 10.0
CLOSE_TIMEOUT_S = 5.0
_READ_BYTES = 1 << 16


class WorkerError(Exception):
    """The worker could not be started, or is not one."""


@dataclass(frozen=True)
class Exit:
    """How the process of a case ended. `lost` says the worker went with it."""

    code: int = 0
    signal: int = 0
    timed_out: bool = False
    out_of_memory: bool = False
    strays: int = 0
    max_rss_bytes: int = 0
    server_threads: int = 1
    lost: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came back for one request: the reply as bytes (none: there was no reply) and the output."""

    exit: Exit
    reply: bytes
    stdout: str
    stderr: str
    dropped_bytes: int


class _Header(msgspec.Struct, frozen=True):
    exit: Exit
    body_bytes: int


class _TimeoutError(Exception):
    pass


class _GoneError(Exception):
    pass


class Worker:
    """One worker process. Not thread-safe; each slot has its own."""

    def __init__(
        self,
        environment: EnvironmentSpec,
        *,
        num_threads: int,
        isolation: Isolation = "fork",
        operators: tuple[str, ...] = (),
        allow: tuple[str, ...] = (),
        framework: str = "torch",
        stop: StopSignal | None = None,
    ) -> None:
        self.environment = environment
        self.hello: dict[str, Any] = {}
        self._terms = {
            "protocol": protocol.PROTOCOL_VERSION,
            "isolation": "fork" if isolation == "fork" else "none",
            "framework": framework,
            "num_threads": num_threads,
            "operators": operators,
            "allow": allow,
        }
        self._num_threads = num_threads
        self._forks = isolation == "fork"
        self._stop = stop
        self._token = secrets.token_hex(8)
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()

    @property
    def alive(self) -> bool:
        """True while the process can take a request."""
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """The worker's process id while it lives."""
        return self._process.pid if self._process else None

    def launch(self) -> None:
        """Start the process without waiting for it to be ready."""
        ours, theirs = socket.socketpair()
        lifeline_reader, lifeline_writer = os.pipe()
        arguments = ["--socket", str(theirs.fileno()), "--lifeline", str(lifeline_reader)]
        try:
            self._process = subprocess.Popen(
                [*self.environment.command, str(WORKER_PROGRAM), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=worker_variables(self._num_threads, self._token),
                pass_fds=(theirs.fileno(), lifeline_reader),
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            os.close(lifeline_writer)
            raise WorkerError(f"{self.environment.command[0]} does not start: {error}") from error
        finally:
            theirs.close()
            os.close(lifeline_reader)
        self._socket = ours
        self._lifeline = lifeline_writer
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._outputs = (OutputPipe(self._process.stdout), OutputPipe(self._process.stderr))
        self._selector = selectors.DefaultSelector()
        for source in (ours, *self._outputs):
            self._selector.register(source, selectors.EVENT_READ)
        if self._stop is not None:
            self._selector.register(self._stop, selectors.EVENT_READ)
        self._buffer.clear()
        with contextlib.suppress(BrokenPipeError):
            ours.sendall(protocol.frame(protocol.encode(self._terms)))

    def start(self) -> dict[str, Any]:
        """Start the process if need be, and return its hello once the framework is imported."""
        if self._process is None:
            self.launch()
        try:
            hello = msgspec.json.decode(self._frame(time.monotonic() + START_TIMEOUT_S), type=dict[str, Any])
        except InterruptedRunError:
            self.kill()
            raise
        except _TimeoutError:
            self.kill()
            raise WorkerError(f"the worker was not ready after {START_TIMEOUT_S:.0f} s") from None
        except (OSError, _GoneError, protocol.ProtocolError, msgspec.MsgspecError):
            ending = self._post_mortem()
            stdout, stderr, _ = self._take_output()
            how = (
                f"was killed by signal {ending.signal}"
                if ending.signal
                else f"ended with exit code {ending.code}"
            )
            said = (stderr or stdout).strip()[-2000:] or "it said nothing"
            raise WorkerError(f"the worker {how}: {said}") from None
        error = hello.get("error")
        if error is None and hello.get("protocol") != protocol.PROTOCOL_VERSION:
            error = (
                f"the worker speaks protocol {hello.get('protocol')}, the client {protocol.PROTOCOL_VERSION}"
            )
        if error is not None:
            self.kill()
            raise WorkerError(str(error))
        self.hello = hello
        return hello

    def measure(self, request: dict[str, Any], timeout_s: float) -> Outcome:
        """Give the worker one request and wait for its outcome, however it ends."""
        self._take_output()
        deadline = time.monotonic() + timeout_s + (TIMEOUT_GRACE_S if self._forks else 0.0)
        request = {**request, "timeout_s": timeout_s} if self._forks else request
        try:
            self._socket.sendall(protocol.frame(protocol.encode(request)))
            header = msgspec.json.decode(self._frame(deadline), type=_Header)
            reply = self._frame(deadline) if header.body_bytes else b""
            ending = header.exit
        except InterruptedRunError:
            self.kill()
            raise
        except _TimeoutError:
            self.kill()
            ending, reply = Exit(timed_out=True, lost=True), b""
        except (OSError, _GoneError, protocol.ProtocolError, msgspec.MsgspecError):
            ending, reply = self._post_mortem(), b""
        stdout, stderr, dropped_bytes = self._take_output()
        return Outcome(ending, reply, stdout, stderr, dropped_bytes)

    def _post_mortem(self) -> Exit:
        """How a worker ended that closed its connection, or still lives and speaks no sense."""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        code = self._process.poll() or 0
        self.kill()
        return Exit(code=max(code, 0), signal=max(-code, 0), lost=True)

    def _frame(self, deadline: float) -> bytes:
        """The next frame; takes in output meanwhile, so that no writer blocks."""
        size_bytes: int | None = None
        while True:
            if size_bytes is None and len(self._buffer) >= protocol.LENGTH_BYTES:
                size_bytes = protocol.frame_length(bytes(self._buffer[: protocol.LENGTH_BYTES]))
                del self._buffer[: protocol.LENGTH_BYTES]
            if size_bytes is not None and len(self._buffer) >= size_bytes:
                payload = bytes(self._buffer[:size_bytes])
                del self._buffer[:size_bytes]
                return payload
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                raise _TimeoutError
            for key, _ in self._selector.select(wait_s):
                if isinstance(key.fileobj, OutputPipe):
                    if not key.fileobj.read():
                        self._selector.unregister(key.fileobj)
                elif key.fileobj is self._socket:
                    part = self._socket.recv(_READ_BYTES)
                    if not part:
                        raise _GoneError
                    self._buffer += part
                else:
                    raise InterruptedRunError

    def _take_output(self) -> tuple[str, str, int]:
        if self._process is not None:
            for pipe in self._outputs:
                pipe.drain()
        (stdout, dropped_out), (stderr, dropped_err) = (pipe.capture.take() for pipe in self._outputs)
        return stdout, stderr, dropped_out + dropped_err

    def kill(self) -> None:
        """End the worker and everything it started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._release()
            kill_strays(self._token)

    def close(self) -> None:
        """Tell the worker to end, and wait for it."""
        if self._process is None:
            return
        self._socket.close()
        try:
            self._process.wait(timeout=CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return
        self._release()
        if not self._forks:
            # A forking worker cleans up after each case; this one's cases ran in the worker itself.
            kill_strays(self._token)

    def _release(self) -> None:
        assert self._process is not None
        self._process.wait()
        for pipe in self._outputs:
            pipe.drain()
            pipe.close()
        self._selector.close()
        self._socket.close()
        os.close(self._lifeline)
        self._process = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def kill_strays(token: str) -> int:
    """Kill processes that carry this worker's token, wherever they have moved to. Returns how many."""
    needle = f"{TOKEN_VARIABLE}={token}".encode()
    count = 0
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if needle in entry.read_bytes().split(b"\0"):
                os.kill(int(entry.parent.name), signal.SIGKILL)
                count += 1
    return count
