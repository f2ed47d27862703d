"""The fill of a fuzzed tensor, where it may depend on parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from opbench.cases import values
from opbench.cases.check_fields import INFINITIES_AND_NAN
from opbench.cases.check_fills import FILL_FIELDS
from opbench.cases.dtypes import dtype_info
from opbench.cases.errors import ArgumentError
from opbench.cases.suggest import nearest
from opbench.cases.values import AnyFill, Fill

_PLAIN_TEXTS = {"kind", "path", "sha256"}


class FillTemplate:
    """A fill whose numbers may be names of parameters.

    Without one, numbers are as torch's fuzzer has them: from 0 to 1, and whole ones from 1 to 126.
    """

    def __init__(self, owner: str, fill: Any, dtype: str) -> None:
        self._owner = owner
        self._names: dict[str, str] = {}
        self._fields: dict[str, Any] = {}
        self._fixed: AnyFill | None = None
        if fill is None:
            self._fixed = _usual(dtype)
        elif isinstance(fill, Fill):
            self._fixed = cast(AnyFill, fill)
        else:
            self._fields = {"kind": fill} if isinstance(fill, str) else self._checked(fill)
            kind = self._fields.get("kind")
            if kind not in FILL_FIELDS:
                near = nearest(str(kind), FILL_FIELDS)
                hint = f"; did you mean {near}?" if near else f" (there are {', '.join(FILL_FIELDS)})"
                raise ArgumentError(f"{owner}: fill has no kind {kind!r}{hint}")
            self._names = {
                field: given
                for field, given in self._fields.items()
                if isinstance(given, str) and field not in _PLAIN_TEXTS and given not in INFINITIES_AND_NAN
            }
            made = self._made(dict.fromkeys(self._names.values(), 1))
            if not self._names:
                self._fixed = made

    def _checked(self, fill: Any) -> dict[str, Any]:
        if not isinstance(fill, Mapping):
            raise ArgumentError(
                f"{self._owner}: fill must be a Fill, the name of a kind, or an object with one, not {fill!r}"
            )
        return dict(fill)

    def references(self) -> list[tuple[str, str]]:
        """(argument, parameter) of each name that it uses."""
        return [(f"fill.{field}", name) for field, name in self._names.items()]

    def resolved(self, params: Mapping[str, Any]) -> AnyFill | None:
        """The fill for these parameters."""
        return self._made(params) if self._names else self._fixed

    def _made(self, params: Mapping[str, Any]) -> AnyFill:
        document = self._fields | {field: params[name] for field, name in self._names.items()}
        try:
            made: AnyFill = msgspec.convert(document, AnyFill)
        except msgspec.ValidationError as error:
            raise ArgumentError(f"{self._owner}: fill is not one: {error}") from None
        return made


def _usual(dtype: str) -> AnyFill | None:
    info = dtype_info(dtype)
    if info.kind in ("float", "complex"):
        return values.Uniform()
    if info.kind == "int" and info.high >= 126:
        return values.Integers(1, 127)
    return None
