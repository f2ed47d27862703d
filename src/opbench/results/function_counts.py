"""Instruction counts by function, and arithmetic on them: what differs between two runs, and by how much."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, overload

from opbench.cases.errors import ArgumentError

# Rows shown at either end where all would be too many, and the fewest columns of a function's name.
_SHOWN_AT_ENDS = 9
_LEAST_NAME_WIDTH = 40
_GAP = " ... "
_DEFAULT_LINE_WIDTH = 80

# Looking a name up in a dict takes more or fewer steps with the addresses and hashes of a process. This is
# what the functions that do it are called: up to CPython 3.10, whatever begins so ...
_OLD_LOOKUPS = "dictobject.c:lookdict_unicode"
# ... and from 3.11 on. Where the interpreter was stripped, only names that nothing else has will do.
_STRIPPED_LOOKUPS = r"unicodekeys_lookup_\w+|_Py_dict_lookup\w*|_PyDictKeys_StringLookup\w*"
_NEW_LOOKUPS = re.compile(
    rf"\?\?\?:(?:{_STRIPPED_LOOKUPS})\b"
    rf"|dictobject\.c:(?:{_STRIPPED_LOOKUPS}|do_lookup|compare_unicode_unicode\w*)\b"
)


class FunctionCount(NamedTuple):
    """So many instructions in this function."""

    count: int  # type: ignore[assignment]  # it hides tuple.count, as torch's does
    function: str


@dataclass(repr=False, frozen=True)
class FunctionCounts:
    """Instruction counts by function, the largest first.

    `inclusive` counts hold what a function calls as well, so that only the others add up to a total.
    """

    _data: tuple[FunctionCount, ...]
    inclusive: bool
    truncate_rows: bool = field(default=True, compare=False)
    # None: as wide as torch prints tensors.
    _linewidth: int | None = field(default=None, compare=False)

    def __iter__(self) -> Iterator[FunctionCount]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    @overload
    def __getitem__(self, item: int) -> FunctionCount: ...
    @overload
    def __getitem__(self, item: slice) -> FunctionCounts: ...
    def __getitem__(self, item: int | slice) -> FunctionCount | FunctionCounts:
        if isinstance(item, slice):
            return FunctionCounts(self._data[item], self.inclusive, truncate_rows=False)
        return self._data[item]

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._combined(other, 1)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._combined(other, -1)

    def __mul__(self, other: int | float) -> FunctionCounts:
        if isinstance(other, bool) or not isinstance(other, int | float):
            return NotImplemented
        if not math.isfinite(other):
            raise ArgumentError(f"counts can be multiplied by a finite number only, not by {other!r}")
        return _summed(((int(count * other), name) for count, name in self), self.inclusive)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        # One column more than needed for what is negative; it is how torch aligns them.
        width = max((len(str(count)) + (count < 0) for count, _ in self), default=0)
        name_width = max((self._linewidth or _line_width()) - width - 4, _LEAST_NAME_WIDTH)
        rows = [f"  {count:>{width}}  {_middle_cut(name, name_width)}" for count, name in self]
        if self.truncate_rows and len(rows) > 2 * _SHOWN_AT_ENDS:
            rows = [*rows[:_SHOWN_AT_ENDS], "...".rjust(width + 2), *rows[-_SHOWN_AT_ENDS:]]
        total = [] if self.inclusive else ["", f"Total: {self.sum()}"]
        return "\n".join([object.__repr__(self), *rows, *total])

    def sum(self) -> int:
        """All counts together; a total only where they are exclusive."""
        return sum(count for count, _ in self)

    def transform(self, map_fn: Callable[[str], str]) -> FunctionCounts:
        """Rename all functions; the counts of those that get one name are added up."""
        return _summed(((count, map_fn(name)) for count, name in self), self.inclusive)

    def filter(self, filter_fn: Callable[[str], bool]) -> FunctionCounts:
        """Only the functions for whose name `filter_fn` is true."""
        return FunctionCounts(tuple(item for item in self if filter_fn(item.function)), self.inclusive)

    def denoise(self) -> FunctionCounts:
        """Without the dict lookups of CPython, whose count differs from process to process."""
        return self.filter(lambda name: _OLD_LOOKUPS not in name and not _NEW_LOOKUPS.search(name))

    def _combined(self, other: FunctionCounts, sign: int) -> FunctionCounts:
        if not isinstance(other, FunctionCounts):
            return NotImplemented
        if self.inclusive != other.inclusive:
            raise ArgumentError("inclusive counts can only be added to and subtracted from inclusive ones")
        signed = ((sign * count, name) for count, name in other)
        return _summed((*self, *signed), self.inclusive)


def _summed(items: Iterable[tuple[int, str]], inclusive: bool) -> FunctionCounts:
    counts: dict[str, int] = {}
    for count, name in items:
        counts[name] = counts.get(name, 0) + count
    found = (FunctionCount(count, name) for name, count in counts.items() if count)
    return FunctionCounts(tuple(sorted(found, reverse=True)), inclusive)


def _middle_cut(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    head = (width - len(_GAP)) // 2
    return name[:head] + _GAP + name[head + len(_GAP) - width :]


def _line_width() -> int:
    # Only where torch has been imported can somebody have told it how wide to print.
    options = getattr(sys.modules.get("torch._tensor_str"), "PRINT_OPTS", None)
    width = getattr(options, "linewidth", None)
    return width if isinstance(width, int) and width > 0 else _DEFAULT_LINE_WIDTH
