"""The same case for another device, dtype, runtime, seed or number of threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opbench.cases.check import check_case
from opbench.cases.dtypes import PARAMETER_DTYPES, canonical_dtype, dtype_info
from opbench.cases.errors import UsageError
from opbench.cases.identity import case_document
from opbench.cases.model import Case, Suite


def change_suite(suite: Suite, fields: Mapping[str, Any], dtype: str = "") -> Suite:
    """A suite whose cases all have these fields, and this dtype where they had a floating-point tensor."""
    wanted = canonical_dtype(dtype) if dtype else ""
    if wanted is None:
        raise UsageError(f"no dtype is called {dtype!r}")
    if not fields and not wanted:
        return suite
    return Suite(
        suite.name,
        lambda: (change_case(case, fields, wanted) for case in suite),
        suite.count,
        suite.folder,
    )


def change_case(case: Case, fields: Mapping[str, Any], dtype: str = "") -> Case:
    """A case with these fields, and this dtype where it had a floating-point tensor or builds a module."""
    document = case_document(case) | dict(fields)
    if dtype:
        document = _with_dtype(document, dtype)
        if "build" in document and dtype in PARAMETER_DTYPES:
            document["build"]["dtype"] = dtype
    # What was allowed before is still the same code.
    return check_case(document, file=case.name, allow_snippets=True)


def _with_dtype(document: Any, dtype: str) -> Any:
    if isinstance(document, list | tuple):
        return [_with_dtype(item, dtype) for item in document]
    if not isinstance(document, dict):
        return document
    changed = {name: _with_dtype(item, dtype) for name, item in document.items()}
    if document.get("type") == "tensor" and _is_floating(document.get("dtype", "float32")):
        changed["dtype"] = dtype
    return changed


def _is_floating(dtype: str) -> bool:
    return dtype_info(dtype).kind == "float"
