"""The bytes that one call must move: every byte of its inputs and outputs, once.

Inputs are the memory that there was before the call and that an operator inside it reads; outputs are
the memory that an operator writes and that is still there afterwards, in the result or in the operands.
What lives only during the call counts nothing. This is the least that any implementation moves. Where it
is not known exactly there is no `bytes.moved` at all: for operators that read or write a part of a tensor
that cannot be counted, for those that are not torch's own, and where torch cannot see what a call does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from opbench.worker.probes.conduct import (
    BLANK_MAKERS,
    OVERWRITERS,
    PARTIAL_READERS,
    PARTIAL_WRITERS,
    REPLACERS,
    UNREAD,
    reads_shape_only,
)
from opbench.worker.probes.dispatch import name_of
from opbench.worker.probes.extents import Extent, covered, extent_of
from opbench.worker.probes.selected import SELECTING
from opbench.worker.probes.windows import skips
from opbench.worker.runtimes.outputs import tensors_in


class Roles(NamedTuple):
    """The tensors of a call by what happens to them."""

    changed: list[Any]
    overwritten: list[Any]
    taken: list[Any]


class Traffic:
    """Follows which memory the operators of a call read and write."""

    def __init__(self, inputs: Iterable[Any]) -> None:
        keys = [storage_key(tensor) for tensor in inputs]
        self._known = None not in keys
        self._before = set(keys)
        self._made: set[int | None] = set()
        self._blank: set[int | None] = set()
        self._overwritten: set[int | None] = set()
        self._reads: dict[int, set[Extent]] = {}
        self._writes: dict[int, set[Extent]] = {}
        self._selected: dict[int | None, int] = {}

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Take in one operator."""
        if not self._known:
            return
        library, _, name = name_of(func).partition(".")
        results = [tensor for _, tensor in tensors_in(result)]
        schema = getattr(func, "_schema", None)
        if schema is None or library not in ("aten", "prims") or None in map(storage_key, results):
            self._known = False
            return
        roles = _roles(name, schema, args, kwargs)
        if name in REPLACERS:
            self._known = all(
                storage_key(tensor) in self._made for tensor in roles.overwritten + roles.changed
            )
            return
        given = {storage_key(tensor) for tensors in roles for tensor in tensors}
        fresh = [tensor for tensor in results if storage_key(tensor) not in given]
        only_views = results and not fresh and not roles.changed and not roles.overwritten
        if only_views or _views_in_place(func):
            return
        if not reads_shape_only(name):
            self._read(name, args, kwargs, results, roles)
        self._write(name, roles)
        for tensor in fresh:
            key = storage_key(tensor)
            self._made.add(key)
            if name.startswith(BLANK_MAKERS):
                self._blank.add(key)
            else:
                self._blank.discard(key)

    def _read(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], results: list[Any], roles: Roles
    ) -> None:
        outside = [tensor for tensor in roles.taken if storage_key(tensor) not in self._made]
        if name in SELECTING and any(tensor is args[0] for tensor in outside):
            self._select(args[0], None if roles.overwritten else SELECTING[name](*args, **kwargs))
            outside = [tensor for tensor in outside if tensor is not args[0]]
        elif outside and (name in PARTIAL_READERS or skips(name, args, results)):
            self._known = False
        for tensor in [*outside, *roles.changed]:
            if storage_key(tensor) in self._overwritten:
                self._known = False
            elif storage_key(tensor) not in self._made:
                self._note(self._reads, tensor)

    def _select(self, table: Any, selected_bytes: int | None) -> None:
        key = storage_key(table)
        if selected_bytes is None or key is None or key in self._selected:
            self._known = False
        else:
            self._selected[key] = selected_bytes

    def _write(self, name: str, roles: Roles) -> None:
        for tensor in [*roles.changed, *roles.overwritten]:
            key = storage_key(tensor)
            if key in self._made:
                self._blank.discard(key)
            elif name in PARTIAL_WRITERS:
                self._known = False
            else:
                self._note(self._writes, tensor)
        keys = map(storage_key, roles.overwritten)
        self._overwritten |= {key for key in keys if key not in self._made and key not in self._reads}

    def _note(self, where: dict[int, set[Extent]], tensor: Any) -> None:
        key = storage_key(tensor)
        extent = None if key is None else extent_of(tensor)
        if key is None or extent is None:
            self._known = False
        else:
            where.setdefault(key, set()).add(extent)

    def moved(self, result: Any) -> tuple[int, int] | None:
        """Bytes read and bytes written by the call that gave this result; None where they are not known."""
        plain = isinstance(result, tuple | list | Mapping | int | float | type(None))
        if not plain and not _is_tensor(result):
            return None  # there may be tensors in it
        kept: dict[int, set[Extent]] = {}
        for _, tensor in tensors_in(result):
            key = storage_key(tensor)
            if key in self._made:
                if key not in self._blank:
                    self._note(kept, tensor)
            elif key not in self._before and key not in self._reads and key not in self._writes:
                self._known = False  # made where torch could not see it
        read, written = _sum(self._reads), _sum({**self._writes, **kept})
        # What is selected from a table that is read elsewhere too may be the same.
        if not self._known or read is None or written is None or self._selected.keys() & self._reads.keys():
            return None
        return read + sum(self._selected.values()), written


def storage_key(tensor: Any) -> int | None:
    """What tells storages apart; None for tensors that are not just a view of one."""
    import torch

    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return None
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested:
        return None
    return int(tensor.untyped_storage()._cdata)


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _views_in_place(func: Any) -> bool:
    import torch

    return torch.Tag.inplace_view in getattr(func, "tags", ())


def _roles(name: str, schema: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Roles:
    roles = Roles([], [], [])
    for position, argument in enumerate(schema.arguments):
        value = args[position] if position < len(args) else kwargs.get(argument.name)
        tensors = [tensor for _, tensor in tensors_in(value)]
        if argument.alias_info is not None and argument.alias_info.is_write:
            overwrites = argument.kwarg_only or name in OVERWRITERS
            (roles.overwritten if overwrites else roles.changed).extend(tensors)
        elif UNREAD.get(name) != position:
            roles.taken.extend(tensors)
    return roles


def _sum(storages: Mapping[int, set[Extent]]) -> int | None:
    sizes = [covered(extents) for extents in storages.values()]
    known = [size_bytes for size_bytes in sizes if size_bytes is not None]
    return sum(known) if len(known) == len(sizes) else None
