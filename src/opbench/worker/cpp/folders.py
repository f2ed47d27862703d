"""Where compiled snippets are kept, and where they go when that is not possible."""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

from opbench.worker.cpp.cache import Cache


def user_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for what can be compiled again (under XDG_CACHE_HOME, else ~/.cache)."""
    # The XDG specification says to ignore relative paths.
    given = Path(environ.get("XDG_CACHE_HOME", ""))
    base = given if given.is_absolute() else Path("~/.cache").expanduser()
    return base / "opbench" / "cpp"


def temporary_folder() -> Path:
    """The folder that stands in for it: the same for every process of this user, until the next reboot."""
    return Path(tempfile.gettempdir()) / f"opbench-cpp-{os.geteuid()}"


def caches() -> list[Cache]:
    """Caches that may be read, the user's own first. Nothing is loaded from a folder of somebody else."""
    return [
        Cache(folder)
        for folder, follow in ((user_folder(), True), (temporary_folder(), False))
        if folder.is_dir() and not distrust(folder, follow=follow)
    ]


def cache_to_write(*, full: str = "") -> Cache:
    """The cache to add to: the user's own, or with a warning a temporary one. `full`: why not the first."""
    folder = user_folder()
    reason = full or _obstacle(folder, follow=True)
    if not reason:
        return Cache(folder)
    stand_in = temporary_folder()
    obstacle = _obstacle(stand_in, follow=False)
    if obstacle:
        raise OSError(
            f"compiled C++ can be kept neither in {folder} ({reason}) nor in {stand_in} ({obstacle})"
        )
    warnings.warn(
        f"compiled C++ is kept in {stand_in}, and not in {folder}: {reason}", RuntimeWarning, stacklevel=2
    )
    return Cache(stand_in)


def distrust(folder: Path, *, follow: bool) -> str:
    """Why code in a folder must not be run; empty where this user alone can have put it there."""
    try:
        known = folder.stat() if follow else folder.lstat()
    except OSError as error:
        return error.strerror or str(error)
    if not stat.S_ISDIR(known.st_mode):
        return "it is not a folder"
    if known.st_uid != os.geteuid():
        return "it belongs to somebody else"
    if known.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write to it"
    return ""


def _obstacle(folder: Path, *, follow: bool) -> str:
    """Why nothing can be kept in a folder; it is made where it is missing."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        reason = distrust(folder, follow=follow)
        if not reason:
            with tempfile.TemporaryFile(dir=folder):
                pass
    except OSError as error:
        return error.strerror or str(error)
    return reason
