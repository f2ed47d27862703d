"""What is timed of a model, forward or a whole step of training, and how it is undone."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Agreement(NamedTuple):
    """How far two results are apart; `agrees` is None where chance decides, or where nothing compares."""

    max_abs_difference: float | None
    agrees: bool | None
    note: str = ""


class Step:
    """One call of a model: `model(*inputs)`, or forward, loss, backward and the optimizer's step."""

    def __init__(
        self, model: Callable[..., Any], inputs: tuple[Any, ...], optimizer: Any, loss_fn: Any
    ) -> None:
        self.model = model
        self.inputs = inputs
        self.training = optimizer is not None
        self._optimizer = optimizer
        self._loss_fn = loss_fn
        self._parameters = _parameters(model, optimizer)

    @property
    def device(self) -> Any:
        """Where the work is done."""
        import torch

        tensors = [*_tensors(self.inputs), *self._parameters]
        return tensors[0].device if tensors else torch.device("cpu")

    def call(self, model: Callable[..., Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """What to time, with its arguments, for the model as it is or compiled."""
        if not self.training:
            return model, self.inputs

        def train() -> None:
            self._backward(model)
            self._optimizer.step()
            self._optimizer.zero_grad()

        return train, ()

    def once(self, model: Callable[..., Any]) -> None:
        """Make one call."""
        function, args = self.call(model)
        function(*args)

    def loss(self, model: Callable[..., Any]) -> Any:
        """What training makes smaller: by `loss_fn`, else the sum of the output."""
        output = model(*self.inputs)
        return output.sum() if self._loss_fn is None else self._loss_fn(output)

    def _backward(self, model: Callable[..., Any]) -> Any:
        loss = self.loss(model)
        loss.backward()
        return loss

    @contextlib.contextmanager
    def undone(self) -> Iterator[Callable[[], None]]:
        """Put numbers, gradients and the optimizer back as they were; what it gives does so at any time.

        The same tensors keep their places, because model and optimizer refer to them.
        """
        import torch

        kept = _Kept([*_tensors(self.inputs), *_buffers(self.model), *self._parameters])
        gradients = [_copied(parameter.grad) for parameter in self._parameters]
        state = copy.deepcopy(self._optimizer.state_dict()) if self.training else None
        device = self.device

        def restore() -> None:
            kept.restore()
            for parameter, gradient in zip(self._parameters, gradients, strict=True):
                parameter.grad = _copied(gradient)
            if state is not None:
                # What is loaded becomes the optimizer's own, and changes with its steps.
                self._optimizer.load_state_dict(copy.deepcopy(state))

        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            try:
                yield restore
            finally:
                restore()

    def outcome(self, model: Callable[..., Any], seed: int) -> list[Any]:
        """What a call gives: its tensors; in training, the loss and all gradients."""
        import torch

        torch.manual_seed(seed)
        if not self.training:
            return [_copied(tensor) for tensor in _tensors(model(*self.inputs))]
        self._optimizer.zero_grad()
        found = [self._backward(model), *(parameter.grad for parameter in self._parameters)]
        return [_copied(tensor) for tensor in found]


def compared(found: list[Any], expected: list[Any], expected_of_chance: list[Any]) -> Agreement:
    """How results compare with those of the model as it is, and with those that another seed gives it."""
    if not any(tensor is not None for tensor in expected):
        return Agreement(None, None, "the model gives no tensors to compare")
    chance, _ = _difference(expected_of_chance, expected)
    if not chance:
        return Agreement(None, None, "results are up to chance, so that nothing can be compared")
    same, apart = _difference(found, expected)
    return Agreement(apart, same)


def _difference(found: list[Any], expected: list[Any]) -> tuple[bool, float | None]:
    """Whether all tensors agree, and how far numbers are apart at most."""
    if [_kind(tensor) for tensor in found] != [_kind(tensor) for tensor in expected]:
        return False, None
    pairs = [_apart(one, other) for one, other in zip(found, expected, strict=True) if one is not None]
    return all(same for same, _ in pairs), max((apart for _, apart in pairs), default=0.0)


def _apart(found: Any, expected: Any) -> tuple[bool, float]:
    import torch

    if expected.numel() == 0:
        return True, 0.0
    exact = not (expected.is_floating_point() or expected.is_complex())
    wide = torch.complex128 if expected.is_complex() else torch.float64
    one, other = _plain(found).to(wide), _plain(expected).to(wide)
    odd = ~torch.isfinite(other)
    # Infinities and what is no number must be at the same places, and count for nothing else.
    same_odd = bool(torch.equal(odd, ~torch.isfinite(one)))
    usual = ~odd & torch.isfinite(one)
    if not bool(usual.any()):
        return same_odd, 0.0
    apart = float((one - other)[usual].abs().max())
    allowed = 0.0 if exact else torch.finfo(expected.dtype).eps ** 0.5 * float(other[usual].abs().max())
    return same_odd and apart <= allowed, apart


def _kind(tensor: Any) -> Any:
    return None if tensor is None else (tuple(tensor.shape), tensor.dtype)


def _plain(tensor: Any) -> Any:
    return tensor if str(tensor.layout) == "torch.strided" else tensor.to_dense()


class _Kept:
    """Tensors with copies of their numbers."""

    def __init__(self, tensors: list[Any]) -> None:
        unique = {id(tensor): tensor for tensor in tensors if _writable(tensor)}
        self._copies = [(tensor, _copied(tensor)) for tensor in unique.values()]

    def restore(self) -> None:
        """Copy all back. Compiled code may write without a trace in a tensor's version."""
        import torch

        with torch.no_grad():
            for tensor, copied in self._copies:
                tensor.copy_(copied)


def _writable(tensor: Any) -> bool:
    """Whether a model can have written to it: not where it is expanded, nor outside inference mode."""
    if tensor.is_inference():
        return False
    strided = str(tensor.layout) == "torch.strided"
    return not strided or 0 not in (
        step for step, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1
    )


def _copied(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach().clone()


def _tensors(tree: Any) -> list[Any]:
    import torch
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _buffers(model: Any) -> list[Any]:
    import torch

    return list(model.buffers()) if isinstance(model, torch.nn.Module) else []


def _parameters(model: Any, optimizer: Any) -> list[Any]:
    import torch

    found = list(model.parameters()) if isinstance(model, torch.nn.Module) else []
    for group in optimizer.param_groups if optimizer is not None else ():
        found += group["params"]
    return list({id(parameter): parameter for parameter in found}.values())
