"""Which accelerators torch can use here. Asked in a child: asking may start threads and take memory."""

from __future__ import annotations

from typing import Any

# In torch's own order of how likely one is to be meant; others register themselves as "privateuseone".
KINDS = ("cuda", "xpu", "mps", "npu", "hpu", "mtia")


def handle() -> dict[str, Any]:
    """The accelerators, and what went wrong while they were looked for."""
    reply: dict[str, Any] = {"status": "ok", "reason": "", "accelerators": [], "problems": []}
    import torch

    for kind in KINDS:
        module = getattr(torch, kind, None)
        try:
            if module is None or not module.is_available():
                continue
            count = module.device_count() if hasattr(module, "device_count") else 1
            reply["accelerators"] += [_described(module, kind, index) for index in range(count)]
        except Exception as error:  # a broken driver may raise anything, and the other devices may work
            reply["problems"].append(f"{kind}: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
    return reply


def _described(module: Any, kind: str, index: int) -> dict[str, Any]:
    found: dict[str, Any] = {"device": f"{kind}:{index}"}
    if hasattr(module, "get_device_name"):
        found["name"] = str(module.get_device_name(index))
    read = getattr(module, "get_device_properties", None)
    memory = getattr(read(index), "total_memory", None) if read else None
    if isinstance(memory, int):
        found["memory_bytes"] = memory
    return found
