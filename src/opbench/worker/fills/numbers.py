"""Fills in which each number stands alone: uniform, integers, indices, mask, constant, arange, literal."""

from __future__ import annotations

import math
from typing import Any

import torch

from opbench.worker.errors import Unsupported
from opbench.worker.fills.registry import (
    ChunkFunction,
    Spec,
    Target,
    chunked,
    chunked_parts,
    fill,
    is_unsigned,
    number,
    real_dtype,
    require_range,
)
from opbench.worker.layouts import BITS
from opbench.worker.streams import Stream, units32, units64, wrapped

SMALL_SPAN = 1 << 16
LARGE_SPAN = 1 << 40


@fill("uniform")
def uniform(spec: Spec, target: Target) -> torch.Tensor:
    """Numbers in [low, high)."""
    make = uniform_chunks(spec, target)
    return chunked_parts(target, 1 if target.is_double else 0.5, make)


def uniform_chunks(spec: Spec, target: Target) -> ChunkFunction:
    """Uniform numbers for a floating-point target, in the precision they are computed in."""
    low, high = float(spec.get("low", 0.0)), float(spec.get("high", 1.0))
    require_range(target, low, high)
    if high - low > torch.finfo(torch.float64 if target.is_double else torch.float32).max:
        raise Unsupported(f"from {low} to {high} is further than numbers of {target.name} can be apart")
    least, greatest = _within(low, high, target)

    def make(start: int, count: int) -> torch.Tensor:
        if target.is_double:
            numbers = units64(target.stream.words(start, count))
        else:
            numbers = units32(target.stream.halves(start, count))
        if high - low != 1.0:
            numbers.mul_(high - low)
        if low != 0.0:
            numbers.add_(low)
        # Rounding, here or to the target's dtype, may otherwise leave [low, high).
        if greatest < high or least > low:
            numbers.clamp_(least, greatest)
        return numbers

    return make


def _within(low: float, high: float, target: Target) -> tuple[float, float]:
    """The least and the greatest number of the target's dtype in [low, high)."""
    least, greatest = _rounded(low, target.dtype), _rounded(high, target.dtype)
    if least < low:
        least = number_beside(least, 1, target.dtype)
    if greatest >= high:
        greatest = number_beside(greatest, -1, target.dtype)
    if least > greatest:
        raise Unsupported(f"{target.name} has no number from {low} to below {high}")
    return least, greatest


def _rounded(value: float, dtype: torch.dtype) -> float:
    real = real_dtype(dtype)
    return float(torch.tensor([value], dtype=torch.float64, device="cpu").to(real).to(torch.float64).item())


def number_beside(value: float, step: int, dtype: torch.dtype) -> float:
    """The next greater (`step` 1) or smaller (-1) number of a dtype."""
    real = real_dtype(dtype)
    whole_dtype = BITS[real.itemsize]
    here = torch.tensor([value], dtype=torch.float64, device="cpu").to(real)
    bits = int(here.view(whole_dtype).item())
    sign = 1 << (8 * real.itemsize - 1)
    if is_unsigned(real):
        bits += step
    else:
        # Floating-point numbers are ordered as their bits are, the negative ones in reverse.
        place = (bits & (sign - 1)) * (-1 if bits < 0 else 1) + step
        bits = sign - place if place < 0 else place
    bits = (bits + sign) % (2 * sign) - sign
    beside = torch.tensor([bits], dtype=whole_dtype, device="cpu").view(real)
    return float(beside.to(torch.float64).item())


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
    if span <= LARGE_SPAN:
        return words.bitwise_right_shift_(1).bitwise_and_((1 << 63) - 1).remainder_(span)
    # A remainder would favour small numbers. Words of just enough bits are drawn again while they are not
    # below the span, each from its own place of another stream.
    mask = wrapped((1 << (span - 1).bit_length()) - 1)
    words.bitwise_and_(mask)
    draws = 0
    while span < 1 << 64:
        # Compared as unsigned words.
        beyond = words.bitwise_xor(-(1 << 63)) >= wrapped(span ^ (1 << 63))
        if not beyond.any():
            break
        draws += 1
        again = stream.substream(f"draw {draws}").words(start, count).bitwise_and_(mask)
        words = torch.where(beyond, again, words)
    return words


@fill("mask")
def mask(spec: Spec, target: Target) -> torch.Tensor:
    """One with probability `density`, else zero."""
    threshold = round(float(spec.get("density", 0.5)) * 2**32) - 2**31
    require_range(target, 0, 1)
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
    finite = [value for value in numbers if math.isfinite(value)]
    if finite:
        require_range(target, min(finite), max(finite))
    if not target.is_integral:
        if any(map(math.isinf, numbers)):
            require_infinity(target)
        return torch.tensor(numbers, dtype=torch.float64, device="cpu").to(target.dtype)
    if target.dtype == torch.bool:
        return torch.tensor([bool(value) for value in numbers], dtype=torch.bool, device="cpu")
    return _wrapped_tensor(numbers).to(target.dtype)


def require_infinity(target: Target) -> None:
    """Refuse infinities for a dtype without them."""
    if not math.isinf(_rounded(math.inf, target.dtype)):
        raise Unsupported(f"{target.name} has no infinity")


def _wrapped_tensor(numbers: list[Any]) -> torch.Tensor:
    return torch.tensor([wrapped(int(value)) for value in numbers], dtype=torch.int64, device="cpu")


@fill("arange")
def arange(spec: Spec, target: Target) -> torch.Tensor:
    """start, start + step, ..."""
    first, step = number(spec.get("start", 0)), number(spec.get("step", 1))
    last = first + step * max(0, target.count - 1)
    require_range(target, min(first, last), max(first, last))
    is_exact = target.is_integral or (
        isinstance(first, int)
        and isinstance(step, int)
        and -(2**63) <= min(first, last) <= max(first, last) < 2**63
    )

    def make(start: int, count: int) -> torch.Tensor:
        if is_exact:
            positions = torch.arange(count, dtype=torch.int64, device="cpu")
            return positions.mul_(wrapped(step)).add_(wrapped(first + start * step))
        positions = torch.arange(start, start + count, dtype=torch.int64, device="cpu").to(torch.float64)
        return positions.mul_(step).add_(first)

    return chunked(target, 1, make)
