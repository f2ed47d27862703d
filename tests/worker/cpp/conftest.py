"""A compiler that only pretends, and the real one where there is one."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from opbench.worker.cpp import build as build_module

# Answers like GCC. A line of the source with WRONG in it is an error there, one with LOST an error that
# names no place, one with CLASH an error unless it comes first. The environment has it crash over its
# precompiled header, refuse torch's headers, or find a folder full.
FAKE = r"""
import json, os, re, sys
arguments = sys.argv[1:]
if arguments == ["--version"]:
    print(os.environ.get("FAKE_VERSION", "fake 1.0"))
    sys.exit(0)
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(json.dumps(arguments) + "\n")
out = arguments[arguments.index("-o") + 1]
if "c++-header" in arguments:
    if os.environ.get("FAKE_HEADER_ERROR"):
        print("/include/torch/all.h:4:2: error: #error C++17 or later"); sys.exit(1)
    open(out, "w").write("compiled")
    sys.exit(0)
front = arguments[arguments.index("-include") + 1]
if os.environ.get("FAKE_CRASH") and os.path.exists(front + ".gch"):
    print("internal compiler error: Segmentation fault"); sys.exit(4)
if os.environ.get("FAKE_FULL", "nowhere") in out:
    print("fatal error: error writing to x.o: No space left on device"); sys.exit(1)
source = next(word for word in arguments if word.endswith(".cpp"))
place, number, errors, headers = "", 0, [], []
for line in open(source):
    named = re.match(r'#line 1 "(.*)"', line)
    if named:
        place, number = named[1], 0
        continue
    number += 1
    if "WRONG" in line:
        errors.append(f"{place}:{number}:3: error: this is wrong")
    if "CLASH" in line and place != "opbench.0.stmt":
        errors.append(f"{place}:{number}:3: error: conflicting declaration 'int f()'")
    if "LOST" in line:
        errors.append("somewhere.s:9: Error: lost")
    if line.startswith("#include"):
        headers.append(line.split('"')[1])
if errors:
    print("\n".join(errors)); sys.exit(1)
rule = open(arguments[arguments.index("-MF") + 1], "w")
folder = arguments[arguments.index("-iquote") + 1] if headers else ""
def escaped(name):
    return name.replace(" ", "\\ ").replace("$", "$$")
made_from = [source, front, *(os.path.join(folder, name) for name in headers)]
rule.write("x: " + " \\\n ".join(map(escaped, made_from)) + "\n")
open(out, "w").write("library")
"""


class Fake:
    """What the pretending compiler was asked to do."""

    def __init__(self, log: Path) -> None:
        self._log = log

    @property
    def commands(self) -> list[list[str]]:
        """The arguments of each run, but those that asked for its version."""
        if not self._log.exists():
            return []
        return [json.loads(line) for line in self._log.read_text(encoding="utf-8").splitlines()]

    @property
    def headers(self) -> int:
        """How many headers were precompiled."""
        return sum("c++-header" in command for command in self.commands)

    @property
    def libraries(self) -> int:
        """How many translation units were compiled, or tried."""
        return len(self.commands) - self.headers


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test alone, and a folder for temporary files that is its own too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "cache" / "opbench" / "cpp"


@pytest.fixture
def fake(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A compiler that needs no time, and libraries that are not loaded."""
    pytest.importorskip("torch")
    program = tmp_path / "fake-c++"
    program.write_text(f"#!{sys.executable} -S\n{FAKE}", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", str(program))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    monkeypatch.delenv("CXXFLAGS", raising=False)
    monkeypatch.setattr(build_module, "Library", PretendedLibrary)
    return Fake(tmp_path / "log")


class PretendedLibrary:
    """Takes what the pretending compiler writes for a library."""

    def __init__(self, path: Path) -> None:
        if path.read_text(encoding="utf-8") != "library":
            raise OSError(f"{path}: invalid ELF header")


@pytest.fixture(scope="session")
def compiler() -> str:
    """The real compiler: without one these tests are left out, except where CI insists."""
    pytest.importorskip("torch")
    named = os.environ.get("CXX", "c++")
    found = shutil.which(named.split()[0])
    if found is None:
        text = f"there is no C++ compiler ({named})"
        if os.environ.get("CI") == "true":
            pytest.fail(text)
        pytest.skip(text)
    return found
