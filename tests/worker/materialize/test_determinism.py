"""Numbers depend on seed, work id, argument path and position, and on nothing else."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.cases.identity import work_id
from opbench.worker import streams
from opbench.worker.fills import matrices, rows
from opbench.worker.materialize import Builder

from . import golden
from .makers import built, checked, drawn, tensor

GOLDEN: dict[str, str] = json.loads(golden.FILE.read_text())
ROOT = Path(__file__).parents[3]


def test_numbers_are_those_that_were_drawn_when_the_checksums_were_written() -> None:
    found = golden.checksums()
    missing = {key.split()[-1] for key in GOLDEN.keys() - found.keys()}
    assert not [dtype for dtype in missing if hasattr(torch, dtype)]
    assert found == {key: GOLDEN[key] for key in found}


def test_numbers_are_the_same_in_another_process_with_other_instructions_and_threads() -> None:
    # Plain code stands for a processor without vector instructions, whose kernels are others.
    other = {"ATEN_CPU_CAPABILITY": "default", "OMP_NUM_THREADS": "3", "PYTHONHASHSEED": "7"}
    code = (
        "import json, torch; torch.manual_seed(5); torch.rand(9);"
        "from tests.worker.materialize import golden; print(json.dumps(golden.checksums()))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | other,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {key: GOLDEN[key] for key in found}
    assert len(found) > 300


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


SURROUNDINGS: dict[str, Callable[[], Any]] = {
    "another seed": lambda: nullcontext(torch.manual_seed(1)),
    "numbers drawn before": lambda: nullcontext(torch.rand(100)),
    "another default dtype": lambda: default_dtype(torch.float64),
    "another default device": lambda: torch.device("meta"),
    "one thread": lambda: threads(1),
    "two threads": lambda: threads(2),
    "inference": torch.inference_mode,
    "no gradients": torch.no_grad,
    "automatic mixed precision": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
}


@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_the_state_of_torch_plays_no_part(surroundings: str) -> None:
    with SURROUNDINGS[surroundings]():
        found = {
            f"{name} {dtype}": golden.checksum(drawn(shape, dtype, fill))
            for name, (shape, fill) in golden.FILLS.items()
            for dtype in ("float32", "int64", "bfloat16")
            if f"{name} {dtype}" in GOLDEN
        }
    assert found == {key: GOLDEN[key] for key in found}


def test_drawing_leaves_the_generators_of_torch_and_python_alone() -> None:
    torch_state, python_state = torch.get_rng_state(), random.getstate()
    for name, (shape, fill) in golden.FILLS.items():
        for dtype in ("int64", "float32"):
            if f"{name} {dtype}" in GOLDEN:
                drawn(shape, dtype, fill)
    case = checked({"type": "generator"}, {"type": "int", "value_range": [0, 9]})
    built(case)
    assert torch.equal(torch_state, torch.get_rng_state())
    assert python_state == random.getstate()


def test_threads_of_python_that_draw_at_once_get_the_same_numbers() -> None:
    def checksum(index: int) -> str:
        return golden.checksum(drawn([100_003], "float32", "normal", path=f"args[{index % 4}]"))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(checksum, range(32)))
    assert found == [checksum(index) for index in range(32)]
    assert len(set(found)) == 4


def test_the_order_in_which_arguments_are_built_plays_no_part() -> None:
    case = checked(
        *({"type": "tensor", "shape": [50]} for _ in range(3)),
        other={"type": "tensor", "shape": [50]},
        numbers={"type": "list", "value": [{"type": "int", "value_range": [0, 10**6]}] * 3},
    )
    args, kwargs = built(case)
    builder = Builder(seed=0, work_id=work_id(case), device="cpu", direction="forward")
    for index in (2, 0, 1):
        spec = {"type": "tensor", "shape": [50], "dtype": "float32"}
        assert torch.equal(builder.value(spec, f"args[{index}]"), args[index])
    assert torch.equal(builder.value(spec, "kwargs.other"), kwargs["other"])
    tensors = [*args, kwargs["other"]]
    assert len({golden.checksum(item) for item in tensors}) == 4
    assert len(set(kwargs["numbers"])) == 3


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "bfloat16", "complex64"])
def test_another_seed_path_or_work_gives_other_numbers(dtype: str) -> None:
    spec = {"type": "tensor", "shape": [200], "dtype": dtype}
    seen = set()
    for seed, work, path in (
        (0, "a", "args[0]"),
        (1, "a", "args[0]"),
        (0, "b", "args[0]"),
        (0, "a", "args[1]"),
        (2**63 - 1, "a", "args[0]"),
        (0, "a", "build.args[0]"),
        (0, "a", "kwargs.x"),
    ):
        builder = Builder(seed=seed, work_id=work, device="cpu", direction="forward")
        seen.add(golden.checksum(builder.value(spec, path)))
    assert len(seen) == 7


def test_named_arguments_with_odd_names_are_not_taken_for_others() -> None:
    item = {"type": "tensor", "shape": [20]}
    inner = {"type": "dict", "value": {"b": item}}
    args, _ = built(checked({"type": "dict", "value": {"a.b": item, "a": inner, "c]": item, "é": item}}))
    tensors = [args[0]["a.b"], args[0]["a"]["b"], args[0]["c]"], args[0]["é"]]
    assert len({golden.checksum(found) for found in tensors}) == 4


def test_every_direction_device_and_thread_count_gets_the_same_numbers() -> None:
    plain = tensor([100])
    assert torch.equal(plain, tensor([100], direction="backward").detach())
    assert not torch.equal(plain, tensor([100], seed=1))


@pytest.mark.parametrize("chunk_words", [334, 1000, 50_000, 1 << 20])
def test_the_size_of_chunks_changes_no_number(chunk_words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (streams, rows, matrices):
        monkeypatch.setattr(module, "CHUNK_WORDS", chunk_words)
    streams._multiples.cache_clear()
    try:
        for name, (shape, fill) in golden.FILLS.items():
            for dtype in ("float32", "int64", "complex128", "int8", "float8_e5m2"):
                key = f"{name} {dtype}"
                if key in GOLDEN:
                    assert golden.checksum(drawn(shape, dtype, fill)) == GOLDEN[key], key
    finally:
        streams._multiples.cache_clear()


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["normal", "uniform", "integers", "many indices", "wide integers", "zipf", "mask"]),
    st.sampled_from(["float32", "float64", "int64", "int32", "complex64", "float16"]),
    st.integers(0, 40_000),
)
def test_a_shorter_tensor_is_the_beginning_of_a_longer_one(name: str, dtype: str, count: int) -> None:
    if f"{name} {dtype}" not in GOLDEN:
        return
    _, fill = golden.FILLS[name]
    whole = drawn([40_000], dtype, fill)
    assert torch.equal(drawn([count], dtype, fill), whole[:count])


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40))
def test_words_are_those_of_splitmix64(key: int, start: int) -> None:
    def word(index: int) -> int:
        mask = (1 << 64) - 1
        mixed = (key + (index + 1) * 0x9E3779B97F4A7C15) & mask
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & mask
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
        return mixed ^ (mixed >> 31)

    found = streams.Stream(key).words(start, 3)
    assert [int(value) % 2**64 for value in found] == [word(start + place) for place in range(3)]


def test_the_published_first_words_of_splitmix64_come_out() -> None:
    # From the reference implementation, for a seed of 1234567.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [int(word) % 2**64 for word in streams.Stream(1234567).words(0, 4)] == expected


def test_single_numbers_are_drawn_within_their_range_and_noted() -> None:
    case = checked(
        {"type": "int", "value_range": [-5, 5]},
        {"type": "float", "value_range": [-1e308, 1e308]},
        {"type": "int", "value_range": [-(2**63), 2**63 - 1]},
        {"type": "int", "value_range": [3, 3]},
    )
    seen = set()
    for seed in range(200):
        (small, wide, whole, fixed), _ = built(case, seed=seed)
        assert -5 <= small <= 5
        assert -1e308 <= wide <= 1e308
        assert -(2**63) <= whole < 2**63
        assert fixed == 3
        seen.add(small)
    assert seen == set(range(-5, 6))
    builder = Builder(seed=0, work_id="0", device="cpu", direction="forward")
    value = builder.value({"type": "int", "value_range": [0, 9]}, "args[0]")
    assert builder.drawn == {"args[0]": value}


def test_generators_are_seeded_from_the_case() -> None:
    def numbers(seed: int) -> list[float]:
        ((generator,), _) = built(checked({"type": "generator"}), seed=seed)
        return torch.rand(3, generator=generator).tolist()

    assert numbers(0) == numbers(0) != numbers(1)
