"""Keeps what was compiled: one folder for each entry, named by the hash of everything that went into it.

An entry is made in a temporary folder and renamed into place, so that it is there whole or not at all. A
lock keeps two processes from making the same one twice; without locks they both succeed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

# Room for two precompiled headers and thousands of libraries.
LIMIT_BYTES = 2 << 30
# Larger files are believed when their size is right: reading them would take longer than it saves.
MOST_HASHED_BYTES = 64 << 20
# What was used just now may be in use; a temporary folder of this age is what a killed process left.
IN_USE_S = 600.0
ABANDONED_S = 3600.0
LOCK_TIMEOUT_S = 600.0
_POLL_S = 0.1
_MANIFEST = "manifest.json"
_TEMPORARY = "tmp-"


class Cache:
    """Entries in a folder that belongs to this user alone."""

    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes
        self._entries = folder / "entries"
        self._names = folder / "names"

    def find(self, key: str) -> Path | None:
        """The folder of an entry that is whole and up to date."""
        folder = self._entries / key
        if not _is_valid(folder):
            return None
        with contextlib.suppress(OSError):  # a cache that cannot be written to is good to read
            os.utime(folder / _MANIFEST)
        return folder

    def find_named(self, name: str) -> tuple[Path, int] | None:
        """The entry that something by this name is in, and its place there."""
        try:
            key, place = (self._names / name).read_text(encoding="ascii").split()
            folder = self.find(key) if Path(key).name == key else None
            return None if folder is None else (folder, int(place))
        except (OSError, ValueError):
            return None

    def make(self, key: str, fill: Callable[[Path], Sequence[str]], names: Sequence[str] = ()) -> Path:
        """The entry, made by `fill` where it is not there; `names` are what is in it, in order.

        `fill` gets a folder to leave files in, and returns the files elsewhere that they were made from.
        """
        with self._locked(key):
            folder = self.find(key)
            if folder is None:
                folder = self._made(key, fill)
            self._name(key, names)
        self.tidy()
        return folder

    def _made(self, key: str, fill: Callable[[Path], Sequence[str]]) -> Path:
        self._entries.mkdir(mode=0o700, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=self.folder))
        try:
            _seal(temporary, fill(temporary))
            return self._publish(temporary, key)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _publish(self, temporary: Path, key: str) -> Path:
        final = self._entries / key
        try:
            temporary.rename(final)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if not _is_valid(final):
                self.drop(key)
                temporary.rename(final)
        return final

    def _name(self, key: str, names: Sequence[str]) -> None:
        if not names:
            return
        self._names.mkdir(mode=0o700, exist_ok=True)
        for place, name in enumerate(names):
            temporary = self._names / f"{_TEMPORARY}{name}-{os.getpid()}"
            temporary.write_text(f"{key} {place}", encoding="ascii")
            temporary.replace(self._names / name)

    def drop(self, key: str) -> None:
        """Forget an entry. Whoever has its files open keeps them."""
        grave = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=self.folder))
        with contextlib.suppress(OSError):
            (self._entries / key).rename(grave / key)
        shutil.rmtree(grave, ignore_errors=True)

    @contextlib.contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        # A few locks for all keys: they stay, because a lock that is removed may just be in use.
        locks = self.folder / "locks"
        locks.mkdir(mode=0o700, exist_ok=True)
        with open(locks / key[:2], "w") as file:
            _wait_for(file.fileno())
            yield

    def tidy(self) -> None:
        """Remove what killed processes left, then the entries used least recently, down to the limit."""
        now = time.time()
        for path in _within(self.folder):
            if path.name.startswith(_TEMPORARY) and now - _used_at(path) > ABANDONED_S:
                shutil.rmtree(path, ignore_errors=True)
        sizes = {path: _size_bytes(path) for path in _within(self._entries)}
        total = sum(sizes.values())
        if total <= self._limit_bytes:
            return
        used_at = {path: _used_at(path / _MANIFEST) for path in sizes}
        for path in sorted(sizes, key=lambda path: used_at[path]):
            if total <= self._limit_bytes or now - used_at[path] < IN_USE_S:
                break
            self.drop(path.name)
            total -= sizes[path]
        self._forget_names()

    def _forget_names(self) -> None:
        kept = {path.name for path in _within(self._entries)}
        for path in _within(self._names):
            with contextlib.suppress(OSError):
                if path.read_text(encoding="ascii", errors="replace").partition(" ")[0] not in kept:
                    path.unlink()


def digest(parts: object) -> str:
    """The name of an entry made from these parts (anything that is JSON)."""
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _seal(folder: Path, sources: Sequence[str]) -> None:
    """Write down what is in an entry, so that a part of it is never taken for the whole."""
    files = {path.name: _file_facts(path) for path in _within(folder)}
    manifest = {"files": files, "sources": {source: _source_hash(source) for source in sources}}
    (folder / _MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def _is_valid(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        files: Mapping[str, list[object]] = manifest["files"]
        sources: Mapping[str, str] = manifest["sources"]
        return all(_file_facts(folder / name) == facts for name, facts in files.items()) and all(
            _source_hash(source) == known != "" for source, known in sources.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _file_facts(path: Path) -> list[object]:
    size_bytes = path.stat().st_size
    return [size_bytes, _hash(path) if size_bytes <= MOST_HASHED_BYTES else ""]


def _source_hash(path: str) -> str:
    """Of a file elsewhere; empty where it cannot be read, which makes no valid entry."""
    try:
        return _hash(Path(path))
    except OSError:
        return ""


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _wait_for(lock: int) -> None:
    """Take the lock; where there are no locks, or nobody gives it back, go on without."""
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(_POLL_S)
        except OSError:
            return


def _within(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _used_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _size_bytes(folder: Path) -> int:
    total = 0
    for path in _within(folder):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total
