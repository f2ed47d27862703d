"""A call recorded as a graph and replayed, on a device that only pretends."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest
import torch

from opbench.worker import measure
from opbench.worker.devices import Cpu
from opbench.worker.errors import Unsupported
from opbench.worker.probes import clock
from opbench.worker.registry import Operator
from opbench.worker.runtimes import snippet
from opbench.worker.runtimes.cuda_graph import captured
from opbench.worker.runtimes.prepared import Prepared

from ..clock.fakes import MS, US, FakeAccelerator, Machine, call_of, plan
from .cases import prepared, run_block, tensor


class Recorder(FakeAccelerator):
    """What a graph does with real tensors: the recorded call is made again on the same ones."""

    def capture(self, call: Any) -> tuple[Any, Any]:
        self.captured += 1
        result = call()
        return lambda: call(), result

    def pool_bytes(self, entry_bytes: int) -> int:
        return 100 * entry_bytes


def recorder() -> Recorder:
    return Recorder(Machine())


def test_a_replay_costs_one_launch_instead_of_many() -> None:
    machine = Machine(resolution=1)
    device = FakeAccelerator(machine, launch=10 * US)

    def three_kernels() -> None:
        for _ in range(3):
            device.enqueue(12 * US)

    eager = call_of(three_kernels)
    graph = captured(eager, device)
    assert device.captured == 1
    metrics, _ = clock.measure(graph, plan(cuda_graph=True), device, machine.clock())
    host = next(metric for metric in metrics if metric["tag"] == "time.host")
    assert host["value"] == pytest.approx(10e-6)
    assert metrics[0]["value"] == pytest.approx(36e-6, rel=0.02)


def test_the_first_call_is_that_before_recording() -> None:
    machine = Machine(resolution=1)
    device = FakeAccelerator(machine)
    graph = captured(call_of(lambda: device.enqueue(MS)), device)
    assert graph.first_call_s is not None
    assert captured(call_of(lambda: None, first_call_s=3.0), device).first_call_s == 3.0


def test_the_row_says_that_it_was_a_graph() -> None:
    machine = Machine()
    device = FakeAccelerator(machine)
    graph = captured(call_of(lambda: device.enqueue(MS), provenance={"a": 1}), device)
    assert graph.provenance == {"a": 1, "cuda_graph": True}
    metrics, _ = clock.measure(graph, plan(cuda_graph=True), device, machine.clock())
    assert metrics[0]["provenance"].items() >= graph.provenance.items()


def test_calls_that_write_have_one_operand_restored_before_each() -> None:
    device = recorder()
    eager = prepared("torch.Tensor.add_", tensor(4), tensor(4), device=device)
    assert eager.pool is not None
    assert eager.pool.room == 100
    original, other = (value.clone() for value in eager.arguments[0])
    graph = captured(eager, device)
    assert graph.pool is not None
    assert graph.pool.room == 1
    torch.testing.assert_close(graph.call(), original + other)
    torch.testing.assert_close(graph.call(), original + other)
    graph.pool.fresh(1)
    graph.once()
    torch.testing.assert_close(graph.pool.first(), original + other)
    assert torch.equal(eager.arguments[0][0], original)


def test_a_backward_is_recorded_as_well() -> None:
    device = recorder()
    eager = prepared("torch.exp", tensor(4), direction="backward", device=device)
    expected = eager.call()[0].clone()
    graph = captured(eager, device)
    run_block(graph, 3)
    torch.testing.assert_close(graph.call()[0], expected)


def test_operands_that_change_shape_cannot_be_recorded() -> None:
    eager = prepared("torch.Tensor.t_", tensor(3, 4), device=recorder())
    with pytest.raises(Unsupported, match="only fresh ones undo"):
        captured(eager, recorder())


def test_a_snippet_cannot_be_recorded() -> None:
    with pytest.raises(Unsupported, match="snippet"):
        captured(snippet.prepare({"stmt": "pass"}), recorder())


def failing(message: str) -> tuple[Prepared, FakeAccelerator]:
    device = recorder()

    def capture(call: Any) -> Any:
        raise RuntimeError(message)

    device.capture = capture  # type: ignore[method-assign]
    return call_of(lambda: None), device


class Replaying(Cpu):
    """What a replay is to all who watch the host: nothing allocated, nothing dispatched."""

    def capture_stream(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def capture(self, call: Any) -> tuple[Any, Any]:
        result = call()
        return lambda: None, result


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_memory_and_operations_are_those_of_the_call_that_was_recorded(
    monkeypatch: pytest.MonkeyPatch, direction: str
) -> None:
    monkeypatch.setattr(measure, "device_for", Replaying)
    matrix = tensor(8, 8, requires_grad=direction == "backward")
    case = {"op": "torch.mm", "args": [matrix, matrix], "direction": direction}
    knobs = plan(samples=2, warmup_calls=1, calls_per_sample=1, memory=True, flops=True, check=True)

    def found(cuda_graph: bool) -> dict[str, float]:
        request = {"case": case, "plan": {**knobs, "cuda_graph": cuda_graph}, "work_id": "w"}
        reply = measure.measure_case(request, ())
        assert reply["status"] == "ok", reply
        assert not [each for each in reply["warnings"] if each["code"].endswith("_unknown")]
        kept = ("memory.peak", "memory.total", "memory.allocations", "flops", "bytes.moved", "check.error")
        return {metric["tag"]: metric["value"] for metric in reply["metrics"] if metric["tag"] in kept}

    assert len(found(True)) == 6
    assert found(True) == found(False)


def test_what_cannot_be_recorded_is_unsupported_with_the_reason() -> None:
    with pytest.raises(
        Unsupported, match=r"as a CUDA graph: operation not permitted when stream is capturing$"
    ):
        captured(*failing("operation not permitted when stream is capturing\nCUDA kernel errors might ..."))


def test_too_little_memory_is_not_a_matter_of_graphs() -> None:
    with pytest.raises(RuntimeError, match="out of memory"):
        captured(*failing("CUDA out of memory. Tried to allocate 3 GiB"))


def test_there_are_no_graphs_on_a_cpu() -> None:
    with pytest.raises(Unsupported, match="cuda_graph needs a CUDA device"), Cpu().capture_stream():
        pass
    with pytest.raises(Unsupported, match="cuda_graph needs a CUDA device"):
        Cpu().capture(lambda: None)


def test_the_operator_stays_known_to_other_probes() -> None:
    eager = prepared("torch.exp", tensor(4), device=recorder())
    operator = Operator("my.op", "custom", torch.exp)
    assert captured(replace(eager, operator=operator), recorder()).operator is operator
