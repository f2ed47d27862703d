"""Fresh operands for calls that write to their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

# What a tensor takes beside its numbers: the objects that describe it, in Python and below.
TENSOR_BYTES = 1 << 10
# What tensors without memory of their own (sparse ones, some subclasses) raise when they are asked for it.
NO_MEMORY = (NotImplementedError, RuntimeError)


class Operands:
    """Copies of the values that calls write to: one entry for each call of a block.

    An entry is the one copy, or a tuple of them where several values are written. Copies keep strides and
    offsets, and values that share memory share it in the copies too. They are made when first needed, at
    most `room` of them: `room_bytes` says how much memory they may take, given what one entry takes.
    """

    def __init__(self, originals: Sequence[Any], room_bytes: Callable[[int], int]) -> None:
        self._originals = tuple(originals)
        tensors = _tensors(self._originals)
        size_bytes = sum(_storage_bytes(tensor) + TENSOR_BYTES for tensor in tensors)
        self.room = max(1, room_bytes(size_bytes) // size_bytes) if size_bytes else 1
        self._shape = _description(self._originals)
        # Where copying numbers restores everything: the flat bytes of each entry, copy and original.
        self._plain = all(is_plain(tensor) for tensor in tensors)
        self._flat: list[list[tuple[Any, Any]]] = []
        self._entries: list[Any] = []
        self._written = 0

    def fresh(self, count: int) -> Sequence[Any]:
        """So many entries with their original values, to be written to."""
        self.restore()
        while len(self._entries) < count:
            self._add()
        self._written = count
        return self._entries[:count]

    def first(self) -> Any:
        """The first entry as it is, to be written to."""
        if not self._entries:
            self._add()
        self._written = max(self._written, 1)
        return self._entries[0]

    def blank(self, count: int) -> Sequence[Any]:
        """So many entries that nobody will write to, whatever is in them."""
        while len(self._entries) < count:
            self._add()
        return self._entries[:count]

    def keep_one(self) -> None:
        """Have room for one entry only."""
        self.room = 1

    def restore(self) -> None:
        """Give what was written to its original value back."""
        count, self._written = self._written, 0
        if count == 0:
            return
        first = self._entries[0] if len(self._originals) > 1 else (self._entries[0],)
        # Resized, transposed, or part of a graph now: a copy of the numbers would not undo that.
        if not self._plain or _description(first) != self._shape:
            for place in range(count):
                self._entries[place], self._flat[place] = self._copy()
            return
        import torch

        with torch.no_grad():
            for pairs in self._flat[:count]:
                for copy, original in pairs:
                    copy.copy_(original)

    def _add(self) -> None:
        entry, flat = self._copy()
        self._entries.append(entry)
        self._flat.append(flat)

    def _copy(self) -> tuple[Any, list[tuple[Any, Any]]]:
        copies = Copies()
        entry = tuple(copies.of(value) for value in self._originals)
        return (entry if len(entry) > 1 else entry[0]), copies.flat


class Copies:
    """Copies values; what shared memory before shares it again."""

    def __init__(self) -> None:
        # Pairs of (copy, original) storages as flat bytes.
        self.flat: list[tuple[Any, Any]] = []
        self._tensors: dict[int, Any] = {}
        self._storages: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        """A copy of a value, with everything in it."""
        import torch

        if isinstance(value, torch.Tensor):
            if id(value) not in self._tensors:
                self._tensors[id(value)] = self._tensor(value)
            return self._tensors[id(value)]
        if type(value) in (list, tuple):
            return type(value)(self.of(item) for item in value)
        if type(value) is dict:
            return {key: self.of(item) for key, item in value.items()}
        return value

    def _tensor(self, tensor: Any) -> Any:
        import torch

        if not is_plain(tensor):
            # Where a gradient is wanted this is no leaf, as it must not be to be written to.
            return tensor.clone()
        storage = tensor.untyped_storage()
        key = storage.data_ptr()
        if key not in self._storages:
            self._storages[key] = storage.clone()
            self.flat.append((_bytes_of(self._storages[key], tensor), _bytes_of(storage, tensor)))
        copy = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return copy.set_(self._storages[key], tensor.storage_offset(), tensor.shape, tensor.stride())


def written_places(
    args: Sequence[Any], kwargs: Mapping[str, Any], written: Iterable[int | str]
) -> tuple[int | str, ...]:
    """Arguments that must be fresh for every call: those written to, and those that share their memory.

    An `out` that is nobody's input may be written again and again.
    """
    places: dict[int | str, Any] = dict(enumerate(args))
    places.update(kwargs)
    memory = {place: {_memory_key(tensor) for tensor in _tensors(value)} for place, value in places.items()}
    chosen: dict[int | str, None] = {}
    for place in written:
        mine = memory.get(place, set())
        sharing = [other for other, theirs in memory.items() if other != place and mine & theirs]
        if mine and (place != "out" or sharing):
            chosen.update(dict.fromkeys([place, *sharing]))
    return tuple(place for place in places if place in chosen)


def _tensors(value: Any) -> list[Any]:
    from opbench.worker.runtimes.outputs import distinct, tensors_in

    return list(distinct([tensor for _, tensor in tensors_in(value)]))


def is_plain(tensor: Any) -> bool:
    """Whether the tensor is a view of a storage and nothing more, so that copying the storage copies it."""
    import torch

    return (
        type(tensor) is torch.Tensor
        and tensor.layout == torch.strided
        and not (tensor.requires_grad or tensor.is_quantized or tensor.is_meta)
        and not (tensor.is_conj() or tensor.is_neg())
        and tensor.untyped_storage().data_ptr() != 0
    )


def _memory_key(tensor: Any) -> tuple[str, int]:
    if not hasattr(tensor, "untyped_storage"):
        return "object", id(tensor)
    try:
        address = int(tensor.untyped_storage().data_ptr())
    except NO_MEMORY:
        address = 0
    return ("memory", address) if address else ("object", id(tensor))


def _storage_bytes(tensor: Any) -> int:
    try:
        return int(tensor.untyped_storage().nbytes())
    except NO_MEMORY:
        return int(tensor.numel() * tensor.element_size())


def _bytes_of(storage: Any, tensor: Any) -> Any:
    import torch

    flat = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return flat.set_(storage, 0, (storage.nbytes(),), (1,))


def _description(values: Any) -> list[tuple[Any, ...]]:
    """Everything about the tensors but their numbers."""
    return [
        (tensor.shape, tensor.dtype, tensor.layout, tensor.requires_grad, _view_of(tensor))
        for tensor in _tensors(values)
    ]


def _view_of(tensor: Any) -> tuple[Any, ...]:
    try:
        return tensor.stride(), tensor.storage_offset(), tensor.untyped_storage().nbytes()
    except NO_MEMORY:
        return ()
