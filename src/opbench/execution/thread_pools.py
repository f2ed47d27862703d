"""How many threads numerical libraries in this process may use, for the time of a measurement."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import threadpoolctl


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Let torch, OpenMP, MKL, OpenBLAS and their kind use `n` threads inside, and as many as before after.

    The threads between operators (`torch.set_num_interop_threads`) cannot be changed once torch has started
    them; a worker of opbench sets them before.
    """
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else n
    try:
        if torch is not None:
            torch.set_num_threads(n)
        with threadpoolctl.ThreadpoolController().limit(limits=n):
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(before)
