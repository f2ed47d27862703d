"""Eager torch: an operator is called as a person would call it; a snippet runs as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opbench.worker.runtimes import gradients, snippet
from opbench.worker.runtimes.operands import Operands, written_places
from opbench.worker.runtimes.outputs import distinct, tensors_in
from opbench.worker.runtimes.prepared import Prepared, body_of, call_name, call_source


def prepare(case: dict[str, Any], builder: Any, operator: Any, device: Any) -> Prepared:
    """Build the inputs of a case (and its module, if it has one) and make it callable."""
    if operator is None:
        return snippet.prepare(case)
    function = _callable(case, builder, operator, device)
    args, kwargs = builder.arguments(case.get("args", []), case.get("kwargs", {}))
    fresh = written_places(args, kwargs, _written(operator, function, args, kwargs))
    direction = case.get("direction", "forward")
    if direction == "backward":
        return gradients.backward(function, args, kwargs, fresh, builder, device)
    if direction == "forward_backward":
        return gradients.forward_backward(function, args, kwargs, fresh, builder, device)
    return _forward(function, args, kwargs, fresh)


def _callable(case: dict[str, Any], builder: Any, operator: Any, device: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = operator.function
    if operator.kind != "module":
        return function
    build = case.get("build") or {}
    args, kwargs = builder.arguments(build.get("args", []), build.get("kwargs", {}), "build")
    module: Any = function(*args, **kwargs)
    return module.to(device.name)  # type: ignore[no-any-return]


def _written(
    operator: Any, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[int | str, ...]:
    from opbench.worker.resolve import mutated

    written = tuple(mutated(operator, args, kwargs))
    # Whether a module works in place is known only once it is built.
    if operator.kind == "module" and getattr(function, "inplace", False) is True and args:
        written = (0, *written)
    return tuple(dict.fromkeys(written))


def _forward(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], fresh: tuple[int | str, ...]
) -> Prepared:
    call, names = call_source(args, kwargs)
    fresh_names = tuple(call_name(place, kwargs) for place in fresh)
    originals = [args[place] if isinstance(place, int) else kwargs[place] for place in fresh]
    pool = Operands(originals) if fresh else None

    def once() -> Any:
        if pool is None:
            return function(*args, **kwargs)
        entry = pool.entries[0] if len(fresh) > 1 else (pool.entries[0],)
        own_args, own_kwargs = gradients.put(args, kwargs, fresh, entry)
        return function(*own_args, **own_kwargs)

    parts = [tensor for _, tensor in tensors_in([*args, *kwargs.values()])]
    return Prepared(
        body=body_of(call, names | {"f": function}, fresh_names),
        once=once,
        function=function,
        arguments=(args, kwargs),
        inputs=distinct([*parts, *gradients.parameters(function)]),
        pool=pool,
    )
