"""FunctionCounts and CallgrindStats: beside torch's own classes, the laws of their algebra, their JSON."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import benchmark

from opbench.cases.errors import ArgumentError
from opbench.results.callgrind_stats import CallgrindStats
from opbench.results.function_counts import FunctionCount, FunctionCounts
from opbench.results.task import TaskSpec

# Pieces of what callgrind calls functions: builds in several places, libraries, dict lookups, long names.
FOLDERS = (
    *("", "/tmp/build/../", "/a/build/../b/build/../", "build/../", "/x/build/aten/", "build/aten/"),
    *("/py/Python/", "/opt/Objects/", "Objects/", "/q/Python/r/Objects/", "/data/" + "deep/" * 30),
)
FILES = ("???", "ceval.c", "dictobject.c", "TensorImpl.h")
FUNCTIONS = (
    *("lookdict_unicode", "lookdict_unicode_nodummy", "lookdict", "malloc", "f(int, char)"),
    "at::Tensor const& " + "wrap<" * 20,
)
LIBRARIES = ("", " [/usr/lib/libc.so]", " [a] [b]", " const")
names = st.builds(
    lambda folder, file, function, library: f"{folder}{file}:{function}{library}",
    st.sampled_from(FOLDERS),
    st.sampled_from(FILES),
    st.sampled_from(FUNCTIONS) | st.text("abc_:", max_size=8),
    st.sampled_from(LIBRARIES),
)
items = st.dictionaries(names, st.integers(-(10**9), 10**9), max_size=30)


def pair(counts: dict[str, int], inclusive: bool, **options: Any) -> tuple[FunctionCounts, Any]:
    """The same counts in our class and in torch's."""
    ordered = sorted(((count, name) for name, count in counts.items()), reverse=True)
    return (
        FunctionCounts(tuple(FunctionCount(*item) for item in ordered), inclusive, **options),
        benchmark.FunctionCounts(
            tuple(benchmark.FunctionCount(*item) for item in ordered), inclusive, **options
        ),
    )


def ours(counts: dict[str, int], inclusive: bool = False) -> FunctionCounts:
    return pair(counts, inclusive)[0]


def body(shown: Any) -> str:
    """A representation without the first line, where class and address stand."""
    return repr(shown).partition("\n")[2]


def assert_same(mine: FunctionCounts, torchs: Any) -> None:
    assert tuple(mine) == tuple(torchs)
    assert mine.inclusive == torchs.inclusive
    assert mine.truncate_rows == torchs.truncate_rows
    assert len(mine) == len(torchs)
    assert mine.sum() == torchs.sum()
    assert body(mine) == body(torchs)


@given(items, items, st.booleans(), st.integers(-3, 3) | st.floats(-2, 2), st.integers(-20, 20))
def test_everything_is_as_in_torch(
    first: dict[str, int], second: dict[str, int], inclusive: bool, factor: float, place: int
) -> None:
    mine, torchs = pair(first, inclusive)
    other, torch_other = pair(second, inclusive)
    assert_same(mine, torchs)
    assert_same(mine + other, torchs + torch_other)
    assert_same(mine - other, torchs - torch_other)
    assert_same(mine * factor, torchs * factor)
    assert_same(mine[place:], torchs[place:])
    assert_same(mine[:place:2], torchs[:place:2])
    assert_same(mine.denoise(), torchs.denoise())
    assert_same(mine.filter(lambda name: "a" in name), torchs.filter(lambda name: "a" in name))
    assert_same(mine.transform(lambda name: name[:6]), torchs.transform(lambda name: name[:6]))


@given(items, st.booleans(), st.sampled_from([None, 1, 50, 80, 160]), st.booleans())
def test_the_representation_is_torchs(
    counts: dict[str, int], inclusive: bool, width: int | None, truncate: bool
) -> None:
    mine, torchs = pair(counts, inclusive, _linewidth=width, truncate_rows=truncate)
    assert body(mine) == body(torchs)
    assert re.match(r"<opbench\.results\.function_counts\.FunctionCounts object at 0x[0-9a-f]+>", repr(mine))


def stats(counts: list[dict[str, int]], debug: bool, task: dict[str, Any]) -> tuple[CallgrindStats, Any]:
    made = [pair(one, inclusive) for one, inclusive in zip(counts, (True, False) * 2, strict=True)]
    return (
        CallgrindStats(TaskSpec(**task), 100, debug, *(one[0] for one in made), "events: Ir"),
        benchmark.CallgrindStats(
            benchmark.TaskSpec(**task), 100, debug, *(one[1] for one in made), "events: Ir"
        ),
    )


tasks = st.fixed_dictionaries(
    {"stmt": st.sampled_from(["x + 1", "a\nb", ""]), "setup": st.sampled_from(["pass", "x = 1", "a\nb"])},
    optional={
        "label": st.sampled_from(["add", ""]),
        "sub_label": st.sampled_from(["small", ""]),
        "description": st.sampled_from(["main", "two\nlines"]),
        "num_threads": st.sampled_from([1, 4]),
    },
)


@given(st.lists(items, min_size=4, max_size=4), st.booleans(), tasks, items)
def test_callgrind_stats_are_torchs(
    counts: list[dict[str, int]], debug: bool, task: dict[str, Any], more: dict[str, int]
) -> None:
    mine, torchs = stats(counts, debug, task)
    other, torch_other = stats([more, more, more, more], debug, task)
    assert body(mine) == body(torchs)
    assert mine.counts() == torchs.counts()
    assert mine.counts(denoise=True) == torchs.counts(denoise=True)
    for inclusive in (False, True):
        assert_same(mine.stats(inclusive), torchs.stats(inclusive))
        assert_same(mine.delta(other, inclusive), torchs.delta(torch_other, inclusive))
    standard, torch_standard = mine.as_standardized(), torchs.as_standardized()
    assert body(standard) == body(torch_standard)
    assert standard.stmt_callgrind_out is torch_standard.stmt_callgrind_out is None
    for inclusive in (False, True):
        assert_same(standard.stats(inclusive), torch_standard.stats(inclusive))
    assert_same(standard.baseline_inclusive_stats, torch_standard.baseline_inclusive_stats)
    assert_same(standard.baseline_exclusive_stats, torch_standard.baseline_exclusive_stats)


@given(st.lists(items, min_size=4, max_size=4), st.booleans(), tasks)
def test_json_loses_nothing(counts: list[dict[str, int]], debug: bool, task: dict[str, Any]) -> None:
    mine, _ = stats(counts, debug, task)
    assert CallgrindStats.from_json(mine.to_json()) == mine


@given(items, items, items)
def test_the_laws_of_counts(a: dict[str, int], b: dict[str, int], c: dict[str, int]) -> None:
    first, second, third = (ours(counts) + ours({}) for counts in (a, b, c))
    assert len(first - first) == 0
    assert first + second - second == first
    assert first + second == second + first
    assert (first + second) + third == first + (second + third)
    assert (first + second).sum() == first.sum() + second.sum()
    assert first * 2 == 2 * first == first + first
    assert first - second == first + second * -1
    assert first.transform(lambda name: "all").sum() == first.sum()
    noise = first - first.denoise()
    assert noise.sum() + first.denoise().sum() == first.sum()
    assert len({first, first + second - second}) == 1


def test_a_place_is_a_count_and_a_slice_is_counts() -> None:
    counts = ours({"a": 3, "b": 5})
    assert counts[0] == FunctionCount(count=5, function="b")
    assert isinstance(counts[0], FunctionCount)
    assert isinstance(counts[:1], FunctionCounts)
    assert counts[-1].function == "a"
    with pytest.raises(IndexError):
        counts[2]


def test_counts_of_one_name_are_added_not_dropped() -> None:
    twice = FunctionCounts((FunctionCount(3, "f"), FunctionCount(2, "f")), False)
    assert (twice * 2).sum() == 10


@pytest.mark.parametrize(
    ("name", "is_noise"),
    [
        ("/py/Objects/dictobject.c:lookdict_unicode [python3.9]", True),
        ("/py/Objects/dictobject.c:lookdict_unicode_nodummy'2", True),
        ("/py/Objects/dictobject.c:unicodekeys_lookup_unicode [python3.12]", True),
        ("dictobject.c:unicodekeys_lookup_unicode_threadsafe", True),
        ("dictobject.c:_Py_dict_lookup.constprop.0", True),
        ("dictobject.c:compare_unicode_unicode", True),
        ("???:_Py_dict_lookup [/usr/bin/python3.11]", True),
        ("???:_PyDictKeys_StringLookup [/usr/bin/python3.11]", True),
        ("???:unicodekeys_lookup_unicode", True),
        ("dictobject.c:dict_dealloc", False),
        ("dictobject.c:PyDict_GetItem", False),
        ("???:do_lookup_x [ld-linux.so]", False),
        ("???:do_lookup [somewhere.so]", False),
        ("mine.cpp:my_Py_dict_lookup(int)", False),
        ("mine.cpp:unicodekeys_lookup_unicode", False),
    ],
)
def test_the_dict_lookups_of_every_python_are_noise(name: str, is_noise: bool) -> None:
    assert (len(ours({name: 1}).denoise()) == 0) == is_noise


def test_what_does_not_go_together_is_told() -> None:
    counts = ours({"f": 1})
    with pytest.raises(ArgumentError, match="inclusive"):
        counts + ours({"f": 1}, inclusive=True)
    with pytest.raises(ArgumentError, match="finite number only, not by nan"):
        counts * float("nan")
    with pytest.raises(TypeError):
        counts + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        counts * "2"  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "text must be a JSON object"),
        ("{", "text is not JSON"),
        ('{"kind": "opbench.timing"}', "opbench.callgrind"),
        ('{"kind": "opbench.callgrind", "version": 9}', "version 9"),
        ('{"kind": "opbench.callgrind", "version": 1}', "text holds no counts"),
    ],
)
def test_a_text_that_holds_no_counts_is_told(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        CallgrindStats.from_json(text)


def test_lines_are_as_wide_as_torch_prints_where_it_is_there() -> None:
    script = """
import sys
from opbench.results.function_counts import FunctionCount, FunctionCounts
import opbench.results.callgrind_stats
counts = FunctionCounts((FunctionCount(1, "n" * 300),), True)
assert "torch" not in sys.modules
assert {len(line) for line in repr(counts).splitlines()[1:]} == {80}
import torch
torch.set_printoptions(linewidth=120)
assert {len(line) for line in repr(counts).splitlines()[1:]} == {120}
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
