"""The compiler, and the flags with which code fits the installed torch."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from opbench.worker.cpp.errors import CppError, NoCompilerError

FRAME = Path(__file__).with_name("frame.hpp")
# Where torch does not say with which flags it was built.
USUAL_FLAGS = ("-O2", "-fPIC", "-DNDEBUG")
USUAL_STANDARD = "c++17"
LIBRARIES = ("-lc10", "-ltorch_cpu", "-ltorch")
# Torch's own flags that say nothing about warnings, which nobody sees here.
_TORCH_FLAG = re.compile(r"-(?:O|D|U|f|m|std=)")
_STANDARD = re.compile(r"-std=(c\+\+\d\d)\b")
# Variables that change what the compiler finds.
_SEARCH_PATHS = ("CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH")
VERSION_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Toolchain:
    """How to compile against the torch that is imported here.

    `identity` holds whatever else changes the result: versions, builds, search paths.
    """

    compiler: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    header: str
    libraries: tuple[str, ...]
    identity: tuple[str, ...]

    @property
    def is_clang(self) -> bool:
        """Whether this is Clang under whatever name; everything else is treated like GCC."""
        return "clang" in self.version.lower()

    def prologue(self) -> str:
        """What every translation unit begins with."""
        return f"#include <{self.header}>\n{FRAME.read_text(encoding='utf-8')}"

    def with_python(self) -> Toolchain:
        """The same, for snippets that use Python's C interface."""
        folder = sysconfig.get_path("include")
        if not Path(folder, "Python.h").exists():
            raise CppError(
                f"the snippet uses Python's C interface, and there is no Python.h in {folder}: "
                "install the headers of this Python (Debian and Ubuntu: apt install python3-dev)"
            )
        return replace(
            self,
            flags=(*self.flags, "-DTORCH_API_INCLUDE_EXTENSION_H", "-isystem", folder),
            header="torch/extension.h",
            libraries=(*self.libraries, "-ltorch_python"),
        )


def toolchain(environ: Mapping[str, str] = os.environ) -> Toolchain:
    """The compiler that $CXX names, else `c++`, with torch's flags and those of $CXXFLAGS."""
    relevant = tuple((name, environ[name]) for name in ("CXX", "CXXFLAGS", *_SEARCH_PATHS) if name in environ)
    return _toolchain(relevant, environ.get("PATH", ""))


@lru_cache(maxsize=8)
def _toolchain(relevant: tuple[tuple[str, str], ...], path: str) -> Toolchain:
    variables = dict(relevant)
    compiler = _compiler(variables.get("CXX", ""), path)
    version = _version(compiler)
    import torch

    folder = Path(torch.__file__).resolve().parent
    include = folder / "include"
    api = include / "torch" / "csrc" / "api" / "include"
    if not (api / "torch" / "all.h").exists():
        raise NoCompilerError(
            f"this torch came without its C++ headers (no torch/all.h in {api}): C++ snippets need them"
        )
    own = _words("CXXFLAGS", variables.get("CXXFLAGS", ""))
    clang = "clang" in version.lower()
    flags = (
        *_torch_flags(torch, clang),
        f"-std={_standard(folder)}",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        # One snippet's function-local statics must not be those of another in another library.
        *(() if clang else ("-fno-gnu-unique",)),
        *("-isystem", str(include), "-isystem", str(api)),
        "-w",
        *own,
    )
    library = folder / "lib"
    libraries = (f"-L{library}", f"-Wl,-rpath,{library}", *LIBRARIES)
    identity = (
        *(f"{name}={value}" for name, value in relevant),
        torch.__version__,
        str(getattr(torch.version, "git_version", "")),
        *_stamps(library, folder / "version.py"),
        *_processor(own),
    )
    return Toolchain(compiler, version, flags, "torch/all.h", libraries, identity)


def _compiler(given: str, path: str) -> tuple[str, ...]:
    words = _words("CXX", given) or ["c++"]
    program = shutil.which(words[0], path=path or None)
    if program is None:
        said = f"$CXX names {words[0]!r}, which is not there" if given else "there is no `c++`"
        raise NoCompilerError(
            f"C++ snippets need a C++ compiler, and {said}: install one (Debian and Ubuntu: apt install g++; "
            "Fedora: dnf install gcc-c++; macOS: xcode-select --install) or name one in $CXX"
        )
    return (program, *words[1:])


def _words(variable: str, given: str) -> list[str]:
    try:
        return shlex.split(given)
    except ValueError as error:
        raise NoCompilerError(f"${variable} cannot be read as words ({error}): {given}") from error


def _version(compiler: tuple[str, ...]) -> str:
    command = [*compiler, "--version"]
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=VERSION_TIMEOUT_S,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoCompilerError(f"the C++ compiler does not start: {shlex.join(command)}: {error}") from error
    if ended.returncode != 0:
        said = (ended.stderr or ended.stdout).strip().partition("\n")[0]
        raise NoCompilerError(f"the C++ compiler does not work: {shlex.join(command)}: {said}")
    return ended.stdout.strip()


def _torch_flags(torch: Any, clang: bool) -> tuple[str, ...]:
    try:
        given = torch.__config__._cxx_flags().split()
    except (AttributeError, RuntimeError):
        given = []
    flags = [flag for flag in given if _TORCH_FLAG.match(flag) and not flag.startswith("-std=")]
    if clang:
        # Torch was built with GCC, as a rule, whose -f flags Clang need not know.
        flags = [flag for flag in flags if not flag.startswith("-f") or flag == "-fPIC"]
    return tuple(dict.fromkeys(flags)) or USUAL_FLAGS


def _standard(torch_folder: Path) -> str:
    """The C++ standard that torch compiles extensions with: it says so nowhere but in its own code."""
    try:
        code = (torch_folder / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
    except OSError:
        return USUAL_STANDARD
    return max(_STANDARD.findall(code), default=USUAL_STANDARD)


def _stamps(library: Path, *files: Path) -> list[str]:
    """What tells one build of torch from another with the same version in the same place."""
    stamps = [str(library)]
    for file in (*sorted(library.glob("libtorch*")), *files):
        try:
            known = file.stat()
        except OSError:
            continue
        stamps.append(f"{file.name}:{known.st_size}:{known.st_mtime_ns}")
    return stamps


def _processor(flags: list[str]) -> list[str]:
    """The processor, as far as the code depends on it: a cache may be shared by several machines."""
    if not any("native" in flag for flag in flags):
        return [platform.machine()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return [platform.machine(), platform.node()]
    said = [line for line in lines if line.startswith(("model name", "flags", "Features"))]
    return [platform.machine(), *dict.fromkeys(said)]
