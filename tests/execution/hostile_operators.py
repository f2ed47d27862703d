"""Operators that do their worst to the process that measures them."""

from __future__ import annotations

import builtins
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import torch

import opbench


@opbench.operator("hostile.fine")
def fine(x):
    return x + 1


@opbench.operator("hostile.segfault")
def segfault(x):
    ctypes.string_at(0)


@opbench.operator("hostile.abort")
def abort(x):
    os.abort()


@opbench.operator("hostile.exit_zero")
def exit_zero(x):
    os._exit(0)


@opbench.operator("hostile.sys_exit")
def sys_exit(x):
    sys.exit(0)


@opbench.operator("hostile.interrupt")
def interrupt(x):
    raise KeyboardInterrupt


@opbench.operator("hostile.hang")
def hang(x):
    while True:
        pass


@opbench.operator("hostile.hang_deaf")
def hang_deaf(x):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(1e6)


@opbench.operator("hostile.announce_and_hang")
def announce_and_hang(x):
    (Path(os.environ["OPBENCH_TEST_MARK"]) / "announced").touch()
    while True:
        pass


@opbench.operator("hostile.stop_itself")
def stop_itself(x):
    os.kill(os.getpid(), signal.SIGSTOP)


@opbench.operator("hostile.hoard")
def hoard(x):
    kept = []
    while True:
        kept.append(torch.ones(1 << 24))


@opbench.operator("hostile.hoard_python")
def hoard_python(x):
    kept = []
    while True:
        kept.append(bytearray(1 << 26))


@opbench.operator("hostile.gigabyte")
def gigabyte(x):
    if not hasattr(gigabyte, "done"):
        gigabyte.done = True
        block = b"spam " * (1 << 18)
        for _ in range((1 << 30) // len(block)):
            os.write(1, block)
    return x + 1


@opbench.operator("hostile.leave_child")
def leave_child(x):
    if not hasattr(leave_child, "done"):
        leave_child.done = True
        subprocess.Popen(["sleep", "7654"])
    return x + 1


@opbench.operator("hostile.leave_daemon")
def leave_daemon(x):
    if not hasattr(leave_daemon, "done"):
        leave_daemon.done = True
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execvp("sleep", ["sleep", "7654"])
            os._exit(0)
    return x + 1


@opbench.operator("hostile.fork_and_return")
def fork_and_return(x):
    if not hasattr(fork_and_return, "done"):
        fork_and_return.done = True
        os.fork()
    return x + 1


@opbench.operator("hostile.close_files")
def close_files(x):
    os.closerange(0, 4096)
    return x + 1


class UnspeakableError(Exception):
    def __init__(self):
        super().__init__("cannot be pickled")
        self.lock = lambda: None

    def __reduce__(self):
        raise TypeError("not me")


@opbench.operator("hostile.raise_unpicklable")
def raise_unpicklable(x):
    raise UnspeakableError


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__


@opbench.operator("hostile.raise_mute")
def raise_mute(x):
    raise MuteError


@opbench.operator("hostile.raise_unprintable")
def raise_unprintable(x):
    raise RuntimeError("half a pair \ud800, \0, \x1b[31m")


@opbench.operator("hostile.break_modules")
def break_modules(x):
    json.dumps = os.write = builtins.open = None
    return x + 1


class Garbage:
    def __getattr__(self, name):
        raise RuntimeError(name)

    def __repr__(self):
        raise RuntimeError("no words")

    def __iter__(self):
        raise RuntimeError("no end")


@opbench.operator("hostile.return_garbage")
def return_garbage(x):
    return Garbage()


@opbench.operator("hostile.write_garbage")
def write_garbage(x):
    """Scribble into every pipe there is, the result channel too."""
    for number in range(3, 64):
        try:
            os.write(number, b"\x00\x00\x00\x05junk!")
        except OSError:
            continue
    return x + 1


@opbench.operator("hostile.kill_parent")
def kill_parent(x):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1e6)


@opbench.operator("hostile.kill_itself")
def kill_itself(x):
    os.kill(os.getpid(), signal.SIGKILL)


@opbench.operator("hostile.kill_group")
def kill_group(x):
    os.killpg(0, signal.SIGKILL)


@opbench.operator("hostile.recurse")
def recurse(x):
    return recurse(x)


@opbench.operator("hostile.matmul_threads", mutates=())
def matmul_threads(x, num_threads):
    assert torch.get_num_threads() == num_threads
    return x @ x
