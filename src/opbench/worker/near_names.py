"""The valid names nearest to a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

MOST_NAMES = 3
LIBRARY = "torch.ops."
# Where a right name in the wrong namespace was probably meant to be; the rest comes after, as it is.
PREFERRED = (
    "torch.nn.functional",
    "torch",
    "torch.nn",
    "torch.special",
    "torch.linalg",
    "torch.Tensor",
    "torch.fft",
)
# How people abbreviate namespaces.
SHORT = {
    "F.": "torch.nn.functional.",
    "functional.": "torch.nn.functional.",
    "nn.": "torch.nn.",
    "Tensor.": "torch.Tensor.",
    "aten.": "torch.ops.aten.",
    "ops.": "torch.ops.",
}


def did_you_mean(name: str, known: Mapping[str, Iterable[str]]) -> str:
    """`; did you mean ...?` for the names nearest to `name`, or an empty text. `known` is by namespace."""
    return _question(nearest(name, known))


def same_elsewhere(name: str, known: Mapping[str, Iterable[str]]) -> str:
    """The same, only for names that differ by the namespace."""
    return _question(_namesakes(name, _order(known), known)[:MOST_NAMES])


def nearest(name: str, known: Mapping[str, Iterable[str]]) -> list[str]:
    """The same last part in another namespace, then names spelt alike; at most a few, best first."""
    for short, full in SHORT.items():
        if name.startswith(short):
            name = full + name[len(short) :]
    if name.startswith("torch.nn.modules."):
        name = f"torch.nn.{name.rpartition('.')[2]}"
    order = _order(known)
    namespace = max((key for key in order if name.startswith(f"{key}.")), key=len, default="")
    if namespace.startswith(LIBRARY):
        near = _alike(name[len(namespace) + 1 :], [namespace], known)
        return near[:MOST_NAMES] or _namesakes(name, order, known)[:MOST_NAMES]
    near = _namesakes(name, order, known)
    base = name.rpartition(".")[2]
    if not base.endswith("_"):
        near += _namesakes(f"{name}_", order, known)
    near = near or _in_libraries(base, known)
    # A path that is not even a namespace is no misspelling; only its last part may be one.
    if namespace and namespace == name.rpartition(".")[0]:
        near += _alike(base, [namespace], known)
    if not near and "." not in name:
        near = _alike(base, order, known)
    return list(dict.fromkeys(near))[:MOST_NAMES]


def _order(known: Mapping[str, Iterable[str]]) -> list[str]:
    return [*(key for key in PREFERRED if key in known), *(key for key in known if key not in PREFERRED)]


def _question(near: list[str]) -> str:
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _namesakes(name: str, order: list[str], known: Mapping[str, Iterable[str]]) -> list[str]:
    base = name.rpartition(".")[2].lower()
    keys = [key for key in order if not key.startswith(LIBRARY)]
    return [
        full
        for key in keys
        for full in known[key]
        if full.rpartition(".")[2].lower() == base and full != name
    ]


def _in_libraries(base: str, known: Mapping[str, Iterable[str]]) -> list[str]:
    """Operators of the dispatcher with this very name, where Python has no function for them."""
    return [
        f"{key}.{base}"
        for key in sorted(known)
        if key.startswith(LIBRARY) and any(full.startswith(f"{key}.{base}.") for full in known[key])
    ]


def _alike(wanted: str, keys: Iterable[str], known: Mapping[str, Iterable[str]]) -> list[str]:
    """Names spelt much like `wanted` (a packet like a packet, an overload like an overload)."""
    if wanted.startswith("__"):
        return []
    spelt: dict[str, str] = {}
    for key in keys:
        for full in known[key]:
            base = full[len(key) + 1 :] if full.startswith(f"{key}.") else full
            if key.startswith(LIBRARY) and "." not in wanted:
                base = base.partition(".")[0]
                full = f"{key}.{base}"
            if wanted.startswith("_") or not base.startswith("_"):
                spelt.setdefault(base.lower(), full)
    matches = difflib.get_close_matches(wanted.lower(), spelt, n=MOST_NAMES, cutoff=0.7)
    return [spelt[match] for match in matches]
