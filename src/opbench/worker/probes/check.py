"""Whether a call computes what eager torch computes in float64, as far as its own dtype can tell.

How far rounding alone may take a result is measured rather than guessed: the reference is computed once
more with every input moved by half a unit in its last place. What that changes, an honest implementation
may change too, a multiple of it for rounding on the way, and what adding many numbers up adds to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any, NamedTuple

from opbench.worker.errors import Unsupported
from opbench.worker.mutation import mutated
from opbench.worker.probes import caution, metric
from opbench.worker.runtimes import gradients
from opbench.worker.runtimes.call import call_of
from opbench.worker.runtimes.eager import forward
from opbench.worker.runtimes.outputs import tensors_in
from opbench.worker.runtimes.widened import Widened, cotangents_of, wide

# So many times what rounding of the inputs does, and so many units in the last place of the result.
TIMES_MOVED, UNITS = 32.0, 8.0
# Where rounding explains this much, right and wrong look alike.
MOST_ALLOWED = 0.5
# Sums are kept in float32 at least.
SUM_UNIT = 2.0**-23


class Compared(NamedTuple):
    """How one output differs: the largest difference, and the most that rounding explains.

    Both are shares of the output's largest number. `problem` is something that no rounding explains, and
    `flipped` is how many whole numbers or truth values differ.
    """

    error: float = 0.0
    allowed: float = 0.0
    problem: str = ""
    flipped: int = 0
    numbers: int = 0


def measure(
    prepared: Any, plan: Mapping[str, Any], device: Any
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """`check.error`: the largest difference from the reference, as a share of the largest number."""
    del plan
    if prepared.function is None:
        raise Unsupported("a snippet cannot be checked: nobody says which of its variables is the result")
    source = prepared if prepared.reference is None else prepared.reference()
    actual = _results(prepared)
    if not _alike(actual, _results(prepared)):
        raise Unsupported("two calls with the same inputs differ: what it computes is up to chance")
    cotangents = cotangents_of(source)
    reference, widened = _reference(source, cotangents, device, nudge=False)
    try:
        moved, _ = _reference(source, cotangents, device, nudge=True)
    except Exception:  # the nudge may take an input out of what an operator accepts
        moved = reference
    if len(actual) != len(reference):
        text = f"it gives {len(actual)} tensors where eager mode in float64 gives {len(reference)}"
        return [], [caution("wrong_result", text)]
    longest = _longest_sum(prepared.inputs, actual)
    found = [_compared(*tensors, longest) for tensors in zip(actual, reference, moved, strict=True)]
    return _judged(found, [path for path, _ in reference], widened)


def _longest_sum(inputs: Any, outputs: list[tuple[str, Any]]) -> float:
    """About how many numbers go into one of the result at most."""
    least = max(1, min((tensor.numel() for _, tensor in outputs), default=1))
    return max((max((*tensor.shape, tensor.numel() / least)) for tensor in inputs), default=1.0)


def _results(prepared: Any) -> list[tuple[str, Any]]:
    """What one call gives and writes to, kept from later calls."""
    prepared.restore()
    try:
        result = prepared.once()
        written = prepared.pool.first() if prepared.pool is not None else ()
        return [(path, tensor.detach().clone()) for path, tensor in _outputs(result, written)]
    finally:
        prepared.restore()


def _outputs(result: Any, written: Any) -> list[tuple[str, Any]]:
    named = [("result" + path, tensor) for path, tensor in tensors_in(result)]
    seen = {id(tensor) for _, tensor in named}
    operands = [("operand" + path, tensor) for path, tensor in tensors_in(written) if id(tensor) not in seen]
    return named + operands


def _reference(
    source: Any, cotangents: list[Any], device: Any, *, nudge: bool
) -> tuple[list[tuple[str, Any]], bool]:
    widened = Widened(nudge)
    args, kwargs = source.arguments
    function = widened.of(source.function)
    args, kwargs = widened.of(list(args)), widened.of(dict(kwargs))
    call = call_of(function, args, kwargs, mutated(source.operator, args, kwargs, function))
    if source.direction == "forward":
        return _results(forward(call, device)), widened.changed
    given = _Given([widened.of(tensor) for tensor in cotangents])
    make = gradients.backward if source.direction == "backward" else gradients.forward_backward
    return _results(make(call, given, device)), widened.changed


class _Given:
    """Stands for the builder of a backward call: gives the cotangents that the narrow one had."""

    def __init__(self, cotangents: list[Any]) -> None:
        self._left = iter(cotangents)
        self._cotangents = cotangents

    def value(self, spec: Mapping[str, Any], path: str) -> Any:
        """The next one; asked for once more in a further trial, they start anew."""
        if path == "cotangents[0]":
            self._left = iter(self._cotangents)
        return next(self._left)


def _compared(
    actual: tuple[str, Any], reference: tuple[str, Any], moved: tuple[str, Any], longest_sum: float
) -> Compared:
    import torch

    found, expected, nudged = actual[1], reference[1], moved[1]
    if found.shape != expected.shape:
        return Compared(problem=f"has the shape {list(found.shape)} and not {list(expected.shape)}")
    if wide(found.dtype) != expected.dtype:
        return Compared(problem=f"is {_named(found.dtype)} where float64 gives {_named(expected.dtype)}")
    if found.numel() == 0:
        return Compared()
    found, expected, nudged = (_dense(tensor) for tensor in (found, expected, nudged))
    if not (expected.is_floating_point() or expected.is_complex()):
        same = found == expected
        return Compared(flipped=int((~same).sum()), numbers=found.numel())
    # A number too large for the narrow type is infinite there, and rightly so.
    rounded, found = expected.to(found.dtype).to(expected.dtype), found.to(expected.dtype)
    finite = torch.isfinite(rounded)
    odd = (torch.isfinite(found) != finite) | (torch.isnan(found) != torch.isnan(rounded))
    nudged = nudged if nudged.shape == expected.shape else expected
    scale = float(expected[finite].abs().max()) if bool(finite.any()) else 0.0
    if bool(odd.any()):
        return Compared(
            problem=f"is infinite, or no number, at {int(odd.sum())} places other than it should be"
        )
    if scale == 0.0:
        wrong = bool((found[finite] != 0).any())
        return Compared(problem="is not zero everywhere, as it should be" if wrong else "")
    shift = (nudged - expected)[finite & torch.isfinite(nudged)].abs()
    moved_by = float(shift.max()) if shift.numel() else 0.0
    error = float((found - expected)[finite].abs().max())
    unit = _unit(actual[1])
    allowed = TIMES_MOVED * moved_by / scale + UNITS * unit + min(unit, SUM_UNIT) * sqrt(longest_sum)
    return Compared(error / scale, allowed, numbers=found.numel())


def _alike(some: list[tuple[str, Any]], others: list[tuple[str, Any]]) -> bool:
    """Whether two calls give the same, but for sums taken in another order."""
    return len(some) == len(others) and all(map(_near, some, others))


def _near(one: tuple[str, Any], other: tuple[str, Any]) -> bool:
    first, second = _dense(one[1]), _dense(other[1])
    if first.shape != second.shape:
        return False
    first, second = first.to(wide(first.dtype)), second.to(wide(second.dtype))
    if not (first.is_floating_point() or first.is_complex()):
        return bool((first == second).all())
    finite = first.isfinite() & second.isfinite()
    if not bool(finite.any()):
        return True
    scale = float(first[finite].abs().max())
    return float((first - second)[finite].abs().max()) <= sqrt(_unit(one[1])) * scale


def _judged(
    found: list[Compared], paths: list[str], widened: bool
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    warnings: list[dict[str, str]] = []
    metrics: list[dict[str, Any]] = []
    where = [path if len(paths) > 1 else "the result" for path in paths]
    for place, item in zip(where, found, strict=True):
        if item.problem:
            warnings.append(caution("wrong_result", f"{place} {item.problem}"))
        elif item.allowed > MOST_ALLOWED:
            text = f"rounding of the inputs alone changes {place} so much that nothing can be told of it"
            warnings.append(caution("check_unknown", text))
        elif item.error > item.allowed:
            warnings.append(
                caution(
                    "wrong_result",
                    f"{place} differs from eager mode in float64 by {item.error:.2g} of its largest number, "
                    f"where rounding explains {item.allowed:.2g} at most",
                )
            )
        elif item.flipped:
            # Numbers that are equal in the narrow type, or nearly so, may come in any order.
            code = "unlike_float64" if widened else "wrong_result"
            excuse = "; ties and rounding may be why" if widened else ""
            text = f"{place} differs from eager mode at {item.flipped} of {item.numbers} places{excuse}"
            warnings.append(caution(code, text))
    comparable = [
        item
        for item in found
        if item.numbers and item.allowed <= MOST_ALLOWED and not (item.flipped or item.problem)
    ]
    if comparable:
        worst = max(comparable, key=lambda item: item.error / item.allowed if item.allowed else 0.0)
        provenance = {
            "reference": "eager, float64" if widened else "eager",
            "allowed": worst.allowed,
            "outputs": len(found),
        }
        metrics.append(metric("check.error", worst.error, "", "ratio", provenance=provenance))
    return metrics, warnings


def _unit(tensor: Any) -> float:
    """The distance of 1 from the next number that the work was done with."""
    import torch

    backends = torch.backends
    if tensor.dtype in (torch.float32, torch.complex64) and tensor.device.type == "cuda":
        shortened = backends.cuda.matmul.allow_tf32 or backends.cudnn.allow_tf32
        return 2.0**-10 if shortened else 2.0**-23
    return float(torch.finfo(tensor.dtype).eps)


def _dense(tensor: Any) -> Any:
    import torch

    tensor = tensor.dequantize() if tensor.is_quantized else tensor
    tensor = tensor if tensor.layout == torch.strided else tensor.to_dense()
    return tensor.resolve_conj().resolve_neg()


def _named(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
