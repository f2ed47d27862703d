"""What is seen on stderr while a run goes on: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import IO, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from opbench.cases.model import Case
from opbench.cli.screen import make_console
from opbench.execution.options import Progress as Standing
from opbench.reports.format import elapsed, metric_text
from opbench.reports.inputs import describe_inputs, short_op
from opbench.reports.text import printable, shorten
from opbench.results.records import Measurement

# Often enough to see that something happens, seldom enough for a log that someone keeps.
SECONDS_BETWEEN_LINES = 5.0


def progress_for(quiet: bool) -> Quiet:
    """What suits stderr, and what stdout is connected to."""
    if quiet:
        return Quiet(sys.stderr)
    # What reads stdout through a pipe may write to the same terminal, into the bar.
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not _is_pipe(sys.stdout):
        return Bar(make_console(stderr=True))
    return Lines(sys.stderr)


def _is_pipe(stream: IO[str]) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def standing_text(standing: Standing) -> str:
    """How far a run is, as `12/30, 1 not ok, 20 s to go`."""
    parts = [
        f"{standing.done}/{standing.expected}" if standing.expected is not None else f"{standing.done} done"
    ]
    if standing.not_ok:
        parts.append(f"{standing.not_ok} not ok")
    if standing.eta_s is not None and standing.done != standing.expected:
        parts.append(f"about {elapsed(standing.eta_s)} to go")
    return ", ".join(parts)


class Quiet:
    """Shows only notices."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __enter__(self) -> Quiet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def case_started(self, case: Case, progress: Standing) -> None:
        """Nothing."""

    def row_finished(self, row: Measurement, progress: Standing) -> None:
        """Nothing."""

    def notice(self, message: str) -> None:
        """A line."""
        print(f"opbench: {printable(message)}", file=self._stream, flush=True)


class Lines(Quiet):
    """A line every few seconds, and one for the last row."""

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._clock = clock
        self._last = clock()

    def row_finished(self, row: Measurement, progress: Standing) -> None:
        """A line, when the last one is long enough ago."""
        now = self._clock()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        case = row.case
        took = row.metric("time")
        result = (
            metric_text(took) if took is not None and row.status == "ok" else row.status.replace("_", " ")
        )
        name = shorten(printable(f"{case.name} {describe_inputs(case)}".rstrip()), 60)
        print(f"[{standing_text(progress)}] {name} {case.direction}: {result}", file=self._stream, flush=True)


class Bar(Quiet):
    """A bar with the case in flight and the time to go, at the bottom of a terminal."""

    def __init__(self, console: Console) -> None:
        super().__init__(console.file)
        self.console = console
        self._bar = Progress(
            BarColumn(bar_width=20),
            TextColumn("{task.fields[standing]}", markup=False),
            TextColumn("{task.fields[case]}", style="dim", markup=False),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            refresh_per_second=8,
        )
        self._task = self._bar.add_task("", total=None, standing="starting the worker", case="")

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def case_started(self, case: Case, progress: Standing) -> None:
        """Show the case and how far the run is."""
        name = printable(f"{short_op(case.name)} {describe_inputs(case)}".rstrip())
        self._show(progress, f"{shorten(name, max(self.console.width - 60, 10))} {case.direction}")

    def row_finished(self, row: Measurement, progress: Standing) -> None:
        """Move the bar."""
        self._show(progress, None)

    def notice(self, message: str) -> None:
        """A line above the bar."""
        self.console.print(f"opbench: {printable(message)}", markup=False, highlight=False, soft_wrap=True)

    def _show(self, standing: Standing, case: str | None) -> None:
        fields: dict[str, Any] = {"standing": standing_text(standing)}
        if case is not None:
            fields["case"] = case
        self._bar.update(self._task, completed=standing.done, total=standing.expected, **fields)
