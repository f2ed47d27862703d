"""torch.compile: an operator compiled for the inputs of its case, with its default backend.

Compiling is part of the first call (`time.first_call`), or where only a backward pass is timed, of the
forward pass before it; the others are timed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from opbench.worker.errors import Unsupported
from opbench.worker.runtimes import eager
from opbench.worker.runtimes.prepared import Prepared


def prepare(case: Mapping[str, Any], builder: Any, operator: Any, device: Any) -> Prepared:
    """Build the inputs of a case, and make a call of what torch.compile makes of its operator."""
    if operator is None:
        raise Unsupported("a snippet is not compiled by a runtime: call torch.compile in its setup")
    import torch
    import torch._inductor.config

    # Helper processes would outlive the case, and take its processors.
    torch._inductor.config.compile_threads = 1
    plain = eager.built(case, builder, operator, device)

    def prepared(function: Any) -> Prepared:
        return eager.directed(replace(plain, function=function), case, builder, operator, device)

    def reference() -> Prepared:
        as_it_is = prepared(plain.function)
        as_it_is.operator = operator
        return as_it_is

    compiled = prepared(_compiled(plain.function))
    compiled.reference = reference
    compiled.first_call_s = compiled.first_call(device)
    compiled.provenance.update(_what_was_compiled())
    return compiled


def _what_was_compiled() -> dict[str, Any]:
    """For the row; Unsupported where torch has run the operator as it is, without a word."""
    from torch._dynamo.utils import counters

    graphs = counters["stats"]["unique_graphs"]
    reasons = list(counters["graph_break"])
    if not graphs:
        why = f": {' '.join(reasons[0].split())}" if reasons else ""
        raise Unsupported(f"torch.compile finds nothing to compile in it{why}")
    made_by = {"compiled_by": "torch.compile, inductor, static shapes", "graphs": graphs}
    return made_by | ({"graph_breaks": reasons} if reasons else {})


def _compiled(function: Any) -> Any:
    import torch

    if isinstance(function, torch.nn.Module):
        return torch.compile(function, dynamic=False)
    return torch.compile(_named(function), dynamic=False)


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    # Dynamo compiles Python functions; torch's own are calls inside of one.
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call
