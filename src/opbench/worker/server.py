"""The worker's main loop: import the framework once, then measure cases until the client goes."""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any

from opbench.worker import forking, protocol, system

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def main(arguments: Sequence[str]) -> None:
    """Serve the client at the other end of `--socket` until it closes it or dies."""
    parser = argparse.ArgumentParser(prog="opbench worker")
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--lifeline", type=int, required=True)
    options = parser.parse_args(arguments)

    # Ctrl-C in a terminal reaches every process there; what it means is the client's to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(options.socket, False)
    os.set_inheritable(options.lifeline, False)
    system.die_with_client(options.lifeline)
    connection = socket.socket(fileno=options.socket)

    first = protocol.receive(connection)
    if first is None:
        return
    terms = json.loads(first)
    hello = _prepare(terms)
    try:
        connection.sendall(protocol.frame(protocol.encode(hello)))
        if hello["error"] is None:
            _serve(connection, terms, options.lifeline)
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        system.reap_all()
    if terms.get("isolation") == "fork":
        # Whatever runs at the end of a process belongs to the cases; taking a framework down takes a while.
        forking.flush()
        os._exit(0)


def _prepare(terms: dict[str, Any]) -> dict[str, Any]:
    """Import everything a case may need, and say what was found."""
    hello: dict[str, Any] = {
        "protocol": protocol.PROTOCOL_VERSION,
        "pid": os.getpid(),
        "python": {
            "version": sys.version.split()[0],
            "implementation": sys.implementation.name,
            "executable": sys.executable,
            "prefix": sys.prefix,
        },
        "framework": {},
        "threads": {},
        "operators": {},
        "problems": [],
        "error": None,
    }
    if terms.get("protocol") != protocol.PROTOCOL_VERSION:
        hello["error"] = (
            f"the worker speaks protocol {protocol.PROTOCOL_VERSION}, the client {terms.get('protocol')}"
        )
        return hello
    started = time.perf_counter()
    try:
        importlib.import_module(terms["framework"])
        from opbench.worker.framework import describe, preload, set_threads

        set_threads(terms["framework"], terms["num_threads"])
        preload(terms["framework"])
    except BaseException as error:
        hello["error"] = (
            f"{terms['framework']} cannot be imported by {sys.executable}: {type(error).__name__}: {error}"
        )
        return hello
    hello["framework"] = {**describe(terms["framework"]), "import_s": time.perf_counter() - started}

    from opbench.worker.load_operators import LoadError, load_operators

    try:
        loaded = load_operators(terms.get("operators", ()))
    except LoadError as error:
        hello["error"] = str(error)
        return hello
    except BaseException as error:
        hello["error"] = f"operators cannot be loaded: {type(error).__name__}: {error}"
        return hello
    hello["operators"] = {name: loaded.tags.get(name, []) for name in loaded.names}
    hello["problems"] = list(loaded.problems)
    hello["threads"] = {
        "alive": system.thread_count(),
        **{name: os.environ.get(name, "") for name in THREAD_VARIABLES},
    }
    return hello


def _serve(connection: socket.socket, terms: dict[str, Any], lifeline: int) -> None:
    from opbench.worker.rehearsal import rehearse

    allow = tuple(terms.get("allow", ()))
    forks = terms["isolation"] == "fork"
    if forks:
        rehearse(terms["framework"])
        # It has children to end first. A case that is measured in place may never come back to notice.
        system.outlive_client(lifeline)
        system.adopt_orphans()
        # What exists now is never garbage; with the collector kept off it, its pages stay shared.
        gc.collect()
        gc.freeze()
    measure = forking.measure_in_child if forks else forking.measure_here
    while True:
        request = protocol.receive(connection)
        if request is None:
            return
        outcome, body = measure(json.loads(request), allow, connection)
        if outcome is None:
            return
        outcome["body_bytes"] = len(body)
        answer = protocol.frame(protocol.encode(outcome))
        connection.sendall(answer + protocol.frame(body) if body else answer)
