"""Checks of names in a case: operators, devices, runtimes. Aliases become canonical."""

from __future__ import annotations

from typing import Any

from opbench.cases.check_fields import INVALID
from opbench.cases.collect import Place, Problems, quote
from opbench.cases.names import canonical_device, canonical_operator, device_suggestion


def operator(value: Any, place: Place, problems: Problems) -> Any:
    """The name of an operator. Whether there is such an operator, only the worker knows."""
    expected = 'a dotted name such as "torch.mm", "F.gelu" or "aten::add.Tensor"'
    if not isinstance(value, str):
        problems.wrong_type(place, value, expected)
        return INVALID
    name = canonical_operator(value)
    if name is None:
        problems.add(place, "not the name of an operator", found=quote(value), expected=expected)
        return INVALID
    return name


def device(value: Any, place: Place, problems: Problems) -> Any:
    """A device."""
    expected = 'a device such as "cpu", "cuda" or "cuda:1"'
    if not isinstance(value, str):
        problems.wrong_type(place, value, expected)
        return INVALID
    name = canonical_device(value)
    if name is None:
        problems.add(
            place,
            "unknown device",
            found=quote(value),
            expected=expected,
            suggestion=device_suggestion(value),
        )
        return INVALID
    return name
