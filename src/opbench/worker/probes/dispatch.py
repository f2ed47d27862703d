"""Watching which of torch's operators a call is made of, with their arguments and results."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

# (operator overload, args, kwargs, result) of every operator that is dispatched, in order.
Watcher: TypeAlias = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]


def watched(call: Callable[[], Any], watch: Watcher, whole: Callable[[Any], bool]) -> Any:
    """Make the call, telling `watch` of every operator in it; give its result.

    `whole` says of an operator packet whether it is to be seen as it is rather than as the parts that it is
    composed of.
    """
    with _mode_class()(watch, whole):
        return call()


def name_of(func: Any) -> str:
    """The name of an operator overload without its overload, as `aten.mm`."""
    return str(getattr(func, "_overloadpacket", func))


@lru_cache(maxsize=1000)
def is_composite(func: Any) -> bool:
    """Whether an operator is nothing but calls of others.

    What torch only has as a way to take an operator apart, for compilers, is not what runs here.
    """
    import torch

    if not isinstance(func, torch._ops.OpOverload):
        return False
    key = "CompositeImplicitAutograd"
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key))


@lru_cache(maxsize=1)
def _mode_class() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):  # type: ignore[misc]
        """Passes every operator on and tells of it."""

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # Otherwise torch imports its compiler, which takes a second in every fresh process; that is
            # what torch's own FlopCounterMode costs.
            return False

        def __init__(self, watch: Watcher, whole: Callable[[Any], bool]) -> None:
            super().__init__()
            self._watch = watch
            self._whole = whole

        def __torch_dispatch__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            kwargs = kwargs or {}
            if is_composite(func) and not self._whole(func._overloadpacket):
                # In inference mode composite operators arrive whole.
                with self:
                    result = func.decompose(*args, **kwargs)
                if result is not NotImplemented:
                    return result
            result = func(*args, **kwargs)
            self._watch(func, args, kwargs, result)
            return result

    return Mode
