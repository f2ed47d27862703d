"""The git commit of a working directory, and whether its files have been changed since."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

TIMEOUT_S = 2.0
# Nothing that the repository's configuration names is run, and nothing is written, not even the index.
_COMMAND = ("git", "-c", "core.fsmonitor=", "-c", f"core.hooksPath={os.devnull}")
_VARIABLES = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def checkout_facts(folder: Path) -> dict[str, Any]:
    """Commit, branch and dirtiness of the checkout around a folder; empty where there is none.

    Files that git does not track do not make it dirty. What takes too long to find out is left out.
    """
    status = _git(
        folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=dirty"
    )
    if status is None:
        commit = _git(folder, "rev-parse", "HEAD")
        return {"commit": commit.strip()} if commit else {}
    lines = status.splitlines()
    heads = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# branch."))
    if heads.get("branch.oid", "(initial)") == "(initial)":
        return {}
    facts: dict[str, Any] = {"commit": heads["branch.oid"]}
    if heads.get("branch.head", "(detached)") != "(detached)":
        facts["branch"] = heads["branch.head"]
    facts["dirty"] = any(not line.startswith("#") for line in lines)
    return facts


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            [*_COMMAND, *arguments],
            cwd=folder,
            env={**os.environ, **_VARIABLES},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")
