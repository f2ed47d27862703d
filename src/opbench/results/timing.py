"""Measurement as a Timer gives it: the times of one task, and what they say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import index
from typing import Any, Literal, TypeAlias

from opbench.cases.errors import ArgumentError
from opbench.results.records import Caution, Interval, Row
from opbench.results.task import TaskSpec
from opbench.results.units import magnitude
from opbench.worker.probes.estimate import median, median_interval, quantile

# Who took the times: unknown, opbench, or a clock that was put in its place (`Timer._timer_cls`), which works
# just as torch does, down to its rounding.
Source: TypeAlias = Literal["", "opbench", "replaced"]

MOST_SIGNIFICANT_FIGURES = 4
# Whatever the samples say, no time is known better than this.
LEAST_UNCERTAINTY_S = 25e-9
NORMAL_90 = 1.645
# Interquartile ranges, relative to the median, that are worth a warning.
WIDE_SHARE = 0.1
VERY_WIDE_SHARE = 0.25
# The normal distribution's standard deviation is so many times its median absolute deviation.
MAD_TO_STD = 1.4826


def _of_task(name: str) -> property:
    return property(lambda measurement: getattr(measurement.task_spec, name), doc=f"`{name}` of the task.")


@dataclass(repr=False)
class Measurement:
    """The times of one task. `raw_times` has the seconds of each block of `number_per_run` calls.

    Fields of the task (`stmt`, `label`, `num_threads`, ...) can be read from it directly.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None
    source: Source = field(default="", kw_only=True)
    # Blocks during which something else had the processor, left out of `raw_times`.
    disturbed_times: list[float] = field(default_factory=list, kw_only=True)
    cautions: tuple[Caution, ...] = field(default=(), kw_only=True)
    # What an empty loop costs per call, where that was subtracted.
    baseline_s: float = field(default=0.0, kw_only=True)
    baseline_uncertainty_s: float = field(default=0.0, kw_only=True)
    # Everything else that was measured, as `opbench run` would keep it.
    row: Row | None = field(default=None, kw_only=True)

    stmt = _of_task("stmt")
    setup = _of_task("setup")
    global_setup = _of_task("global_setup")
    label = _of_task("label")
    sub_label = _of_task("sub_label")
    description = _of_task("description")
    env = _of_task("env")
    num_threads = _of_task("num_threads")
    language = _of_task("language")
    title = _of_task("title")
    as_row_name = _of_task("as_row_name")

    def __post_init__(self) -> None:
        if not isinstance(self.task_spec, TaskSpec):
            raise ArgumentError(f"task_spec must be a TaskSpec, not {type(self.task_spec).__name__}")
        try:
            self.number_per_run = index(self.number_per_run)
        except TypeError:
            raise ArgumentError(
                f"number_per_run must be a whole number, not {self.number_per_run!r}"
            ) from None
        if self.number_per_run < 1:
            raise ArgumentError(f"number_per_run must be at least 1, not {self.number_per_run}")
        self.raw_times = _checked_times(self.raw_times)

    @property
    def times(self) -> list[float]:
        """Seconds per call, one for each block, in the order in which they were taken."""
        return [time / self.number_per_run for time in self.raw_times]

    @cached_property
    def _ordered(self) -> list[float]:
        return sorted(self.times)

    @property
    def median(self) -> float:
        """The middle of all times."""
        return self.quantile(0.5)

    @property
    def mean(self) -> float:
        """The mean of all times."""
        return math.fsum(self._ordered) / len(self._ordered)

    @property
    def iqr(self) -> float:
        """From the first quartile to the third."""
        return self.quantile(0.75) - self.quantile(0.25)

    @property
    def min(self) -> float:
        """The shortest time."""
        return self._ordered[0]

    @property
    def max(self) -> float:
        """The longest time."""
        return self._ordered[-1]

    @property
    def std(self) -> float:
        """The standard deviation, of a sample (divided by n - 1); NaN for a single time."""
        count, mean = len(self._ordered), self.mean
        if count < 2:
            return math.nan
        return math.sqrt(math.fsum((time - mean) ** 2 for time in self._ordered) / (count - 1))

    @property
    def mad(self) -> float:
        """The median distance of a time from the median; for normal times, 1 / 1.4826 of `std`."""
        middle = self.median
        return median(sorted(abs(time - middle) for time in self._ordered))

    def quantile(self, share: float) -> float:
        """The time below which this share of all times lie, between neighbours linearly."""
        if not 0 <= share <= 1:
            raise ArgumentError(f"share must be from 0 to 1, not {share!r}")
        return quantile(self._ordered, share)

    def interval(self, confidence: float = 0.95) -> Interval | None:
        """Where the true median lies, assuming only that the times are independent.

        With the confidence that it really has, which is less than asked for with few times; None for one.
        """
        if not 0 < confidence < 1:
            raise ArgumentError(f"confidence must be above 0 and below 1, not {confidence!r}")
        span = median_interval(self._ordered, confidence)
        if span is None:
            return None
        # What is not known of the empty loop is an independent error: the squares add up.
        middle, unsure = self.median, self.baseline_uncertainty_s
        low, high = math.hypot(middle - span.low, unsure), math.hypot(span.high - middle, unsure)
        return Interval(max(0.0, middle - low), middle + high, span.confidence) if unsure else Interval(*span)

    @property
    def significant_figures(self) -> int:
        """How many figures of the median are worth showing, from 1 to 4.

        From the standard error of the middle half of the times, and never of less than 25 ns.
        """
        count = len(self._ordered)
        middle = self._ordered[count // 4 : math.ceil(3 * count / 4)]
        if self.median <= 0:
            return 1
        mean = math.fsum(middle) / len(middle)
        std = math.sqrt(math.fsum((time - mean) ** 2 for time in middle) / len(middle))
        reach = max(NORMAL_90 * std / math.sqrt(len(middle)), LEAST_UNCERTAINTY_S)
        return min(max(math.floor(magnitude(self.median / reach)), 1), MOST_SIGNIFICANT_FIGURES)

    def meets_confidence(self, threshold: float = WIDE_SHARE) -> bool:
        """Whether the interquartile range is less than this share of the median."""
        return self.iqr < threshold * self.median if self.median > 0 else self.iqr == 0

    @property
    def spread(self) -> float:
        """The interquartile range as a share of the median; infinite beside a median of zero."""
        if self.median > 0:
            return self.iqr / self.median
        return math.inf if self.iqr else 0.0

    @property
    def has_warnings(self) -> bool:
        """Whether there is something to know before believing it."""
        return bool(self.warnings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before believing it, in sentences: about the spread, then what opbench has seen."""
        found = []
        # Beside a median near zero, any spread is wide.
        is_nothing = any(caution.code == "indistinguishable" for caution in self.cautions)
        if not self.meets_confidence(WIDE_SHARE) and not is_nothing:
            means = (
                "This could indicate system fluctuation."
                if self.meets_confidence(VERY_WIDE_SHARE)
                else "This suggests significant environmental influence."
            )
            wide = f"{self.spread * 100:.1f}%"
            found.append(f"Interquartile range is {wide} of the median measurement.\n{means}")
        return (*found, *(caution.message for caution in self.cautions))

    def __repr__(self) -> str:
        from opbench.results.timing_text import described

        return described(self, object.__repr__(self))

    def _repr_html_(self) -> str:
        from opbench.results.timing_html import as_html

        return as_html(self)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, with the times of all its replicates. Metadata is left behind."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).append(measurement)
        return [_merged(task, group) for task, group in groups.items()]

    def to_json(self) -> str:
        """The measurement as JSON text, without loss."""
        from opbench.results.timing_json import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str) -> Measurement:
        """The measurement that `to_json` made this text from."""
        from opbench.results.timing_json import from_json

        return from_json(text)

    def to_torch(self) -> Any:
        """The same as a `torch.utils.benchmark.Measurement`; what that has no place for is left out."""
        from opbench.results.torch_measurements import to_torch

        return to_torch(self)

    @staticmethod
    def from_torch(measurement: Any) -> Measurement:
        """The measurement that torch's own Timer gave."""
        from opbench.results.torch_measurements import from_torch

        return from_torch(measurement)

    @staticmethod
    def from_row(row: Row, task_spec: TaskSpec) -> Measurement:
        """The times of a row that was measured, as those of this task."""
        time = row.metric("time")
        if row.status != "ok" or time is None or not time.samples:
            reason = f": {row.reason}" if row.reason else ""
            raise ArgumentError(
                f"row {row.case_id} has no times: it is {row.status.replace('_', ' ')}{reason}"
            )
        calls = max(1, int(time.provenance.get("calls_per_sample", 1)))
        flags = time.flags or (0,) * len(time.samples)
        keeps_all = time.provenance.get("estimate_from") != "clean samples"
        raw = [sample * calls for sample in time.samples]
        return Measurement(
            calls,
            [value for value, flag in zip(raw, flags, strict=True) if keeps_all or not flag],
            task_spec,
            source="opbench",
            disturbed_times=[value for value, flag in zip(raw, flags, strict=True) if flag and not keeps_all],
            cautions=row.warnings,
            baseline_s=float(time.provenance.get("baseline_s", 0.0)),
            baseline_uncertainty_s=float(time.provenance.get("baseline_uncertainty_s", 0.0)),
            row=row,
        )


def _checked_times(times: Any) -> list[float]:
    if not isinstance(times, list | tuple):
        raise ArgumentError(f"raw_times must be a list of seconds, not {type(times).__name__}")
    if not times:
        raise ArgumentError("raw_times must have at least one time; it is empty")
    for place, time in enumerate(times):
        if isinstance(time, bool) or not isinstance(time, (int, float)) or not 0 <= time < math.inf:
            raise ArgumentError(f"raw_times[{place}] must be a number of seconds from 0 on, not {time!r}")
    return list(times)


def _merged(task: TaskSpec, group: Sequence[Measurement]) -> Measurement:
    sources = {measurement.source for measurement in group}
    cautions = {(caution.code, caution.message): caution for one in group for caution in one.cautions}
    return Measurement(
        1,
        [time for measurement in group for time in measurement.times],
        task,
        source=sources.pop() if len(sources) == 1 else "",
        disturbed_times=[time / one.number_per_run for one in group for time in one.disturbed_times],
        cautions=tuple(cautions.values()),
        baseline_s=median(sorted(one.baseline_s for one in group)),
        baseline_uncertainty_s=max(one.baseline_uncertainty_s for one in group),
    )
