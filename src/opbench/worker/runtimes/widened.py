"""The same call in float64: the same numbers in wider types, the same shapes, strides and shared memory."""

from __future__ import annotations

import copy
from typing import Any

from opbench.worker.errors import Unsupported
from opbench.worker.runtimes.operands import is_plain
from opbench.worker.runtimes.outputs import tensors_in


class Widened:
    """Makes wide copies of values. `nudge` shifts every number by this share of it, up or down by chance.

    `changed` says whether there was anything to widen.
    """

    def __init__(self, nudge: bool = False) -> None:
        self.changed = False
        self._nudge = nudge
        self._tensors: dict[int, Any] = {}
        self._storages: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any) -> Any:
        """A wide copy of a value, with everything in it."""
        import torch

        if isinstance(value, torch.Tensor):
            if id(value) not in self._tensors:
                self._tensors[id(value)] = self._tensor(value).requires_grad_(value.requires_grad)
            return self._tensors[id(value)]
        if isinstance(value, torch.dtype):
            return wide(value)
        if type(value) in (list, tuple):
            return type(value)(self.of(item) for item in value)
        if type(value) is dict:
            return {key: self.of(item) for key, item in value.items()}
        if isinstance(value, torch.nn.Module):
            return self._module(value)
        return value

    def _module(self, module: Any) -> Any:
        twin = copy.deepcopy(module)
        for theirs, mine in zip(module.modules(), twin.modules(), strict=True):
            for places in (mine._parameters, mine._buffers):
                for name, tensor in places.items():
                    original = getattr(theirs, name)
                    if tensor is not None:
                        tensor.data = self._tensor(original.detach())
        return twin

    def _tensor(self, tensor: Any) -> Any:
        import torch

        tensor = tensor.detach()
        if tensor.is_quantized:
            return tensor.clone()
        kind = wide(tensor.dtype)
        self.changed = self.changed or kind != tensor.dtype
        if not is_plain(tensor):
            # Sparse, conjugated: nothing that other values share.
            return tensor.to(kind, copy=True)
        storage = tensor.untyped_storage()
        key = storage.data_ptr()
        if key not in self._storages:
            flat = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            flat.set_(storage, 0, (storage.nbytes() // tensor.element_size(),), (1,))
            self._storages[key] = (tensor.dtype, self._nudged(flat.to(kind, copy=True), tensor.dtype))
        dtype, flat = self._storages[key]
        if dtype != tensor.dtype:
            raise Unsupported("its arguments share memory as different dtypes, which float64 has no room for")
        copied = torch.empty(0, dtype=kind, device=tensor.device)
        return copied.set_(flat.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())

    def _nudged(self, numbers: Any, narrow: Any) -> Any:
        import torch

        if not self._nudge or not (narrow.is_floating_point or narrow.is_complex):
            return numbers
        # torch's own generator belongs to the case.
        generator = torch.Generator(numbers.device).manual_seed(numbers.numel())
        signs = torch.randint(0, 2, numbers.shape, generator=generator, device=numbers.device) * 2 - 1
        # In float32, one and half a unit would be one again.
        return numbers.mul_(1.0 + signs.to(torch.float64) * (torch.finfo(narrow).eps / 2))


def wide(dtype: Any) -> Any:
    """float64 or complex128 for numbers with a point, and what it was for all others."""
    import torch

    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


def cotangents_of(prepared: Any) -> list[Any]:
    """What a backward call is given from above."""
    return [tensor for _, tensor in tensors_in(prepared.body.names.get("cotangents", ()))]
