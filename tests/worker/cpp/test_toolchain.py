from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from opbench.worker.cpp import toolchain as module
from opbench.worker.cpp.errors import CppError, NoCompilerError
from opbench.worker.cpp.toolchain import toolchain
from opbench.worker.errors import Unsupported

from .conftest import Fake

torch = pytest.importorskip("torch")


def test_without_a_compiler_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(NoCompilerError, match=r"there is no `c\+\+`: install one .*apt install g\+\+.*\$CXX"):
        toolchain({"PATH": str(tmp_path)})
    assert issubclass(NoCompilerError, Unsupported)


def test_a_compiler_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoCompilerError, match=r"\$CXX names 'my-c\+\+', which is not there"):
        toolchain({"CXX": "my-c++ -m64", "PATH": str(tmp_path)})


def test_variables_that_are_no_words_are_named(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        NoCompilerError, match=r"\$CXX cannot be read as words \(No closing quotation\): 'c\+\+"
    ):
        toolchain({"CXX": "'c++"})
    monkeypatch.setenv("CXXFLAGS", '-D"A')
    with pytest.raises(NoCompilerError, match=r"\$CXXFLAGS cannot be read as words"):
        toolchain()


def test_a_compiler_that_does_not_work_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho out of order >&2\nexit 3\n", encoding="utf-8")
    broken.chmod(0o700)
    with pytest.raises(NoCompilerError, match=r"broken --version: out of order"):
        toolchain({"CXX": str(broken)})
    broken.write_text("#!/nonexistent\n", encoding="utf-8")
    with pytest.raises(NoCompilerError, match="does not start"):
        toolchain({"CXX": str(broken), "CPATH": "another"})


def test_without_headers_it_is_said_that_there_are_none(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        sys.modules, "torch", SimpleNamespace(__file__=str(tmp_path / "torch" / "__init__.py"))
    )
    with pytest.raises(NoCompilerError, match="without its C\\+\\+ headers"):
        toolchain()


def test_the_flags_are_those_of_torchs_own_extensions(fake: Fake) -> None:
    extension = pytest.importorskip("torch.utils.cpp_extension")
    tools = toolchain()
    included = [tools.flags[place + 1] for place, flag in enumerate(tools.flags) if flag == "-isystem"]
    assert included == [str(Path(path).resolve()) for path in extension.include_paths()]
    libraries = [str(Path(path).resolve()) for path in extension.library_paths()]
    assert [flag[2:] for flag in tools.libraries if flag.startswith("-L")] == libraries
    assert f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}" in tools.flags
    given = torch.__config__._cxx_flags().split()
    for flag in ("-O2", "-fPIC", "-DNDEBUG"):
        assert (flag in given) == (flag in tools.flags)
    standard = next(flag for flag in tools.flags if flag.startswith("-std="))
    assert f"'{standard}'" in Path(extension.__file__).read_text(encoding="utf-8")
    assert not [flag for flag in tools.flags if flag.startswith("-W")]


def test_an_unknown_build_of_torch_gets_usual_flags(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert module._torch_flags(SimpleNamespace(__config__=None), clang=False) == module.USUAL_FLAGS
    assert module._standard(tmp_path) == module.USUAL_STANDARD


def test_ones_own_flags_come_last_and_make_another_toolchain(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = toolchain()
    monkeypatch.setenv("CXXFLAGS", "-O3 -I'/my folder'")
    assert toolchain().flags == (*plain.flags, "-O3", "-I/my folder")
    assert toolchain() != plain
    monkeypatch.setenv("CXXFLAGS", "-march=native")
    assert len(toolchain().identity) >= len(plain.identity) + 1


def test_clang_gets_no_flags_that_only_gcc_knows(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "-fno-gnu-unique" in toolchain().flags
    monkeypatch.setenv("FAKE_VERSION", "Homebrew clang version 17.0.6")
    monkeypatch.setenv("CPATH", "/another")
    tools = toolchain()
    assert tools.is_clang
    assert {flag for flag in tools.flags if flag.startswith("-f")} <= {"-fPIC"}


def test_without_python_headers_a_snippet_that_needs_them_is_told(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(CppError, match=r"no Python\.h in .*apt install python3-dev"):
        toolchain().with_python()


def test_the_frame_is_beside_the_code() -> None:
    assert module.FRAME.read_text(encoding="utf-8").startswith("//")
    assert shutil.which("definitely-not-a-compiler") is None
