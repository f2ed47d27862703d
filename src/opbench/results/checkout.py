"""The git commit of a working directory, and whether its files have been changed since."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

TIMEOUT_S = 2.0
# The checkout may be a stranger's: nothing that its configuration names is run, and nothing is written, not
# even the index.
_COMMAND = ("git", "-c", "core.fsmonitor=", "-c", f"core.hooksPath={os.devnull}")
_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # Objects that are missing are not fetched.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}
# Set inside git's hooks, they would name the checkout in place of the folder.
_NOT_INHERITED = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_WORK_TREE",
    }
)
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_FILTER = re.compile(r"filter\.[^=\n]*\.(clean|smudge|process|required)")


def checkout_facts(folder: Path) -> dict[str, Any]:
    """Commit, branch and dirtiness of the checkout around a folder; empty where there is none.

    Files that git does not track do not make it dirty. What takes too long to find out is left out.
    """
    without_filters = _without_filters(folder)
    status = without_filters is not None and _git(
        folder,
        *without_filters,
        "status",
        "--porcelain=v2",
        "--branch",
        "--untracked-files=no",
        "--ignore-submodules=dirty",
    )
    if not status:
        commit = (_git(folder, "rev-parse", "--verify", "HEAD") or "").strip()
        return {"commit": commit} if _COMMIT.fullmatch(commit) else {}
    lines = status.splitlines()
    pairs = (line.removeprefix("# branch.").partition(" ") for line in lines if line.startswith("# branch."))
    heads = {key: value for key, _, value in pairs}
    # "(initial)" before the first commit.
    if not _COMMIT.fullmatch(heads.get("oid", "")):
        return {}
    facts: dict[str, Any] = {"commit": heads["oid"]}
    if heads.get("head", "(detached)") != "(detached)":
        facts["branch"] = heads["head"]
    facts["dirty"] = any(not line.startswith("#") for line in lines)
    return facts


def _without_filters(folder: Path) -> list[str] | None:
    """Arguments that turn off the filters in the configuration of the checkout; None if some cannot be."""
    listed = _git(folder, "config", "--null", "--show-scope", "--includes", "--name-only", "--list")
    if listed is None:
        return None
    fields = listed.split("\0")
    names = [
        name
        for scope, name in zip(fields[::2], fields[1::2], strict=False)
        if scope in ("local", "worktree") and name.startswith("filter.")
    ]
    if not all(_FILTER.fullmatch(name) for name in names):
        return None
    return [
        part for name in names for part in ("-c", name + ("=false" if name.endswith("required") else "="))
    ]


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            [*_COMMAND, *arguments],
            cwd=folder,
            env={key: value for key, value in os.environ.items() if key not in _NOT_INHERITED} | _VARIABLES,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")
