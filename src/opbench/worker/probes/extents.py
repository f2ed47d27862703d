"""Which part of a storage a set of views covers: exactly, or not known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Extent(NamedTuple):
    """What a view covers: it begins at `start`, ends `span` bytes later, and has `size_bytes` of those.

    `steps` are (size, stride) of its dimensions where there are gaps, outermost first, so that views that
    cover the same elements in another order (a transpose) are equal.
    """

    start: int
    span: int
    size_bytes: int
    steps: tuple[tuple[int, int], ...] = ()

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + self.span

    @property
    def dense(self) -> bool:
        """Whether there are no gaps in it."""
        return self.span == self.size_bytes


def extent_of(tensor: Any) -> Extent | None:
    """What of its storage a tensor covers; None where its dimensions interleave and are hard to count.

    Elements that several indices lead to (an expanded dimension, overlapping windows) count once.
    """
    item_bytes = tensor.element_size()
    start = tensor.storage_offset() * item_bytes
    if tensor.numel() == 0:
        return Extent(start, 0, 0)
    steps = [
        (size, stride)
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
        if size != 1 and stride != 0
    ]
    steps.sort(key=lambda step: step[1])
    reach = count = 1
    overlaps = gaps = False
    for size, stride in steps:
        overlaps = overlaps or stride < reach
        gaps = gaps or stride > reach
        reach += (size - 1) * stride
        count *= size
    if overlaps and gaps:
        return None
    span = reach * item_bytes
    return (
        Extent(start, span, count * item_bytes, tuple(reversed(steps))) if gaps else Extent(start, span, span)
    )


def covered(extents: Iterable[Extent]) -> int | None:
    """Bytes of a storage that these views cover together; None where that is hard to count."""
    ordered = sorted(
        {extent for extent in extents if extent.size_bytes},
        key=lambda extent: (extent.start, -extent.span, -extent.size_bytes),
    )
    total = end = 0
    gapless = False
    for extent in ordered:
        if extent.start >= end:
            total += extent.size_bytes
        elif gapless and extent.end <= end:
            continue
        elif gapless and extent.dense:
            total += extent.end - end
        else:
            return None
        end, gapless = extent.end, extent.dense
    return total
