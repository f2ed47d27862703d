"""The words that everything is drawn from, and the logarithms that every machine computes alike."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from opbench.sources.fuzzing.powers import exp2, log2
from opbench.sources.fuzzing.words import WORD_SPAN, Stream, below, happens, share

WORDS = st.integers(0, WORD_SPAN - 1)


def test_words_depend_on_seed_name_place_and_attempt_alone() -> None:
    first = Stream(1, "a").words((7,), 2)
    Stream(1, "a").words((8,))
    assert Stream(1, "a").words((7,), 2) == first
    others = [
        Stream(2, "a").words((7,), 2),
        Stream(1, "b").words((7,), 2),
        Stream(1, "a").words((8,), 2),
        Stream(1, "a").words((7,), 3),
        Stream(1, "a").words((7, 0), 2),
        Stream(1, "a").words((7, 1), 2),
    ]
    assert len({first, *others}) == 7


def test_words_are_uniform_and_independent() -> None:
    stream = Stream(3, "x")
    rows = [stream.words((place,)) for place in range(4000)]
    for column in range(8):
        assert stats.kstest([share(row[column]) for row in rows], "uniform").pvalue > 1e-4
    for left in range(8):
        for right in range(left):
            found = stats.pearsonr(
                [row[left] / WORD_SPAN for row in rows], [row[right] / WORD_SPAN for row in rows]
            )
            assert abs(found.statistic) < 0.07


@given(WORDS, st.integers(1, 2**63))
def test_below_is_below(word: int, span: int) -> None:
    assert 0 <= below(word, span) < span
    assert 0.0 <= share(word) < 1.0


def test_the_ends_of_a_probability_are_never_and_always() -> None:
    for word in (0, WORD_SPAN // 2, WORD_SPAN - 1):
        assert not happens(word, 0.0)
        assert happens(word, 1.0)


@given(st.floats(1e-30, 2.0**63))
def test_log2_is_that_of_the_library_but_for_its_last_digits(number: float) -> None:
    assert math.isclose(log2(number), math.log2(number), rel_tol=1e-14, abs_tol=1e-14)


@given(st.floats(-60, 63))
def test_exp2_is_that_of_the_library_but_for_its_last_digits(number: float) -> None:
    assert math.isclose(exp2(number), 2.0**number, rel_tol=1e-11)


def test_powers_of_two_are_exact() -> None:
    for exponent in range(63):
        assert log2(1 << exponent) == exponent
        assert exp2(float(exponent)) == 1 << exponent


def test_their_last_bits_are_as_they_always_were() -> None:
    """Held to the bit, so that another machine with other bits is found out."""
    assert [log2(number).hex() for number in (3, 10, 12345, 0.1)] == GOLDEN_LOG2
    assert [exp2(number).hex() for number in (0.1, 3.7, 20.25, -1.5)] == GOLDEN_EXP2


GOLDEN_LOG2 = [
    "0x1.95c01a39fbd69p+0",
    "0x1.a934f0979a371p+1",
    "0x1.b2eeb55d7c2d7p+3",
    "-0x1.a934f0979a371p+1",
]
GOLDEN_EXP2 = [
    "0x1.125fbee250626p+0",
    "0x1.9fdf8bcce47b2p+3",
    "0x1.306fe0a31b715p+20",
    "0x1.6a09e667f3bcdp-2",
]
