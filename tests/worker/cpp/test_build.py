from __future__ import annotations

import time
from pathlib import Path

import pytest

from opbench.worker.cpp import build as module
from opbench.worker.cpp.build import build
from opbench.worker.cpp.compiler import CompileFailed, files_in, run_compiler
from opbench.worker.cpp.errors import CppError
from opbench.worker.cpp.folders import temporary_folder
from opbench.worker.cpp.library import Built
from opbench.worker.cpp.snippet import CppSnippet

from .conftest import Fake


def outcome(results: list[Built | CppError]) -> list[str]:
    return [str(result) if isinstance(result, CppError) else "built" for result in results]


def test_many_snippets_are_one_run_of_the_compiler(fake: Fake) -> None:
    snippets = [CppSnippet(f"f({number});") for number in range(30)]
    assert outcome(build(snippets)) == ["built"] * 30
    assert (fake.headers, fake.libraries) == (1, 1)


def test_what_was_built_is_not_built_again_alone_or_with_others(fake: Fake) -> None:
    first, second, third = (CppSnippet(f"f({number});") for number in range(3))
    build([first, second])
    assert outcome(build([second])) == ["built"]
    assert fake.libraries == 1
    assert outcome(build([third, first, third])) == ["built"] * 3
    assert (fake.headers, fake.libraries) == (1, 2)


def test_nothing_to_build_is_no_work(fake: Fake) -> None:
    assert build([]) == []
    assert fake.commands == []


def test_each_result_is_that_of_its_snippet(fake: Fake) -> None:
    snippets = [CppSnippet("f();"), CppSnippet("g();"), CppSnippet("f();")]
    results = build(snippets)
    assert [result.snippet for result in results if isinstance(result, Built)] == snippets


def test_a_wrong_snippet_does_not_stop_the_others(fake: Fake) -> None:
    snippets = [CppSnippet("f();"), CppSnippet("a;\nWRONG"), CppSnippet("g();", "WRONG"), CppSnippet("h();")]
    expected = ["built", "line 2 of stmt: this is wrong", "line 1 of setup: this is wrong", "built"]
    assert outcome(build(snippets)) == expected
    assert fake.libraries == 2


def test_errors_without_a_place_are_found_one_by_one(fake: Fake) -> None:
    assert outcome(build([CppSnippet("f();"), CppSnippet("LOST"), CppSnippet("g();")])) == [
        "built",
        "lost",
        "built",
    ]
    assert fake.libraries == 4


def test_what_clashes_with_a_neighbour_is_compiled_alone(fake: Fake) -> None:
    assert outcome(build([CppSnippet("f();"), CppSnippet("CLASH"), CppSnippet("g();")])) == ["built"] * 3
    assert fake.libraries == 3


def test_a_wrong_global_setup_is_wrong_for_those_that_have_it(fake: Fake) -> None:
    wrong = [CppSnippet("f();", "", "WRONG"), CppSnippet("g();", "", "WRONG")]
    text = "line 1 of global_setup: this is wrong"
    assert outcome(build([*wrong, CppSnippet("h();")])) == [text, text, "built"]


def test_all_that_the_compiler_said_goes_along(fake: Fake) -> None:
    (error,) = build([CppSnippet("\n".join(["WRONG"] * 9))])
    assert isinstance(error, CppError)
    assert len(error.output.splitlines()) == 9
    assert str(error).endswith("(and 6 more)")


@pytest.mark.parametrize(
    "change",
    [{"CXXFLAGS": "-O3"}, {"FAKE_VERSION": "fake 2.0", "CPATH": "/x"}, {"CPLUS_INCLUDE_PATH": "/y"}],
)
def test_another_compiler_or_other_flags_build_again(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, change: dict[str, str]
) -> None:
    build([CppSnippet("f();")])
    for name, value in change.items():
        monkeypatch.setenv(name, value)
    build([CppSnippet("f();")])
    assert (fake.headers, fake.libraries) == (2, 2)


def test_another_template_builds_again(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    build([CppSnippet("f();")])
    monkeypatch.setattr(module, "TEMPLATE", module.TEMPLATE + 1)
    build([CppSnippet("f();")])
    assert fake.libraries == 2


def test_an_included_file_that_changes_is_compiled_again(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my $project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    mine = folder / "mine.h"
    mine.write_text("int f();", encoding="utf-8")
    snippet = CppSnippet("f();", "", '#include "mine.h"')
    build([snippet])
    build([snippet])
    assert fake.libraries == 1
    mine.write_text("long f();", encoding="utf-8")
    build([snippet])
    assert fake.libraries == 2


def test_a_broken_library_is_compiled_again(fake: Fake, own_cache: Path) -> None:
    build([CppSnippet("f();")])
    (library,) = own_cache.glob("entries/*/snippets.so")
    library.write_text("lib", encoding="utf-8")
    assert outcome(build([CppSnippet("f();")])) == ["built"]
    assert fake.libraries == 2


def test_what_does_not_load_is_found_one_by_one(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unloadable:
        def __init__(self, path: Path) -> None:
            if "missing" in path.with_name("snippets.cpp").read_text(encoding="utf-8"):
                raise OSError(f"{path}: undefined symbol: missing")

    monkeypatch.setattr(module, "Library", Unloadable)
    expected = ["built", "the compiled snippet does not load: undefined symbol: missing", "built"]
    assert outcome(build([CppSnippet("f();"), CppSnippet("missing();"), CppSnippet("g();")])) == expected


def test_headers_that_do_not_compile_are_an_error_that_says_so(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_HEADER_ERROR", "1")
    errors = build([CppSnippet("f();"), CppSnippet("g();"), CppSnippet("}")])
    assert all("torch's headers do not compile with" in str(error) for error in errors)
    assert all("C++17 or later" in str(error) for error in errors)
    assert (fake.headers, fake.libraries) == (1, 0)


def test_a_compiler_that_crashes_over_its_header_does_without(
    fake: Fake, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_CRASH", "1")
    assert outcome(build([CppSnippet("f();")])) == ["built"]
    assert (fake.headers, fake.libraries) == (1, 2)
    assert not list(own_cache.glob("entries/*/*.gch"))


def test_python_is_included_for_those_that_name_it(fake: Fake) -> None:
    build([CppSnippet("py::object x;")])
    (command,) = fake.commands
    assert "-ltorch_python" in command
    build([CppSnippet("f();")])
    assert "-ltorch_python" not in fake.commands[-1]


def test_a_full_cache_has_a_stand_in(fake: Fake, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FULL", str(own_cache))
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert outcome(build([CppSnippet("f();")])) == ["built"]
    assert list(temporary_folder().glob("entries/*/snippets.so"))
    tries = fake.libraries
    assert outcome(build([CppSnippet("f();")])) == ["built"]
    assert fake.libraries == tries


def test_when_everything_is_full_it_is_said(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FULL", str(tmp_path))
    with pytest.warns(RuntimeWarning), pytest.raises(OSError, match="No space left on device"):
        build([CppSnippet("f();")])


def test_without_a_cache_folder_there_is_a_stand_in(fake: Fake, own_cache: Path) -> None:
    own_cache.parent.parent.write_text("no folder", encoding="utf-8")
    with pytest.warns(RuntimeWarning, match="is kept in"):
        assert outcome(build([CppSnippet("f();")])) == ["built"]
    assert outcome(build([CppSnippet("f();")])) == ["built"]
    assert fake.libraries == 1


def test_a_compiler_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = ["/bin/sh", "-c", f'sleep 60 & echo $! >"{pids}"; wait']
    with pytest.raises(CompileFailed, match=r"takes longer than 0\.5 s"):
        run_compiler(command, tmp_path, timeout_s=0.5)
    child = Path(f"/proc/{pids.read_text().strip()}/stat")
    # It was sent a signal; when it dies of it is up to the system.
    deadline = time.monotonic() + 20
    while not is_dead(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_dead(child)


def is_dead(stat: Path) -> bool:
    """Whether a process has ended, by its file below /proc."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_a_compiler_that_is_killed_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(CompileFailed, match="ended by signal 9") as failure:
        run_compiler(["/bin/sh", "-c", "kill -9 $$"], tmp_path, timeout_s=60)
    assert failure.value.crashed


def test_the_limit_on_a_cases_memory_is_not_the_compilers(tmp_path: Path) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 40, hard))
    try:
        run_compiler(["/bin/sh", "-c", f'ulimit -S -v >"{tmp_path}/limit"'], tmp_path, timeout_s=60)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    limit = (tmp_path / "limit").read_text().strip()
    assert limit == ("unlimited" if hard == resource.RLIM_INFINITY else str(hard // 1024))


def test_the_rule_for_make_is_read_with_all_its_signs(tmp_path: Path) -> None:
    rule = tmp_path / "rule"
    rule.write_text("out: /src/in.cpp /a\\ b/c$$d.h \\\n  /e/f\\#.h rel.h\n", encoding="utf-8")
    assert files_in(rule, without=[Path("/src")]) == ["/a b/c$d.h", "/e/f#.h", str(Path("rel.h").absolute())]
