"""Whether a window that slides over a tensor (a convolution, a pooling) sees all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def skips(name: str, args: tuple[Any, ...], results: Sequence[Any]) -> bool:
    """Whether an operator with a sliding window leaves out some of its input; False for any other one."""
    if name in ("convolution", "_convolution", "convolution_overrideable"):
        taken, weight, _, stride, padding, dilation, transposed = args[:7]
        windows = weight.shape[2:], stride, padding, dilation
        return not transposed and not _covers(taken, results[0], *windows)
    if name == "convolution_backward":
        # Asked for one gradient only, it does not read what the other needs.
        return not all(args[-1][:2])
    if "_pool" in name and "adaptive" not in name and not name.endswith("_backward"):
        kernel, stride, padding, dilation = (
            args[place] if len(args) > place else () for place in range(1, 5)
        )
        kernel = list(kernel) * (3 if "3d" in name else 2) if len(kernel) == 1 else kernel
        # The fourth is something else for an average.
        dilation = dilation if name.startswith("max") else ()
        return not _covers(args[0], results[0], kernel, stride or kernel, padding or (0,), dilation or (1,))
    return False


def _covers(
    taken: Any,
    made: Any,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> bool:
    """Whether every place along every dimension is in some window."""
    dimensions = len(kernel)
    sizes = [
        list(each) * dimensions if len(each) == 1 else each for each in (kernel, stride, padding, dilation)
    ]
    for axis, (width, step, pad, gap) in enumerate(zip(*sizes, strict=True)):
        place = axis - dimensions
        seen = bytearray(taken.shape[place])
        for offset in range(width):
            first = offset * gap - pad
            # Windows that begin in the padding see nothing there.
            skipped = -(first // step) if first < 0 else 0
            marks = range(first + skipped * step, min(first + made.shape[place] * step, len(seen)), step)
            seen[marks.start : marks.stop : step] = b"\1" * len(marks)
        if not all(seen):
            return False
    return True
