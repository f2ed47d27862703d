"""A real PostgreSQL server for tests, started from the installed binaries on a free port."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

START_TIMEOUT_S = 60.0
# Durability costs time, and the folder is deleted at the end.
SETTINGS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "full_page_writes=off",
    "max_connections=40",
    "shared_buffers=16MB",
)


def binaries() -> Path | None:
    """The folder of the server's binaries, which Debian and its relatives keep off the PATH."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = [folder for folder in Path("/usr/lib/postgresql").glob("*/bin") if (folder / "initdb").exists()]
    return max(folders, key=lambda folder: int(folder.parent.name.split(".")[0]), default=None)


class Server:
    """A running server. Everybody on this machine may connect, as user `opbench`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._numbers = count()

    def new_database(self) -> str:
        """The URL of a database that nobody has used."""
        name = f"test{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return f"postgresql://opbench@127.0.0.1:{self.port}/{name}"

    def new_schema(self) -> str:
        """The URL of an empty part of a database, which is made faster than a whole one."""
        name = f"part{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"postgresql://opbench@127.0.0.1:{self.port}/postgres?options=-csearch_path%3D{name}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement outside a transaction, and give its rows."""
        url = f"postgresql://opbench@127.0.0.1:{self.port}/{database}"
        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@contextmanager
def started(folder: Path) -> Iterator[Server]:
    """A server from the binaries in a folder, which is stopped at the end of the block."""
    user = _user()
    with tempfile.TemporaryDirectory(prefix="opbench-postgresql-", ignore_cleanup_errors=True) as home:
        if "user" in user:
            shutil.chown(home, user["user"], user["group"])
        data = Path(home) / "data"
        subprocess.run(
            [folder / "initdb", "-D", data, "-U", "opbench", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
            cwd=home,
            check=True,
            capture_output=True,
            **user,
        )
        port = _free_port()
        options = [part for setting in SETTINGS for part in ("-c", setting)]
        with (Path(home) / "log").open("wb") as log:
            process = subprocess.Popen(
                [folder / "postgres", "-D", data, "-p", str(port), *options],
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **user,
            )
        try:
            server = Server(port)
            _wait(server, process, Path(home) / "log")
            yield server
        finally:
            # Its "immediate shutdown": no process stays behind, and nothing is saved.
            process.send_signal(signal.SIGQUIT)
            process.wait(timeout=START_TIMEOUT_S)


def _user() -> dict[str, Any]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            server.execute("SELECT 1")
            return
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(errors="replace")
                raise RuntimeError(f"PostgreSQL does not start: {said}") from error
            time.sleep(0.05)
