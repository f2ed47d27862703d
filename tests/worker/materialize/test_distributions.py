"""Each random fill against SciPy's account of its distribution. Seeds are fixed, so nothing here is luck."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from .makers import drawn

COUNT = 200_000
# One in ten thousand samples of the right distribution is further off than this.
LEAST_P = 1e-4


def sample(dtype: str, fill: Any, count: int = COUNT, **kwargs: Any) -> np.ndarray[Any, Any]:
    tensor = drawn([count], dtype, fill, **kwargs)
    wide = torch.float64 if tensor.is_floating_point() else torch.int64
    return tensor.to(wide).numpy()


def assert_counts(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    if len(found) == 1:
        assert found[0] == expected[0]
    else:
        assert stats.chisquare(found, expected).pvalue > LEAST_P


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (5.0, 0.25), (-100.0, 30.0)])
def test_normal_numbers_are_gaussian(dtype: str, mean: float, std: float, seed: int) -> None:
    numbers = sample(dtype, {"kind": "normal", "mean": mean, "std": std}, seed=seed)
    assert stats.kstest(numbers, stats.norm(mean, std).cdf).pvalue > LEAST_P
    assert abs(numbers.mean() - mean) < 5 * std / math.sqrt(COUNT)
    assert abs(numbers.std() - std) < 5 * std / math.sqrt(2 * COUNT)
    assert abs(stats.skew(numbers)) < 5 * math.sqrt(6 / COUNT)
    # The table cuts the tails off at four standard deviations.
    assert -0.05 < stats.kurtosis(numbers) < 0.05
    assert 3 * std < abs(numbers - mean).max() < 4.2 * std


def test_a_million_normal_numbers_are_as_gaussian_as_scipys_own() -> None:
    numbers = sample("float64", "normal", 1_000_000)
    assert stats.kstest(numbers, stats.norm.cdf).pvalue > LEAST_P
    # Neighbours know nothing of each other.
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 5 / math.sqrt(len(numbers))
    assert abs(np.corrcoef(numbers[:-2], numbers[2:])[0, 1]) < 5 / math.sqrt(len(numbers))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"])
def test_small_floats_are_the_rounded_float32_numbers(dtype: str) -> None:
    for fill in ("normal", {"kind": "normal", "mean": 2.0, "std": 0.5}):
        wide = drawn([4096], "float32", fill)
        assert torch.equal(drawn([4096], dtype, fill), wide.to(getattr(torch, dtype)))


def test_numbers_without_a_sign_are_the_sizes_of_normal_ones() -> None:
    numbers = sample("float8_e8m0fnu", "normal", 10_000)
    assert (numbers > 0).all()
    assert set(np.unique(np.log2(numbers)) % 1) == {0.0}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_both_parts_of_complex_numbers_are_drawn(dtype: str) -> None:
    tensor = drawn([COUNT], dtype, {"kind": "normal", "std": 2.0})
    real, imaginary = tensor.real.double().numpy(), tensor.imag.double().numpy()
    for part in (real, imaginary):
        assert stats.kstest(part, stats.norm(0, 2).cdf).pvalue > LEAST_P
    assert abs(np.corrcoef(real, imaginary)[0, 1]) < 5 / math.sqrt(COUNT)
    half = drawn([64], "complex32", "normal")
    assert torch.equal(
        torch.view_as_real(half), torch.view_as_real(drawn([64], "complex64", "normal")).half()
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 5.0), (0.7, 0.8), (-1e-3, -1e-4)])
def test_uniform_numbers_are_uniform_and_within_their_bounds(
    dtype: str, low: float, high: float, seed: int
) -> None:
    numbers = sample(dtype, {"kind": "uniform", "low": low, "high": high}, seed=seed)
    assert stats.kstest(numbers, stats.uniform(low, high - low).cdf).pvalue > LEAST_P
    assert low <= numbers.min()
    assert numbers.max() < high


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float32", "complex32"]
)
@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (0.1, 0.9), (-1.0, 0.0), (1e-2, 3.0), (-0.7, -0.1), (-200.0, 200.0)]
)
def test_rounding_never_takes_uniform_numbers_out_of_their_bounds(
    dtype: str, low: float, high: float
) -> None:
    tensor = drawn([50_000], dtype, {"kind": "uniform", "low": low, "high": high})
    numbers = (torch.view_as_real(tensor) if tensor.is_complex() else tensor).double()
    assert low <= float(numbers.min())
    assert float(numbers.max()) < high


@pytest.mark.parametrize(
    "dtype", ["int64", "int32", "int8", "uint8", "uint16", "uint32", "uint64", "float64"]
)
@pytest.mark.parametrize(("low", "high"), [(0, 2), (0, 7), (3, 103)])
def test_whole_numbers_are_equally_likely(dtype: str, low: int, high: int) -> None:
    fill = {"kind": "integers", "low": low, "high": high}
    counts = np.bincount(sample(dtype, fill).astype(np.int64) - low, minlength=high - low)
    assert len(counts) == high - low
    assert_counts(counts, np.full(high - low, COUNT / (high - low)))


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("int64", 0, 2**16),
        ("int64", -5, 2**17 + 1),
        ("int64", 0, 2**40),
        ("int64", 0, 3 * 2**61),
        ("int64", -(2**63), 2**62 + 12345),
        ("int64", -(2**63), 2**63),
        ("uint64", 0, 2**63 + 2**62),
        ("uint64", 2**63 - 1000, 2**64),
        ("uint64", 0, 2**64),
        ("int32", -(2**31), 2**31),
    ],
)
def test_wide_ranges_favour_no_number(dtype: str, low: int, high: int) -> None:
    tensor = drawn([50_000], dtype, {"kind": "integers", "low": low, "high": high})
    numbers = np.array([int(number) for number in tensor.numpy()], dtype=object)
    assert low <= min(numbers)
    assert max(numbers) < high
    counts = np.bincount([(int(number) - low) * 64 // (high - low) for number in numbers], minlength=64)
    assert_counts(counts, np.full(64, 50_000 / 64))


@pytest.mark.parametrize("bound", [1, 2, 10, 1000, 2**40, 2**63 - 1])
def test_indices_are_below_their_bound(bound: int) -> None:
    numbers = sample("int64", {"kind": "indices", "bound": bound}, 20_000)
    assert numbers.min() >= 0
    assert numbers.max() < bound
    bins = min(bound, 20)
    counts = np.bincount([int(number) * bins // bound for number in numbers], minlength=bins)
    assert_counts(counts, np.full(bins, 20_000 / bins))


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 1.2, 2.0, 5.0])
@pytest.mark.parametrize("bound", [1, 5, 1000, 4096, 50_000])
def test_the_likelihood_of_a_rank_falls_with_the_exponent(bound: int, alpha: float) -> None:
    numbers = sample("int64", {"kind": "zipf", "bound": bound, "alpha": alpha})
    assert numbers.min() >= 0
    assert numbers.max() < bound
    weights = np.arange(1, bound + 1) ** -alpha
    expected = COUNT * weights / weights.sum()
    found = np.bincount(numbers, minlength=bound).astype(float)
    # Cells of at least ten expected numbers, as a chi-square test wants.
    cells = (np.cumsum(expected) / 10).astype(int)
    found, expected = np.bincount(cells, found), np.bincount(cells, expected)
    kept = expected > 0
    if kept.sum() > 1:
        assert_counts(found[kept], expected[kept])


def test_scattered_ranks_keep_their_likelihoods_at_other_indices() -> None:
    plain = sample("int64", {"kind": "zipf", "bound": 1000, "alpha": 1.1})
    spread = sample("int64", {"kind": "zipf", "bound": 1000, "alpha": 1.1, "scatter": True})
    assert sorted(np.bincount(plain, minlength=1000)) == sorted(np.bincount(spread, minlength=1000))
    assert np.bincount(plain).argmax() == 0
    assert np.bincount(spread).argmax() != 0
    again = sample("int64", {"kind": "zipf", "bound": 1000, "alpha": 1.1, "scatter": True}, seed=1)
    assert np.bincount(again).argmax() != np.bincount(spread).argmax()


def test_a_huge_bound_follows_the_exponent_decade_by_decade() -> None:
    bound = 2**62
    numbers = sample("int64", {"kind": "zipf", "bound": bound, "alpha": 1.0}).astype(float)
    counts = np.histogram(np.log(numbers + 1), bins=31, range=(0, math.log(bound)))[0][1:]
    # With an exponent of one, each decade is as likely as the next.
    assert counts.min() > 0.9 * counts.mean()
    assert counts.max() < 1.1 * counts.mean()


@pytest.mark.parametrize("dtype", ["bool", "float32", "int64", "bfloat16"])
@pytest.mark.parametrize("density", [0.0, 0.001, 0.3, 0.5, 0.99, 1.0])
def test_masks_have_their_density(dtype: str, density: float) -> None:
    tensor = drawn([COUNT], dtype, {"kind": "mask", "density": density})
    assert set(tensor.double().unique().tolist()) <= {0.0, 1.0}
    ones = int(tensor.double().sum())
    assert stats.binomtest(ones, COUNT, density).pvalue > LEAST_P
    if density in (0.0, 1.0):
        assert ones == density * COUNT


def test_every_permutation_is_equally_likely() -> None:
    rows = drawn([24_000, 4], "int64", "permutation")
    assert torch.equal(rows.sort(dim=-1).values, torch.arange(4).expand(24_000, 4))
    codes = (rows * torch.tensor([64, 16, 4, 1])).sum(dim=-1)
    _, counts = codes.unique(return_counts=True)
    assert len(counts) == 24
    assert_counts(counts.numpy(), np.full(24, 1000.0))


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint16", "uint64"])
def test_a_long_permutation_has_every_number_once(dtype: str) -> None:
    numbers = sample(dtype, "permutation", 30_000)
    assert sorted(numbers) == list(range(30_000))
    assert abs(stats.spearmanr(np.arange(30_000), numbers).statistic) < 5 / math.sqrt(30_000)


def test_sorted_rows_are_sorted_uniform_numbers() -> None:
    rows = drawn([100, 2000], "float64", {"kind": "sorted", "low": -2.0, "high": 6.0})
    assert bool((rows.diff(dim=-1) >= 0).all())
    assert stats.kstest(rows.flatten().numpy(), stats.uniform(-2, 8).cdf).pvalue > LEAST_P


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("int32", -3, 4),
        ("uint8", 0, 256),
        ("int64", 0.5, 3.5),
        ("uint64", 0.0, 2.0**64),
        ("int64", -(2.0**63), 0),
    ],
)
def test_sorted_whole_numbers_are_within_their_bounds_and_equally_likely(
    dtype: str, low: float, high: float
) -> None:
    rows = drawn([100, 500], dtype, {"kind": "sorted", "low": low, "high": high})
    numbers = [[int(number) for number in row] for row in rows.numpy()]
    assert all(row == sorted(row) for row in numbers)
    flat = [number for row in numbers for number in row]
    least, end = math.ceil(low), math.ceil(high)
    assert min(flat) >= least
    assert max(flat) < end
    bins = min(32, end - least)
    counts = np.bincount([(number - least) * bins // (end - least) for number in flat], minlength=bins)
    assert_counts(counts, np.full(bins, len(flat) / bins))


def test_offsets_begin_at_zero_and_their_inner_ones_are_uniform() -> None:
    for include_last in (False, True):
        fill = {"kind": "offsets", "total": 999, "include_last": include_last}
        rows = drawn([50, 1000], "int64", fill)
        assert bool((rows.diff(dim=-1) >= 0).all())
        assert bool((rows[:, 0] == 0).all())
        assert bool((rows <= 999).all())
        assert not include_last or bool((rows[:, -1] == 999).all())
        inner = rows[:, 1 : -1 if include_last else None].flatten().numpy()
        assert_counts(np.bincount(inner, minlength=1000), np.full(1000, len(inner) / 1000))


def test_offsets_cut_a_list_into_the_bags_of_torch() -> None:
    offsets = drawn([101], "int64", {"kind": "offsets", "total": 300, "include_last": True})
    bags = torch.nn.functional.embedding_bag(
        torch.zeros(300, dtype=torch.int64), torch.ones(1, 1), offsets, mode="sum", include_last_offset=True
    )
    assert torch.equal(bags.flatten(), offsets.diff().float())


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("size", [1, 2, 10, 1000])
def test_probabilities_are_positive_and_sum_to_one(dtype: str, size: int) -> None:
    rows = drawn([200, size], dtype, "probabilities")
    assert bool((rows > 0).all())
    slack = size * torch.finfo(rows.dtype).eps / size + 1e-12
    assert torch.allclose(rows.double().sum(-1), torch.ones(200, dtype=torch.float64), atol=slack, rtol=0)
    # torch itself refuses rows that are no probabilities.
    assert torch.multinomial(rows.float(), 1).shape == (200, 1)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "complex64", "complex128"])
@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_positive_definite_matrices_have_a_cholesky_factor(dtype: str, size: int) -> None:
    matrices = drawn([3, size, size], dtype, "positive_definite")
    wide = matrices.to(torch.complex128 if matrices.is_complex() else torch.float64)
    assert torch.equal(wide, wide.mH)
    _, info = torch.linalg.cholesky_ex(wide)
    assert info.tolist() == [0, 0, 0]
    assert float(torch.linalg.cond(wide).max()) < 10


def test_usual_fills_are_those_the_checks_leave_out() -> None:
    for dtype, fill in (
        ("float32", {"kind": "normal", "mean": 0.0, "std": 1.0}),
        ("bool", {"kind": "mask", "density": 0.5}),
        ("int32", {"kind": "integers", "low": -10, "high": 10}),
        ("uint16", {"kind": "integers", "low": 0, "high": 10}),
    ):
        assert torch.equal(drawn([1000], dtype, None), drawn([1000], dtype, fill))
