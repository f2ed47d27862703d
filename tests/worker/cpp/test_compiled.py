"""Snippets by the real compiler. They are built together: what takes time is torch's headers, once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from opbench.cases.plan import Plan
from opbench.cli.main import main
from opbench.worker.cpp import build as build_module
from opbench.worker.cpp.errors import CppError, CppException
from opbench.worker.cpp.snippet import CppSnippet
from opbench.worker.devices import Cpu
from opbench.worker.errors import Unsupported
from opbench.worker.measure import judged
from opbench.worker.probes import flops, memory
from opbench.worker.probes.loop import Loop, compiled, empty
from opbench.worker.probes.sampler import Sampler, host_clock
from opbench.worker.runtimes.cpp import build_many, prepare_cpp
from opbench.worker.runtimes.prepared import Prepared

MM = CppSnippet("torch::mm(x, x);", "auto x = torch::ones({64, 64});")
COUNTED = 'if (++*calls > 12) throw std::runtime_error(std::to_string(*calls) + " calls")'
# Whoever shares this function's variable with another library would go on from its number.
STATEFUL = "inline int& count() { static int value = 0; return value; }"
GOOD = {
    "mm": MM,
    "counted": CppSnippet(COUNTED, "auto calls = std::make_unique<int>(0);"),
    "stmt throws": CppSnippet("x.view({7})", "auto x = torch::ones({2, 2})"),
    "setup throws": CppSnippet("", 'throw std::out_of_range("far away");'),
    "throws a number": CppSnippet("throw 3;"),
    "no memory": CppSnippet("throw std::bad_alloc();"),
    "breaks": CppSnippet("break;"),
    "continues": CppSnippet("continue;"),
    "stmt returns": CppSnippet("return;"),
    "setup returns": CppSnippet("", "return;"),
    "raw": CppSnippet(r'throw std::runtime_error(R"(\1 \g<0> %s {})");'),
    "empty": CppSnippet(""),
    "one P": CppSnippet("opbench::keep(p.x);", "struct P { int x; }; P p{1};"),
    "another P": CppSnippet("opbench::keep(p.x[3]);", "struct P { double x[4]; }; P p{};"),
    "deep": CppSnippet("char room[4 << 20]; std::memset(room, 1, sizeof(room)); opbench::keep(room[9]);"),
    "gradient": CppSnippet("x.sum().backward();", "auto x = torch::ones({4}, torch::requires_grad());"),
    "no gradient": CppSnippet("x.mul_(2)", "torch::NoGradGuard guard; auto x = torch::ones({4});"),
    "module": CppSnippet("linear(x);", "torch::nn::Linear linear(3, 4); auto x = torch::ones({2, 3});"),
    "threads": CppSnippet("at::parallel_for(0, 100, 1, [](int64_t, int64_t) {});"),
    "comment": CppSnippet("int x = 1; // and no more", "// nothing"),
    "stateful": CppSnippet('if (++count() > 3) throw std::runtime_error("four");', "", STATEFUL),
    "as stateful": CppSnippet(
        'if (++count() > 3) throw std::runtime_error("four");', "", f"// mine\n{STATEFUL}"
    ),
}
WRONG = {
    "undeclared": CppSnippet("int a = 1;\nfoo(a);"),
    "wrong setup": CppSnippet("", '\n\nint a = "x";'),
    "in a header": CppSnippet("std::map<at::Tensor, int> m; m[torch::ones(1)] = 1;"),
}


@pytest.fixture(scope="module", autouse=True)
def in_the_sessions_cache(compiler: str) -> Iterator[None]:
    """No flags of the user: what is built here is built with those of torch."""
    import torch

    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CXXFLAGS", raising=False)
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def built(in_the_sessions_cache: None) -> dict[str, Prepared | CppError]:
    """Everything, built at once."""
    named = {**GOOD, **WRONG}
    return dict(zip(named, build_many(list(named.values())), strict=True))


def ready(built: dict[str, Prepared | CppError], name: str) -> Prepared:
    prepared = built[name]
    assert isinstance(prepared, Prepared), prepared
    return prepared


def loop_of(built: dict[str, Prepared | CppError], name: str) -> Loop:
    return compiled(ready(built, name).body, lambda: 0)


def run(loop: Loop, calls: int) -> int:
    return loop.send(repeat(None, calls))


@pytest.mark.parametrize("name", GOOD)
def test_what_is_right_is_built(built: dict[str, Prepared | CppError], name: str) -> None:
    assert isinstance(built[name], Prepared), built[name]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("undeclared", "line 2 of stmt: 'foo'"),
        ("wrong setup", "line 3 of setup: "),
        ("in a header", "line 1 of stmt: "),
    ],
)
def test_what_is_wrong_has_its_own_error(
    built: dict[str, Prepared | CppError], name: str, place: str
) -> None:
    error = built[name]
    assert isinstance(error, CppError)
    assert str(error).startswith(place)


@pytest.mark.parametrize(
    "name", ["mm", "empty", "continues", "one P", "another P", "deep", "gradient", "module", "threads"]
)
def test_a_block_runs_and_tells_its_time(built: dict[str, Prepared | CppError], name: str) -> None:
    loop = loop_of(built, name)
    assert run(loop, 3) >= 0
    assert run(loop, 0) >= 0
    assert run(loop, 1) >= 0
    loop.close()


def test_the_statement_runs_so_often_and_the_setup_once_in_a_loop(
    built: dict[str, Prepared | CppError],
) -> None:
    for _ in range(2):
        loop = loop_of(built, "counted")
        for calls in (5, 0, 7):
            run(loop, calls)
        with pytest.raises(CppException, match=r"^stmt threw std::runtime_error: 13 calls$"):
            run(loop, 1)


def test_more_calls_take_longer_and_the_empty_loop_takes_less(built: dict[str, Prepared | CppError]) -> None:
    prepared = ready(built, "mm")
    loop, nothing = compiled(prepared.body, lambda: 0), compiled(empty(prepared.body), lambda: 0)
    run(loop, 10)
    assert 0 < run(loop, 1) < run(loop, 5000)
    assert min(run(nothing, 1000) for _ in range(5)) < min(run(loop, 1000) for _ in range(5))
    # It is a loop, which nothing has left out.
    assert min(run(nothing, 10_000_000) for _ in range(2)) > 10 * max(
        1, min(run(nothing, 1000) for _ in range(9))
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stmt throws", "stmt threw c10::Error: shape '[7]' is invalid for input of size 4"),
        ("throws a number", "stmt threw int"),
        ("no memory", "stmt threw std::bad_alloc: std::bad_alloc"),
        ("breaks", "stmt leaves the loop that times it: it must not `break` out of it"),
        ("stmt returns", "stmt returns: it must not leave the function around it"),
        ("raw", r"stmt threw std::runtime_error: \1 \g<0> %s {}"),
    ],
)
def test_what_a_statement_throws_is_raised(
    built: dict[str, Prepared | CppError], name: str, text: str
) -> None:
    loop = loop_of(built, name)
    with pytest.raises(CppException) as raised:
        run(loop, 2)
    assert str(raised.value) == text
    with pytest.raises(StopIteration):
        run(loop, 1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("setup throws", "setup threw std::out_of_range: far away"),
        ("setup returns", "setup returns: it must not leave the function around it"),
    ],
)
def test_what_a_setup_throws_is_raised(built: dict[str, Prepared | CppError], name: str, text: str) -> None:
    with pytest.raises(CppException) as raised:
        loop_of(built, name)
    assert str(raised.value) == text


def test_no_memory_is_judged_as_that(built: dict[str, Prepared | CppError]) -> None:
    with pytest.raises(CppException) as raised:
        run(loop_of(built, "no memory"), 1)
    assert judged(raised.value, snippet=True)[0] == "out_of_memory"


def test_libraries_share_nothing(built: dict[str, Prepared | CppError]) -> None:
    first, other = loop_of(built, "stateful"), loop_of(built, "as stateful")
    run(first, 3)
    run(other, 3)
    with pytest.raises(CppException, match="four"):
        run(first, 1)


def test_two_loops_of_a_snippet_know_nothing_of_each_other(built: dict[str, Prepared | CppError]) -> None:
    first, second = loop_of(built, "counted"), loop_of(built, "counted")
    run(first, 12)
    run(second, 12)
    first.close()
    with pytest.raises(CppException, match="13 calls"):
        run(second, 1)


def test_a_guard_of_the_setup_does_not_outlive_its_loop(built: dict[str, Prepared | CppError]) -> None:
    import torch

    loop = loop_of(built, "no gradient")
    run(loop, 1)
    assert not torch.is_grad_enabled()
    loop.close()
    assert torch.is_grad_enabled()


def test_memory_and_operations_are_those_of_the_statement_alone(
    built: dict[str, Prepared | CppError],
) -> None:
    plan = msgspec.to_builtins(Plan())
    values = {
        metric["tag"]: metric["value"]
        for probe in (memory, flops)
        for metric in probe.measure(ready(built, "mm"), plan, Cpu())[0]
    }
    assert values["memory.peak"] == values["memory.total"] == 64 * 64 * 4
    assert values["memory.allocations"] == 1
    assert values["flops"] == 2 * 64**3


def test_the_sampler_times_it_like_anything_else(built: dict[str, Prepared | CppError]) -> None:
    sampler = Sampler(ready(built, "mm"), msgspec.to_builtins(Plan()), Cpu(), host_clock(1))
    assert sampler.warm(3) > 0
    block, nothing = sampler.sample(200), sampler.baseline(200)
    assert block.calls == 200
    assert 0 <= nothing.host_ns < block.host_ns == block.times_ns[0]
    sampler.close()


def test_single_calls_are_not_marked(built: dict[str, Prepared | CppError]) -> None:
    with pytest.raises(Unsupported, match="choose another mode than continuous_events"):
        compiled(ready(built, "mm").body, lambda: 0, marks="clock", mark=print)


def test_the_next_time_it_is_there(
    built: dict[str, Prepared | CppError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("it was compiled once more")

    monkeypatch.setattr(build_module, "run_compiler", refused)
    prepared = prepare_cpp(*MM, num_threads=2)
    assert prepared.num_threads == 2
    assert prepared.provenance["build_s"] >= 0
    prepared.once()


def test_a_wrong_statement_raises_its_error(built: dict[str, Prepared | CppError]) -> None:
    with pytest.raises(CppError, match=r"^line 1 of global_setup: nowhere\.h: No such file or directory$"):
        prepare_cpp("f();", global_setup='#include "nowhere.h"')


def rows(capsys: pytest.CaptureFixture[str], store: Path, *words: str) -> tuple[int, list[dict[str, Any]]]:
    capsys.readouterr()
    code = main(["run", *words, "--language", "cpp", "--samples", "3", "--json", "--store", str(store)])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_worker_measures_it(
    built: dict[str, Prepared | CppError], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, (row,) = rows(capsys, tmp_path / "s.db", "--stmt", MM.stmt, "--setup", MM.setup)
    assert (code, row["status"], row["reason"]) == (0, "ok", "")
    assert row["metrics"]["time"] > 0
    assert row["metrics"]["flops"] == 2 * 64**3


def test_a_worker_says_what_is_wrong(
    built: dict[str, Prepared | CppError],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thrown = GOOD["stmt throws"]
    code, (row,) = rows(capsys, tmp_path / "s.db", "--stmt", thrown.stmt, "--setup", thrown.setup)
    assert (code, row["status"]) == (1, "failed")
    assert row["reason"] == "CppException: stmt threw c10::Error: shape '[7]' is invalid for input of size 4"
    monkeypatch.setenv("CXX", "no-such-compiler")
    code, (row,) = rows(capsys, tmp_path / "s.db", "--stmt", "1;")
    assert (code, row["status"]) == (1, "unsupported")
    assert "$CXX names 'no-such-compiler'" in row["reason"]
