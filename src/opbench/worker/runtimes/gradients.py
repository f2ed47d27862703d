"""Calls for the directions `backward` and `forward_backward`: fixed cotangents, `torch.autograd.grad`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from opbench.worker.errors import Unsupported
from opbench.worker.runtimes.operands import Copies, Operands
from opbench.worker.runtimes.outputs import distinct, tensors_in
from opbench.worker.runtimes.prepared import Prepared, body_of, call_name, call_source

Places = tuple["int | str", ...]


def backward(
    function: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    fresh: Places,
    builder: Any,
    device: Any,
) -> Prepared:
    """Backward alone: the graph is built once, and every call runs backward through it."""
    import torch

    leaves = _leaves(function, args, kwargs)
    args, kwargs = _unshared(args, kwargs, fresh)
    result = function(*args, **kwargs)
    device.synchronize()
    outputs = [tensor for _, tensor in _differentiable(result, args, kwargs, fresh)]
    cotangents = _cotangents(outputs, builder)
    start = perf_counter()
    gradients = torch.autograd.grad(outputs, leaves, cotangents, retain_graph=True, allow_unused=True)
    device.synchronize()
    first_call_s = perf_counter() - start
    inputs = _used(leaves, gradients)
    names = {
        "grad": torch.autograd.grad,
        "outputs": tuple(outputs),
        "inputs": inputs,
        "cotangents": cotangents,
    }
    source = "grad(outputs, inputs, cotangents, retain_graph=True)"

    def once() -> Any:
        return torch.autograd.grad(tuple(outputs), inputs, cotangents, retain_graph=True)

    return Prepared(
        body=body_of(source, names),
        once=once,
        direction="backward",
        function=function,
        arguments=(args, kwargs),
        inputs=distinct([*_parts(args, kwargs), *leaves, *cotangents]),
        first_call_s=first_call_s,
    )


def forward_backward(
    function: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    fresh: Places,
    builder: Any,
    device: Any,
) -> Prepared:
    """Forward and backward in every call."""
    import torch

    leaves = _leaves(function, args, kwargs)
    trial_args, trial_kwargs = _unshared(args, kwargs, fresh)
    start = perf_counter()
    result = function(*trial_args, **trial_kwargs)
    device.synchronize()
    forward_s = perf_counter() - start
    found = _differentiable(result, trial_args, trial_kwargs, fresh)
    outputs = [tensor for _, tensor in found]
    cotangents = _cotangents(outputs, builder)
    start = perf_counter()
    gradients = torch.autograd.grad(outputs, leaves, cotangents, allow_unused=True)
    device.synchronize()
    first_call_s = forward_s + perf_counter() - start
    inputs = _used(leaves, gradients)
    del result, outputs, gradients

    call, names = call_source(args, kwargs)
    names |= {"f": function, "grad": torch.autograd.grad, "inputs": inputs, "cotangents": cotangents}
    paths = [path for path, _ in found]
    if paths == ["r"]:
        source = f"grad(({call},), inputs, cotangents)"
    else:
        # The last result must not live on beside the next one.
        source = f"r = {call}\ngrad(({''.join(path + ', ' for path in paths)}), inputs, cotangents)\ndel r"
    fresh_names = tuple(call_name(place, kwargs) for place in fresh)
    pool = Operands([_at(args, kwargs, place) for place in fresh]) if fresh else None

    def once() -> Any:
        own_args, own_kwargs = args, kwargs
        if pool is not None:
            entry = pool.entries[0] if len(fresh) > 1 else (pool.entries[0],)
            own_args, own_kwargs = put(args, kwargs, fresh, entry)
        made = function(*own_args, **own_kwargs)
        kept = [tensor for _, tensor in _differentiable(made, own_args, own_kwargs, fresh)]
        return torch.autograd.grad(kept, inputs, cotangents)

    return Prepared(
        body=body_of(source, names, fresh_names),
        once=once,
        direction="forward_backward",
        function=function,
        arguments=(args, kwargs),
        inputs=distinct([*_parts(args, kwargs), *leaves, *cotangents]),
        pool=pool,
        first_call_s=first_call_s,
    )


def put(
    args: Sequence[Any], kwargs: Mapping[str, Any], places: Places, values: Sequence[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with other values at some places."""
    new_args, new_kwargs = list(args), dict(kwargs)
    for place, value in zip(places, values, strict=True):
        if isinstance(place, int):
            new_args[place] = value
        else:
            new_kwargs[place] = value
    return new_args, new_kwargs


def _at(args: Sequence[Any], kwargs: Mapping[str, Any], place: int | str) -> Any:
    return args[place] if isinstance(place, int) else kwargs[place]


def _unshared(
    args: Sequence[Any], kwargs: Mapping[str, Any], fresh: Places
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    copies = Copies()
    return put(args, kwargs, fresh, [copies.of(_at(args, kwargs, place)) for place in fresh])


def _parts(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    return [tensor for _, tensor in tensors_in([*args, *kwargs.values()])]


def parameters(function: Any) -> list[Any]:
    """The parameters and buffers of a module; nothing for a function."""
    if not hasattr(function, "parameters") or not hasattr(function, "buffers"):
        return []
    return [*function.parameters(), *function.buffers()]


def _leaves(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    candidates = distinct([*_parts(args, kwargs), *parameters(function)])
    leaves = [tensor for tensor in candidates if tensor.requires_grad]
    if not leaves:
        raise Unsupported(
            "there is no backward: no argument and no parameter is a number that could have a gradient"
        )
    return leaves


def _differentiable(
    result: Any, args: Sequence[Any], kwargs: Mapping[str, Any], fresh: Places
) -> list[tuple[str, Any]]:
    """The outputs that have a graph, with their paths as source; `r` is what the call returned.

    A call that returns nothing but writes to its arguments has those as outputs.
    """
    found = [("r" + path, tensor) for path, tensor in tensors_in(result)]
    if not found:
        for place in fresh:
            name = call_name(place, kwargs)
            found += [(name + path, tensor) for path, tensor in tensors_in(_at(args, kwargs, place))]
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


def _used(leaves: Sequence[Any], gradients: Sequence[Any]) -> tuple[Any, ...]:
    used = tuple(leaf for leaf, gradient in zip(leaves, gradients, strict=True) if gradient is not None)
    if not used:
        raise Unsupported("there is no backward: the outputs depend on none of the inputs")
    return used
