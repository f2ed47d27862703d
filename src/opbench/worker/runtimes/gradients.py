"""Calls for the directions `backward` and `forward_backward`: fixed cotangents, `torch.autograd.grad`."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from opbench.worker.errors import Unsupported
from opbench.worker.runtimes.call import Call, Place
from opbench.worker.runtimes.outputs import distinct, tensors_in
from opbench.worker.runtimes.prepared import Prepared, body_of

# How torch says that an operator has no derivative for one of its arguments.
NO_DERIVATIVE = (
    re.compile(r"is not differentiable with respect to argument '(\w+)'"),
    re.compile(r"the derivative for '(?:\w+: )?(\w+)' is not implemented"),
)


class Trial(NamedTuple):
    """The first forward and backward: outputs by their paths in source, and what depends on what."""

    outputs: list[tuple[str, Any]]
    inputs: tuple[Any, ...]
    cotangents: tuple[Any, ...]
    forward_s: float
    backward_s: float
    held: tuple[Place, ...]

    @property
    def tensors(self) -> tuple[Any, ...]:
        """The outputs alone."""
        return tuple(tensor for _, tensor in self.outputs)


def ready() -> None:
    """Import what torch's first backward imports (sympy, 0.3 s): no case's first call is to pay for it."""
    with contextlib.suppress(ImportError):
        importlib.import_module("torch.fx.experimental.symbolic_shapes")


def backward(call: Call, builder: Any, device: Any) -> Prepared:
    """Backward alone: the graph is built once, and every call runs backward through it."""
    import torch

    trial = _trial(call, builder, device)
    outputs, inputs, cotangents = trial.tensors, trial.inputs, trial.cotangents
    names = {"grad": torch.autograd.grad, "outputs": outputs, "inputs": inputs, "cotangents": cotangents}
    return Prepared(
        body=body_of("grad(outputs, inputs, cotangents, retain_graph=True)", names),
        once=lambda: torch.autograd.grad(outputs, inputs, cotangents, retain_graph=True),
        direction="backward",
        function=call.function,
        arguments=(call.args, call.kwargs),
        inputs=distinct([*call.tensors(), *inputs, *cotangents]),
        first_call_s=trial.backward_s,
        provenance=_provenance(call, trial),
    )


def forward_backward(call: Call, builder: Any, device: Any) -> Prepared:
    """Forward and backward in every call."""
    import torch

    trial = _trial(call, builder, device)
    paths = [path for path, _ in trial.outputs]
    inputs, cotangents = trial.inputs, trial.cotangents
    first_call_s, provenance = trial.forward_s + trial.backward_s, _provenance(call, trial)
    # Its graph and outputs are not to lie about while others are measured.
    del trial
    source, names = call.source()
    names |= {"grad": torch.autograd.grad, "inputs": inputs, "cotangents": cotangents}
    if paths == ["r"]:
        source = f"grad(({source},), inputs, cotangents)"
    else:
        # The last result must not live on beside the next one.
        listed = "".join(path + ", " for path in paths)
        source = f"r = {source}\ngrad(({listed}), inputs, cotangents)\ndel r"
    pool = call.pool(device.pool_bytes)

    def once() -> Any:
        mine = call if pool is None else call.with_entry(pool.first())
        outputs = [tensor for _, tensor in _differentiable(mine(), mine)]
        return torch.autograd.grad(outputs, inputs, cotangents)

    return Prepared(
        body=body_of(source, names, call.written_names()),
        once=once,
        direction="forward_backward",
        function=call.function,
        arguments=(call.args, call.kwargs),
        inputs=distinct([*call.tensors(), *inputs, *cotangents]),
        pool=pool,
        first_call_s=first_call_s,
        provenance=provenance,
    )


def _trial(call: Call, builder: Any, device: Any) -> Trial:
    """Run forward and backward once, holding fixed what torch has no derivative for."""
    ready()
    held: list[Place] = []
    while True:
        try:
            return _tried(call, builder, device, tuple(held))
        except RuntimeError as error:
            place = _without_derivative(error, call)
            if place is None or not _other_leaves(call, place):
                raise
            for _, tensor in tensors_in(call.at(place)):
                tensor.requires_grad_(False)
            held.append(place)


def _tried(call: Call, builder: Any, device: Any, held: tuple[Place, ...]) -> Trial:
    import torch

    leaves = _leaves(call)
    # What the call writes to becomes its own output, so the gradient is that of what it was copied from.
    copied = call.on_copies()
    device.synchronize()
    forward_s = _timed(device)
    result = copied()
    forward = forward_s()
    outputs = _differentiable(result, copied)
    tensors = [tensor for _, tensor in outputs]
    cotangents = _cotangents(tensors, builder)
    device.synchronize()
    backward_s = _timed(device)
    gradients = torch.autograd.grad(tensors, leaves, cotangents, retain_graph=True, allow_unused=True)
    backward = backward_s()
    used = tuple(leaf for leaf, gradient in zip(leaves, gradients, strict=True) if gradient is not None)
    if not used:
        raise Unsupported("there is no backward: the outputs depend on none of the inputs")
    return Trial(outputs, used, cotangents, forward, backward, held)


def _timed(device: Any) -> Callable[[], float]:
    start = perf_counter()

    def elapsed_s() -> float:
        device.synchronize()
        return perf_counter() - start

    return elapsed_s


def _without_derivative(error: RuntimeError, call: Call) -> Place | None:
    """The argument that an error says has no derivative, if it wants one because nobody said otherwise."""
    found = next((match for pattern in NO_DERIVATIVE if (match := pattern.search(str(error)))), None)
    place = call.place_of(found.group(1)) if found else None
    if place is None or place not in call.open:
        return None
    wanting = [tensor for _, tensor in tensors_in(call.at(place)) if tensor.requires_grad]
    return place if wanting and all(tensor.is_leaf for tensor in wanting) else None


def _other_leaves(call: Call, place: Place) -> bool:
    mine = {id(tensor) for _, tensor in tensors_in(call.at(place))}
    return any(tensor.requires_grad and id(tensor) not in mine for tensor in call.tensors())


def _leaves(call: Call) -> list[Any]:
    leaves = [tensor for tensor in call.tensors() if tensor.requires_grad]
    if not leaves:
        raise Unsupported(
            "there is no backward: no argument and no parameter is a number that could have a gradient"
        )
    return leaves


def _differentiable(result: Any, call: Call) -> list[tuple[str, Any]]:
    """The outputs that have a graph, with their paths as source; `r` is what the call returned.

    A call that returns nothing but writes to its arguments has those as outputs.
    """
    found = [("r" + path, tensor) for path, tensor in tensors_in(result)]
    found = found or list(_written(call))
    if not found:
        raise Unsupported("there is no backward: the call gives no tensor")
    seen: dict[int, tuple[str, Any]] = {}
    for path, tensor in found:
        if tensor.requires_grad:
            seen.setdefault(id(tensor), (path, tensor))
    if not seen:
        raise Unsupported(
            "there is no backward: nothing that the call gives depends on its inputs differentiably"
        )
    return list(seen.values())


def _written(call: Call) -> Iterator[tuple[str, Any]]:
    for place in call.written:
        name = call.name_of(place)
        yield from ((name + path, tensor) for path, tensor in tensors_in(call.at(place)))


def _cotangents(outputs: Sequence[Any], builder: Any) -> tuple[Any, ...]:
    return tuple(_cotangent(output, builder, f"cotangents[{place}]") for place, output in enumerate(outputs))


def _cotangent(output: Any, builder: Any, path: str) -> Any:
    """A random tensor like the output, the same for the same case everywhere."""
    import torch

    spec = {
        "type": "tensor",
        "shape": list(output.shape),
        "dtype": str(output.dtype).removeprefix("torch."),
        "fill": {"kind": "normal"},
        "requires_grad": False,
        "device": str(output.device),
    }
    cotangent = builder.value(spec, path)
    if output.layout != torch.strided:
        return cotangent.to_sparse(layout=output.layout)
    # As a framework would have it: gradients are laid out like the output, where that has no overlaps.
    laid_out = torch.empty_like(output)
    return cotangent if cotangent.stride() == laid_out.stride() else laid_out.detach().copy_(cotangent)


def _provenance(call: Call, trial: Trial) -> dict[str, Any]:
    names = call.names
    held = [names[place] if isinstance(place, int) and place < len(names) else place for place in trial.held]
    return {"without_derivative": held} if held else {}
