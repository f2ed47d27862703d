"""Eager torch: an operator is called as a person would call it; a snippet runs as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opbench.worker.errors import Unsupported
from opbench.worker.mutation import mutated
from opbench.worker.registry import hooked_arguments
from opbench.worker.runtimes import gradients, snippet
from opbench.worker.runtimes.call import Call, Place, call_of
from opbench.worker.runtimes.prepared import Prepared, body_of


def prepare(case: Mapping[str, Any], builder: Any, operator: Any, device: Any) -> Prepared:
    """Build the inputs of a case (and its module, if it has one) and make it callable."""
    if operator is None:
        return snippet.prepare(case)
    return directed(built(case, builder, operator, device), case, builder, operator, device)


def directed(call: Call, case: Mapping[str, Any], builder: Any, operator: Any, device: Any) -> Prepared:
    """A call in the direction of its case."""
    direction = case.get("direction", "forward")
    of_torch = operator.kind == "function" and operator.name.startswith("torch.")
    if direction != "forward" and of_torch and call.kwargs.get("out") is not None:
        raise Unsupported("there is no backward: torch does not differentiate a call that writes to `out`")
    if direction == "backward":
        return gradients.backward(call, builder, device)
    if direction == "forward_backward":
        return gradients.forward_backward(call, builder, device)
    return forward(call, device)


def built(case: Mapping[str, Any], builder: Any, operator: Any, device: Any) -> Call:
    """The call of a case, with its inputs, and its module on the device."""
    function: Any = operator.function
    if operator.kind == "module":
        build = case.get("build") or {}
        args, kwargs = builder.arguments(build.get("args", []), build.get("kwargs", {}), "build")
        function = function(*args, **kwargs)
        function = _moved(function, device.name, build.get("dtype", ""))
    elif case.get("build"):
        raise Unsupported(
            f"{operator.name} is a function: it is called, not built, and takes no build arguments"
        )
    args, kwargs = builder.arguments(case.get("args", []), case.get("kwargs", {}))
    if operator.fill is not None or operator.setup is not None:
        given = _by_place(args, kwargs)
        args, kwargs = hooked_arguments(operator, args, kwargs, builder.seed)
        _with_gradients(given, _by_place(args, kwargs))
    written = mutated(operator, args, kwargs, function)
    return call_of(function, args, kwargs, written, operator.parameters, _open_places(case))


def _moved(module: Any, device: str, dtype: str) -> Any:
    """The module on the device, and in the dtype if one is given."""
    if not hasattr(module, "to"):
        if dtype:
            raise Unsupported(f"a {type(module).__qualname__} has no `to` that could make it {dtype}")
        return module
    if not dtype:
        return module.to(device)
    from opbench.worker.dtypes import dtype_named

    return module.to(device, dtype_named(dtype))


def forward(call: Call, device: Any) -> Prepared:
    """A call, and nothing after it."""
    pool = call.pool(device.pool_bytes)
    source, names = call.source()
    return Prepared(
        body=body_of(source, names, call.written_names()),
        once=call if pool is None else lambda: call.with_entry(pool.first())(),
        function=call.function,
        arguments=(call.args, call.kwargs),
        inputs=call.tensors(),
        pool=pool,
    )


def _open_places(case: Mapping[str, Any]) -> frozenset[Place]:
    specs = _by_place(case.get("args", []), case.get("kwargs", {}))
    return frozenset(place for place, spec in specs.items() if spec.get("requires_grad") is None)


def _by_place(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[Place, Any]:
    places: dict[Place, Any] = dict(enumerate(args))
    places.update(kwargs)
    return places


def _with_gradients(given: Mapping[Place, Any], new: Mapping[Place, Any]) -> None:
    """What a hook put in the place of an argument wants a gradient where that did."""
    for place, value in new.items():
        old = given.get(place)
        replaced = value is not old and getattr(old, "requires_grad", False)
        if replaced and hasattr(value, "requires_grad_") and value.is_leaf and _may_have_gradient(value):
            value.requires_grad_()


def _may_have_gradient(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())
