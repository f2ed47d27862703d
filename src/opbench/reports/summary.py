"""What stands under the table: what failed and why, how much is done, where it is kept, what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from opbench.reports.format import elapsed
from opbench.reports.inputs import describe_inputs
from opbench.reports.table import Line
from opbench.reports.text import printable, shorten, wrap
from opbench.results.records import STATUSES, Measurement, Run

# A suite may fail a hundred thousand times for one reason; these many rows tell it.
MOST_SHOWN = 20
_REASON_LINES = 4


class Summary:
    """Counts rows by status and keeps the first that are not ok."""

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.last_ok = ""
        self._failures: list[Measurement] = []

    def add(self, row: Measurement) -> None:
        """One more row."""
        self.statuses[row.status] += 1
        if row.status == "ok":
            self.last_ok = row.case_id
        elif len(self._failures) < MOST_SHOWN:
            self._failures.append(row)

    @property
    def total(self) -> int:
        """How many rows there were."""
        return sum(self.statuses.values())

    @property
    def not_ok(self) -> int:
        """How many rows have no numbers, whatever the reason."""
        return self.total - self.statuses["ok"]

    @property
    def wrong(self) -> int:
        """How many rows went wrong; what was left out or is not supported did not."""
        return self.not_ok - self.statuses["skipped"] - self.statuses["unsupported"]

    def failures(self, width: int) -> Iterator[Line]:
        """A section with each row that is not ok, and its reason."""
        if not self._failures:
            return
        yield []
        yield [(f"Not measured: {self.not_ok} of {self.total}", "bold")]
        for row in self._failures:
            case = row.case
            status = row.status.replace("_", " ")
            what = f"{printable(case.name)} {printable(describe_inputs(case))}".rstrip()
            left_over = width - len(status) - len(case.direction) - len(row.case_id) - 8
            yield [
                (f"  {status}", "red"),
                (f"  {shorten(what, max(left_over, 12))}", "bold"),
                (f"  {case.direction}", ""),
                (f"  {row.case_id}", "dim"),
            ]
            lines = wrap(printable(_last_words(row.reason)), width - 6)
            for text in lines[:_REASON_LINES]:
                yield [(f"      {text}", "")]
            if len(lines) > _REASON_LINES:
                yield [("      ...", "dim")]
        if self.not_ok > len(self._failures):
            yield [(f"  and {self.not_ok - len(self._failures)} more", "")]

    def counts(self) -> str:
        """How many rows of each kind, as a sentence part: `28 measured, 1 failed, 1 timeout`."""
        parts = [f"{self.statuses['ok']} measured"]
        parts += [
            f"{self.statuses[status]} {status.replace('_', ' ')}"
            for status in STATUSES
            if status != "ok" and self.statuses[status]
        ]
        return ", ".join(parts)

    def closing(
        self, *, elapsed_s: float, run: Run | None, kept_in: str, interrupted: bool
    ) -> Iterator[Line]:
        """How it ended, where it is kept and what to type next."""
        yield []
        end = " (interrupted)" if interrupted else ""
        yield [
            (f"{self.counts()} in {elapsed(elapsed_s)}{end}", "bold" if not self.not_ok else "bold yellow")
        ]
        if run is None or not kept_in:
            yield [("Nothing was kept (--no-store).", "dim")]
            return
        yield [(f"Kept as run {run.run_id} in {printable(kept_in)}", "")]
        if interrupted:
            yield [(f"Go on with:  opbench run --resume {run.run_id}", "")]
        elif self.wrong:
            yield [(f"Once mended: opbench run --rerun-failed {run.run_id}", "")]
        if self.last_ok:
            yield [(f"One in full: opbench show {run.run_id} --case {self.last_ok}", "")]


def _last_words(reason: str) -> str:
    """The line of a traceback that says what happened is its last; of anything else, its first."""
    lines = [line for line in reason.strip().splitlines() if line.strip()]
    if not lines:
        return "no reason is known"
    return lines[-1] if lines[0].startswith("Traceback") else " ".join(lines)
