"""The checkout around a folder, by a real git."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from opbench.results import checkout
from opbench.results.checkout import checkout_facts

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")

SOMEBODY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "e",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "e",
}


@pytest.fixture(autouse=True)
def somebody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in SOMEBODY.items():
        monkeypatch.setenv(name, value)
    # Whatever the folder of the tests lies in.
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setattr(checkout, "TIMEOUT_S", 60.0)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "a b"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "file").write_text("text\n")
    (folder / "inner").mkdir()
    git(folder, "add", "file")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_commit_branch_and_dirtiness(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    clean = {"commit": commit, "branch": "main", "dirty": False}
    assert checkout_facts(repository) == clean
    assert checkout_facts(repository / "inner") == clean
    (repository / "inner" / "untracked").touch()
    assert checkout_facts(repository) == clean
    (repository / "file").write_text("changed\n")
    assert checkout_facts(repository) == clean | {"dirty": True}
    git(repository, "add", "file")
    assert checkout_facts(repository / "inner") == clean | {"dirty": True}
    git(repository, "checkout", "-q", "-f", "--detach")
    assert checkout_facts(repository) == {"commit": commit, "dirty": False}
    (repository / "file").unlink()
    assert checkout_facts(repository)["dirty"]


def test_worktrees_and_hooks_see_their_own_checkout(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    assert checkout_facts(tmp_path / "tree")["branch"] == "side"
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "no index"))
    assert checkout_facts(tmp_path / "tree")["branch"] == "side"
    assert checkout_facts(tmp_path / "tree")["dirty"] is False


def test_no_checkout_has_no_facts(tmp_path: Path) -> None:
    assert checkout_facts(tmp_path) == {}
    assert checkout_facts(tmp_path / "not there") == {}
    git(tmp_path, "init", "-q")
    # Nothing has been committed yet.
    assert checkout_facts(tmp_path) == {}
    (tmp_path / ".git" / "HEAD").write_bytes(b"\xff\0garbage")
    assert checkout_facts(tmp_path) == {}


def test_without_git_there_are_no_facts(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    assert checkout_facts(repository) == {}


def test_a_checkout_of_somebody_else_has_no_facts(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git refuses it, unless `safe.directory` allows it."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    if subprocess.run(["git", "status"], cwd=repository, capture_output=True, check=False).returncode == 0:
        pytest.skip("this git does not look at owners")
    assert checkout_facts(repository) == {}


def test_a_git_that_hangs_is_given_up(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "TIMEOUT_S", 0.2)
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexec sleep 100\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent), prepend=os.pathsep)
    assert checkout_facts(repository) == {}


@pytest.mark.parametrize(
    "output", ["", "garbage", "\0", "# branch.oid\n", "# branch.oid x", "\udcff"], ids=ascii
)
def test_a_git_that_says_odd_things_does_no_harm(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    (fake.parent / "says").write_bytes(os.fsencode(output))
    fake.write_text(f"#!/bin/sh\ncat '{fake.parent}/says'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent), prepend=os.pathsep)
    assert checkout_facts(repository) == {}


def test_the_configuration_of_a_checkout_runs_nothing(repository: Path, tmp_path: Path) -> None:
    """Not even when a file may have changed, and git would have to look at what is in it."""
    ran = tmp_path / "ran"
    evil = f"touch '{ran}'; cat"
    (repository / ".gitattributes").write_text("file filter=evil\nother filter=e.v=il\n")
    (repository / ".git" / "evil").write_text(f"#!/bin/sh\n{evil}\n")
    (repository / ".git" / "evil").chmod(0o755)
    (repository / "other").write_text("text\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "second")
    for name in ("clean", "smudge", "process"):
        git(repository, "config", f"filter.evil.{name}", evil)
    git(repository, "config", "filter.evil.required", "true")
    for name in ("core.fsmonitor", "core.pager", "diff.external", "core.sshCommand", "core.editor"):
        git(repository, "config", name, str(repository / ".git" / "evil"))
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        shutil.copy(repository / ".git" / "evil", repository / ".git" / "hooks" / hook)
    os.utime(repository / "file", (1, 1))
    assert checkout_facts(repository) == {
        "commit": git(repository, "rev-parse", "HEAD"),
        "branch": "main",
        "dirty": False,
    }
    assert not ran.exists()
    # A name that cannot be switched off: the commit is all that can be said.
    git(repository, "config", "filter.e.v=il.clean", evil)
    os.utime(repository / "other", (1, 1))
    assert checkout_facts(repository) == {"commit": git(repository, "rev-parse", "HEAD")}
    assert not ran.exists()
    # The trap is one: git itself would have gone into it.
    subprocess.run(["git", "status"], cwd=repository, check=False, capture_output=True)
    assert ran.exists()


def test_nothing_is_written(repository: Path) -> None:
    os.utime(repository / "file", (1, 1))
    index = (repository / ".git" / "index").read_bytes()
    assert checkout_facts(repository)["dirty"] is False
    assert (repository / ".git" / "index").read_bytes() == index
