"""Two sides of a comparison: the cases that one input becomes, measured in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from opbench.cases.identity import case_id
from opbench.cases.model import Case, Suite
from opbench.execution.api import execute
from opbench.execution.fuzz_search import Difference, Estimate
from opbench.execution.interrupt import StopSignal
from opbench.execution.options import Listener, Options
from opbench.execution.station import WorkerFactory
from opbench.results.records import Measurement
from opbench.sources.fuzzing import FuzzedOperator, Item


@dataclass(frozen=True)
class Side:
    """A name, what a case becomes on this side, and the environment that it is measured in."""

    name: str
    change: Callable[[Case], Case]
    environment: str


class FuzzedSpace:
    """The inputs of an operator as a space to search. Its candidates are items."""

    def __init__(self, operator: FuzzedOperator, direction: str = "forward", device: str = "cpu") -> None:
        self._operator = operator
        self._fields = {"direction": direction, "device": device}

    def sample(self, number: int) -> Item:
        """A random input."""
        return self._operator.fuzzer.describe(number)

    def neighbour(self, parent: Item, number: int) -> Item | None:
        """One that differs a little from another."""
        return self._operator.fuzzer.neighbour(parent, number)

    def key(self, candidate: Item) -> str:
        """The id of its case."""
        return case_id(self.case(candidate))

    def case(self, candidate: Item) -> Case:
        """The call with this input."""
        return self._operator.case(candidate, **self._fields)


class PairMeasure:
    """Measures inputs on both sides, one input after the other, and who goes first in turn."""

    def __init__(
        self,
        space: FuzzedSpace,
        sides: tuple[Side, Side],
        options: Options,
        *,
        listener: Listener | None = None,
        stop: StopSignal | None = None,
        make_worker: WorkerFactory | None = None,
    ) -> None:
        self._space = space
        self._sides = sides
        self._options = options
        self._listener = listener
        self._stop = stop
        self._make_worker = make_worker
        self.problems: list[str] = []

    def __call__(self, candidates: Sequence[Item]) -> list[Difference | None]:
        """The times of each candidate on both sides; None where one of them has none."""
        pairs = [self.cases(candidate) for candidate in candidates]
        rows: dict[tuple[str, str], Measurement] = {}
        for suite, options in self._suites(pairs):
            stream = execute(
                suite, options, listener=self._listener, stop=self._stop, make_worker=self._make_worker
            )
            for row in stream:
                rows[row.environment, row.case_id] = row
        return [self._difference(pair, rows) for pair in pairs]

    def cases(self, candidate: Item) -> tuple[Case, Case]:
        """What a candidate is on either side."""
        case = self._space.case(candidate)
        first, second = self._sides
        return first.change(case), second.change(case)

    def _suites(self, pairs: Sequence[tuple[Case, Case]]) -> list[tuple[Suite, Options]]:
        if not pairs:
            return []
        first, second = self._sides
        if first.environment != second.environment:
            # Every case goes through both environments before the next one; for half of them, the other one
            # goes first.
            forth = dict(self._options.environments)
            back = dict(reversed(forth.items()))
            halves = (pairs[::2], forth), (pairs[1::2], back)
            return [
                (_suite([first for first, _ in half]), replace(self._options, environments=environments))
                for half, environments in halves
                if half
            ]
        cases = [case for index, pair in enumerate(pairs) for case in (pair[::-1] if index % 2 else pair)]
        spec = self._options.environments[first.environment]
        return [(_suite(cases), replace(self._options, environments={first.environment: spec}))]

    def _difference(
        self, pair: tuple[Case, Case], rows: dict[tuple[str, str], Measurement]
    ) -> Difference | None:
        estimates = []
        for side, case in zip(self._sides, pair, strict=True):
            row = rows.get((side.environment, case_id(case)))
            if row is None:
                return None
            estimate = _estimate(row)
            if estimate is None:
                self.problems.append(f"{side.name}: {row.status}: {row.reason}")
                return None
            estimates.append(estimate)
        return Difference(*estimates)


def _suite(cases: list[Case]) -> Suite:
    return Suite("fuzzed pairs", lambda: cases, len(cases))


def _estimate(row: Measurement) -> Estimate | None:
    time = row.metric("time")
    if row.status != "ok" or time is None or not time.value or time.value <= 0:
        return None
    low, high = (time.interval.low, time.interval.high) if time.interval else (time.value, time.value)
    # A time less what an empty loop takes may reach down to nothing.
    return Estimate(float(time.value), max(low, time.value / 1000), high)
