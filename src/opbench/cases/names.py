"""Names in a case: operators, devices, runtimes. Aliases become canonical, so equal work has equal ids."""

from __future__ import annotations

import re
from functools import lru_cache

from opbench.cases.suggest import nearest

RUNTIMES = ("eager", "compile", "torchscript", "cpp", "onnxruntime", "numpy", "jax", "mxnet")
DIRECTIONS = ("forward", "backward", "forward_backward")
LANGUAGES = ("python", "cpp")
LANGUAGE_ALIASES = {"c++": "cpp", "cxx": "cpp", "py": "python", "python3": "python"}
DEVICE_KINDS = (
    *("cpu", "cuda", "hip", "xpu", "mps", "meta", "hpu", "npu", "xla", "mtia", "maia", "ipu", "vulkan"),
    *("privateuseone", "mlu", "musa", "gcu"),
)
MEMORY_FORMATS = ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format")
LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
# Every accepted spelling: torch's own is understood, too.
MEMORY_FORMAT_NAMES = {f"{prefix}{name}": name for prefix in ("", "torch.") for name in MEMORY_FORMATS}
LAYOUT_NAMES = {f"{prefix}{name}": name for prefix in ("", "torch.") for name in LAYOUTS}
# torch keeps a device index in eight bits.
LARGEST_DEVICE_INDEX = 127
LONGEST_OPERATOR = 300

_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_QUALIFIED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)::([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)")
_DEVICE = re.compile(r"([a-z][a-z0-9_]*)(?::(0|[1-9][0-9]{0,3}))?")
_PREFIXES = (
    ("F.", "torch.nn.functional."),
    ("nn.", "torch.nn."),
    ("Tensor.", "torch.Tensor."),
    ("aten.", "torch.ops.aten."),
)


@lru_cache(maxsize=4096)
def canonical_operator(name: str) -> str | None:
    """The canonical dotted name of an operator, or None when it is not a name at all.

    `F.x`, `nn.X`, `Tensor.x`, `aten.x` and `namespace::x` are short for torch's own names.
    """
    if len(name) > LONGEST_OPERATOR:
        return None
    qualified = _QUALIFIED.fullmatch(name)
    if qualified:
        return f"torch.ops.{qualified[1]}.{qualified[2]}"
    if not _DOTTED.fullmatch(name):
        return None
    for prefix, full in _PREFIXES:
        if name.startswith(prefix):
            return full + name[len(prefix) :]
    return name


@lru_cache(maxsize=256)
def canonical_device(name: str) -> str | None:
    """The canonical name of a device (`cpu`, `cuda`, `cuda:1`), or None when there is no such device."""
    match = _DEVICE.fullmatch(name)
    if not match or match[1] not in DEVICE_KINDS or int(match[2] or 0) > LARGEST_DEVICE_INDEX:
        return None
    # There is one CPU device.
    return "cpu" if name == "cpu:0" else name


def device_suggestion(name: str) -> str:
    """The device that a wrong name may have meant."""
    kind, colon, index = name.partition(":")
    near = {"gpu": "cuda", "nvidia": "cuda", "rocm": "cuda"}.get(kind.lower()) or nearest(kind, DEVICE_KINDS)
    return f"{near}:{index}" if near and colon and index.isascii() and index.isdigit() else near


@lru_cache(maxsize=4096)
def operator_spellings(name: str) -> tuple[str, ...]:
    """A canonical operator name, its short form (`F.gelu`) if there is one, and its last part (`gelu`)."""
    if not name:
        return ()
    shorts = [short + name[len(full) :] for short, full in _PREFIXES if name.startswith(full)]
    base = name.removeprefix("torch.ops.")
    last = base.split(".")[1] if base != name and "." in base else name.rpartition(".")[2]
    return tuple(dict.fromkeys((name, *shorts, last)))
