"""Fills in which each number stands alone: uniform, integers, indices, mask, constant, arange, literal."""

from __future__ import annotations

import math
from typing import Any

import torch

from opbench.worker.errors import Unsupported
from opbench.worker.fills.registry import (
    Spec,
    Target,
    chunked,
    chunked_parts,
    fill,
    number,
    require_range,
    whole,
)
from opbench.worker.streams import Stream, units32, units64, wrapped

SMALL_SPAN = 1 << 16


@fill("uniform")
def uniform(spec: Spec, target: Target) -> torch.Tensor:
    """Numbers in [low, high); whole-number dtypes get each whole number of it equally often."""
    low, high = bounds_of(spec, target)
    top = below(high, target.dtype)

    def make(start: int, count: int) -> torch.Tensor:
        return uniform_chunk(target, low, high, top, start, count)

    return chunked_parts(target, 1 if target.is_double else 0.5, make)


def bounds_of(spec: Spec, target: Target) -> tuple[float, float]:
    """`low` and `high` of a fill, where the target's dtype reaches so far."""
    low, high = float(spec.get("low", 0.0)), float(spec.get("high", 1.0))
    if target.is_integral:
        require_range(target, math.floor(low), math.ceil(high) - 1)
        return low, high
    most = float(torch.finfo(target.dtype).max)
    if max(-low, high, high - low) > most:
        name = str(target.dtype).removeprefix("torch.")
        raise Unsupported(f"from {low} to {high} is further than {name} reaches ({most})")
    return low, high


def uniform_chunk(
    target: Target, low: float, high: float, top: float, start: int, count: int
) -> torch.Tensor:
    """Uniform numbers for a target, none above `top`, in the precision they are computed in."""
    if target.is_double:
        numbers = units64(target.stream.words(start, count))
    else:
        numbers = units32(target.stream.halves(start, count))
    if high - low != 1.0:
        numbers.mul_(high - low)
    if low != 0.0:
        numbers.add_(low)
    # Rounding, here or to the target's dtype, may otherwise reach `high`.
    if top < high:
        numbers.clamp_(max=top)
    return numbers.floor_() if target.is_integral else numbers


def below(high: float, dtype: torch.dtype) -> float:
    """The greatest number of a dtype that is less than `high`."""
    if not (dtype.is_floating_point or dtype.is_complex):
        return math.nextafter(high, -math.inf)
    real = dtype.to_real() if dtype.is_complex else dtype
    nearest = torch.tensor([high], dtype=torch.float64, device="cpu").to(real)
    if nearest.to(torch.float64).item() < high:
        return float(nearest.to(torch.float64).item())
    whole_dtype = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[real.itemsize]
    # Floating-point numbers are ordered as their bits are, the negative ones in reverse.
    bits = int(nearest.view(whole_dtype).item())
    if nearest.to(torch.float64).item() == 0.0:
        return -math.ulp(0.0)
    stepped = torch.tensor(
        [bits - 1 if nearest.to(torch.float64).item() > 0 else bits + 1], dtype=whole_dtype, device="cpu"
    )
    return float(stepped.view(real).to(torch.float64).item())


@fill("integers")
def integers(spec: Spec, target: Target) -> torch.Tensor:
    """Whole numbers in [low, high), each equally likely."""
    return _integers_between(target, int(spec["low"]), int(spec["high"]))


@fill("indices")
def indices(spec: Spec, target: Target) -> torch.Tensor:
    """Whole numbers in [0, bound), each equally likely."""
    return _integers_between(target, 0, int(spec["bound"]))


def _integers_between(target: Target, low: int, high: int) -> torch.Tensor:
    if high <= low and target.count:
        raise Unsupported(f"there is no whole number from {low} to below {high} to draw")
    require_range(target, low, max(low, high - 1))
    span = high - low

    def make(start: int, count: int) -> torch.Tensor:
        return bounded(target.stream, start, count, span).add_(wrapped(low))

    return chunked(target, 0.5 if span <= SMALL_SPAN else 1, make)


def bounded(stream: Stream, start: int, count: int, span: int) -> torch.Tensor:
    """Whole numbers (int64) in [0, span), for a span of up to 2 ** 64 (then all bits are random)."""
    if span <= SMALL_SPAN:
        halves = stream.halves(start, count).to(torch.int64).bitwise_and_(0xFFFFFFFF)
        return halves.mul_(span).bitwise_right_shift_(32)
    words = stream.words(start, count)
    if span <= 1 << 63:
        words.bitwise_right_shift_(1).bitwise_and_((1 << 63) - 1)
        return words if span == 1 << 63 else words.remainder_(span)
    if span < 1 << 64:
        # As unsigned words: those from `span` on begin again at 0.
        beyond = words.bitwise_xor(-(1 << 63)) >= wrapped(span ^ (1 << 63))
        words.sub_(beyond.to(torch.int64).mul_(wrapped(span)))
    return words


@fill("mask")
def mask(spec: Spec, target: Target) -> torch.Tensor:
    """One with probability `density`, else zero."""
    threshold = round(float(spec.get("density", 0.5)) * 2**32) - 2**31
    if threshold <= -(2**31):
        return torch.zeros(target.shape, dtype=torch.bool, device="cpu").to(target.dtype)

    def make(start: int, count: int) -> torch.Tensor:
        return target.stream.halves(start, count).less_equal(threshold - 1)

    return chunked(target, 0.5, make)


@fill("constant")
def constant(spec: Spec, target: Target) -> torch.Tensor:
    """The same number everywhere."""
    one = _exactly([spec.get("value", 0)], target)[0]
    return one.expand(target.shape).clone(memory_format=torch.contiguous_format)


@fill("literal")
def literal(spec: Spec, target: Target) -> torch.Tensor:
    """The numbers themselves."""
    if len(spec["values"]) != target.count:
        raise Unsupported(
            f"the literal fill has {len(spec['values'])} numbers, but the shape {list(target.shape)} "
            f"takes {target.count}"
        )
    return _exactly(spec["values"], target).view(target.shape)


def _exactly(values: list[Any], target: Target) -> torch.Tensor:
    numbers = [number(value) for value in values]
    if not target.is_integral:
        return torch.tensor(numbers, dtype=torch.float64, device="cpu").to(target.dtype)
    if target.dtype == torch.bool:
        return torch.tensor([bool(value) for value in numbers], dtype=torch.bool, device="cpu")
    broken = next((value for value in numbers if not math.isfinite(value) or value != int(value)), None)
    if broken is not None:
        raise Unsupported(f"{target.dtype} cannot hold {broken}")
    if numbers:
        require_range(target, min(numbers), max(numbers))
    return _wrapped_tensor(numbers).to(target.dtype)


def _wrapped_tensor(numbers: list[Any]) -> torch.Tensor:
    return torch.tensor([wrapped(int(value)) for value in numbers], dtype=torch.int64, device="cpu")


@fill("arange")
def arange(spec: Spec, target: Target) -> torch.Tensor:
    """start, start + step, ..."""
    first, step = number(spec.get("start", 0)), number(spec.get("step", 1))
    last = first + step * max(0, target.count - 1)
    require_range(target, min(first, last), max(first, last))
    is_exact = (
        isinstance(first, int)
        and isinstance(step, int)
        and (target.is_integral or -(2**63) <= min(first, last) <= max(first, last) < 2**63)
    )

    def make(start: int, count: int) -> torch.Tensor:
        if is_exact:
            positions = torch.arange(count, dtype=torch.int64, device="cpu")
            return positions.mul_(wrapped(step)).add_(wrapped(first + start * step))
        positions = torch.arange(start, start + count, dtype=torch.int64, device="cpu").to(torch.float64)
        numbers = positions.mul_(step).add_(first)
        return whole(numbers.floor_(), target.dtype) if target.is_integral else numbers

    return chunked(target, 1, make)
