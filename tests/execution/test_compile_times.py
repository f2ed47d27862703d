"""Compile times: what they hold, what they leave as it was, and what they say when something is wrong."""

from __future__ import annotations

import logging
import os
import random
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from opbench.benchmark import bench_all, benchmark_compile
from opbench.execution import compile_measure, compile_state
from opbench.execution.compile_record import CompileRecord
from opbench.execution.compile_table import table
from opbench.execution.compile_times import compile_times
from opbench.execution.tools import compiler

COMPILING_S = 0.3
FAST: dict[str, Any] = {"min_run_time": 0.002, "num_iters": 1}


def sleepy(graph: Any, inputs: Any) -> Callable[..., Any]:
    """Compiles for a known time."""
    time.sleep(COMPILING_S)
    return graph.forward


def wrong(graph: Any, inputs: Any) -> Callable[..., Any]:
    """Compiles something else than it was given."""
    return lambda *args: tuple(2 * value for value in graph.forward(*args))


def broken(graph: Any, inputs: Any) -> Callable[..., Any]:
    raise RuntimeError("no such luck\nat all")


def absent(graph: Any, inputs: Any) -> Callable[..., Any]:
    raise ImportError("this backend needs what is not there")


def talkative(graph: Any, inputs: Any) -> Callable[..., Any]:
    logging.getLogger("torch._inductor").warning("not on this %s", "device")
    warnings.warn("an old habit", UserWarning, stacklevel=1)
    return graph.forward


def model(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x + 1)


def one(*args: Any, backend: Any, **more: Any) -> CompileRecord:
    (found,) = compile_times(*args, backends=[backend], **{**FAST, **more})
    return found


@pytest.fixture
def x() -> torch.Tensor:
    return torch.linspace(-2, 2, 64)


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    yield
    torch._dynamo.reset()


def test_the_compile_time_has_the_compilation_in_it(x: torch.Tensor) -> None:
    started = time.perf_counter()
    found = one(model, x, backend=sleepy)
    lasted = time.perf_counter() - started
    assert found.status == "ok"
    assert found.backend == "sleepy"
    assert found.compile_s is not None
    assert found.first_call_s is not None
    assert COMPILING_S <= found.first_call_s < lasted
    assert COMPILING_S * 0.99 <= found.compile_s <= found.first_call_s
    assert found.accounted_s is not None
    assert COMPILING_S <= found.accounted_s <= found.first_call_s
    # Nothing on disk helps a backend of this kind.
    assert found.warm_compile_s is not None
    assert found.warm_compile_s >= COMPILING_S * 0.99
    assert found.steady is not None
    assert found.steady.median < COMPILING_S / 3
    assert (found.graphs, found.graph_breaks, found.recompilations) == (1, (), 0)


def test_torchs_function_gives_milliseconds(x: torch.Tensor) -> None:
    compiling_ms, running_ms = benchmark_compile(model, x, num_iters=2, backend=sleepy)
    assert compiling_ms is not None
    assert running_ms is not None
    assert compiling_ms >= COMPILING_S * 990
    assert 0 < running_ms < COMPILING_S * 330


def test_without_a_backend_nothing_is_compiled(x: torch.Tensor) -> None:
    compiling_ms, running_ms = benchmark_compile(model, x, num_iters=1)
    assert compiling_ms is None
    assert running_ms is not None
    assert running_ms > 0


def test_every_row_is_cold(x: torch.Tensor) -> None:
    found = compile_times(model, x, backends=[sleepy, sleepy], warm=False, **FAST)
    assert all(record.compile_s and record.compile_s >= COMPILING_S * 0.99 for record in found)
    assert [record.warm_compile_s for record in found] == [None, None]


def test_a_call_that_compiles_again_counts(x: torch.Tensor) -> None:
    seen = {"calls": 0}

    def restless(x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_compiling():
            seen["calls"] = min(seen["calls"] + 1, 1)
        return x + seen["calls"]

    found = one(restless, x, backend=sleepy)
    assert found.recompilations == 1
    assert found.compile_s is not None
    assert found.compile_s >= 2 * COMPILING_S * 0.99 > COMPILING_S


def test_graph_breaks_are_told_with_their_place(x: torch.Tensor) -> None:
    def halves(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    found = one(halves, x, backend="eager")
    assert found.graphs == 2
    assert len(found.graph_breaks) == 1
    assert found.graph_breaks[0].startswith("test_compile_times.py:")
    assert "2 graphs, test_compile_times.py:" in table([found])


def test_results_are_compared_with_those_of_the_model_as_it_is(x: torch.Tensor) -> None:
    right = one(model, x, backend="aot_eager")
    assert right.agrees is True
    assert right.max_abs_difference == 0
    found = one(model, x, backend=wrong)
    assert found.status == "ok"
    assert found.agrees is False
    assert found.max_abs_difference == pytest.approx(3.0)
    assert "RESULTS DIFFER from eager by 3 at most" in table([found])


def test_what_chance_decides_is_not_compared(x: torch.Tensor) -> None:
    found = one(torch.nn.Dropout(0.5), x, backend="eager")
    assert found.agrees is None
    assert any("chance" in note for note in found.notes)


@pytest.mark.parametrize(
    ("backend", "status", "reason"),
    [
        (broken, "failed", "RuntimeError: no such luck"),
        (absent, "unsupported", "ImportError: this backend needs what is not there"),
    ],
)
def test_a_failure_is_a_row_with_its_reason(x: torch.Tensor, backend: Any, status: str, reason: str) -> None:
    failed, fine = compile_times(model, x, backends=[backend, "eager"], **FAST)
    assert (failed.status, failed.reason) == (status, reason)
    assert failed.steady is None
    assert failed.verdict is None
    assert failed.pays_off_after_calls is None
    assert fine.status == "ok"
    assert f"{status}: {reason}" in table([failed, fine])
    with pytest.warns(RuntimeWarning, match=reason):
        assert benchmark_compile(model, x, 1, backend) == (None, None)


def test_a_model_without_a_graph_is_not_taken_for_compiled(x: torch.Tensor) -> None:
    found = one(lambda x: x, x, backend="eager")
    assert found.status == "failed"
    assert "nothing was compiled" in found.reason


def test_what_torch_says_is_kept_and_not_printed(x: torch.Tensor, capfd: pytest.CaptureFixture[str]) -> None:
    found = one(model, x, backend=talkative)
    assert found.status == "ok"
    assert {"not on this device", "an old habit"} <= set(found.notes)
    assert capfd.readouterr() == ("", "")


def test_what_people_ask_to_see_is_still_printed() -> None:
    logger = logging.getLogger("torch._dynamo")
    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    try:
        with compile_state.heard() as found:
            handler.handle(logging.makeLogRecord({"levelno": logging.INFO, "msg": "asked for"}))
            handler.handle(logging.makeLogRecord({"levelno": logging.WARNING, "msg": "a warning"}))
        handler.handle(logging.makeLogRecord({"levelno": logging.WARNING, "msg": "later"}))
    finally:
        logger.removeHandler(handler)
    assert heard == ["asked for", "later"]
    assert found == ["a warning"]


def test_training_is_a_whole_step_and_is_undone() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(net.parameters())
    inputs = torch.randn(8, 4)
    net(inputs).sum().backward()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    gradients = [parameter.grad.clone() for parameter in net.parameters() if parameter.grad is not None]
    losses = []

    def loss_fn(output: torch.Tensor) -> torch.Tensor:
        loss = output.square().mean()
        losses.append(float(loss.detach()))
        return loss

    found = one(net, inputs, backend="aot_eager", optimizer=optimizer, loss_fn=loss_fn)
    assert found.status == "ok", found.reason
    assert found.training
    assert found.agrees is True
    assert len(set(losses)) > 3
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert optimizer.state_dict()["state"] == {}
    kept = [parameter.grad for parameter in net.parameters()]
    assert all(torch.equal(one, other) for one, other in zip(kept, gradients, strict=True) if one is not None)
    assert table([found]).count("Training") == 2


def test_an_optimizer_alone_trains_on_the_sum() -> None:
    net = torch.nn.Linear(3, 2)
    compiling_ms, running_ms = benchmark_compile(
        net, torch.ones(5, 3), 1, "eager", optimizer=torch.optim.SGD(net.parameters(), lr=0.1)
    )
    assert compiling_ms is not None
    assert running_ms is not None


def test_inputs_that_the_model_writes_to_are_put_back() -> None:
    inputs = torch.arange(4.0)
    found = one(lambda x: x.add_(1), inputs, backend="eager")
    assert found.agrees is True
    assert torch.equal(inputs, torch.arange(4.0))


def test_several_inputs_and_trees_of_them(x: torch.Tensor) -> None:
    def add(x: torch.Tensor, more: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"sum": x + more["y"]}

    assert one(add, x, {"y": x}, backend="eager").agrees is True


def test_global_state_is_as_it_was(x: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "somewhere")
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    torch.manual_seed(3)
    random.seed(3)
    seen: list[str] = []

    def curious(graph: Any, inputs: Any) -> Callable[..., Any]:
        seen.append(os.environ["TORCHINDUCTOR_CACHE_DIR"])
        return graph.forward

    def state() -> tuple[Any, ...]:
        return (
            torch.get_float32_matmul_precision(),
            torch.get_num_threads(),
            torch.is_grad_enabled(),
            torch._dynamo.config.suppress_errors,
            torch.random.get_rng_state().tolist(),
            random.getstate(),
            dict(os.environ),
            warnings.filters[:],
        )

    before = state()
    one(model, x, backend=curious, num_threads=1)
    one(model, x, backend=broken)
    assert state() == before
    assert len(set(seen)) == 1
    assert seen[0] != "somewhere"
    assert not Path(seen[0]).exists()


def test_errors_of_the_model_itself_are_raised_as_they_are(x: torch.Tensor) -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        raise KeyError("the model's own")

    with pytest.raises(KeyError, match="the model's own"):
        compile_times(fails, x, backends=["eager"])


def test_starting_a_compiler_is_told_apart_and_paid_once(
    x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_measure, "_started", set())
    first, second = compile_times(model, x, backends=["aot_eager", "aot_eager"], warm=False, **FAST)
    assert first.start_up_s is not None
    assert first.start_up_s > 0
    assert second.start_up_s is None


def test_the_table_of_all_backends(x: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch._dynamo, "list_backends", lambda *a, **k: ["eager", "openxla", "aot_eager"])
    text = bench_all(model, x, num_iters=1)
    lines = text.splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0][:5] == [
        *("Train/Inference", "Backend", "Mode"),
        *("Compilation Time", "Average Running Time"),
    ]
    assert set(lines[1]) == {"|", "-"}
    assert [row[1] for row in cells[2:]] == ["Eager", "eager", "openxla", "aot_eager"]
    assert len({len(line) for line in lines}) == 1
    assert all(row[3].endswith(" ms") for row in (cells[3], cells[5]))
    if cells[4][3] == "-":
        assert cells[4][-1].startswith("unsupported: ImportError")


def test_inductor_compiles_for_real(x: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    if compiler().state != "fine":
        assert os.environ.get("CI") != "true", "there must be a C++ compiler where CI runs"
        pytest.skip("torch.compile needs a C++ compiler")
    # One compilation is enough for a test.
    monkeypatch.setattr(compile_measure, "_started", {("eager", "cpu"), ("inductor", "cpu")})
    (found,) = compile_times(model, x, backends=["inductor"], modes=["default"], **FAST)
    assert found.status == "ok", found.reason
    assert found.agrees is True
    assert found.compile_s is not None
    assert found.accounted_s is not None
    assert found.warm_compile_s is not None
    assert found.compile_s > 0.5 * found.accounted_s
    # What is on the disk need not be compiled again.
    assert found.warm_compile_s < found.compile_s
