"""Compare: many measurements in tables, in place of `torch.utils.benchmark.Compare` and beyond it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from opbench.cases.errors import ArgumentError
from opbench.cases.suggest import nearest
from opbench.reports.compare import as_markup, as_records, contrasts, entries, grid, selection
from opbench.reports.compare.as_text import text_of
from opbench.reports.compare.contrasts import Across, Baseline
from opbench.reports.compare.sheet import Look, Sheet, sheet_of
from opbench.reports.compare.tones import Colorize
from opbench.reports.compare.verdicts import Significance
from opbench.results.timing import Measurement

_ACROSS: tuple[Across, ...] = ("columns", "rows", "envs")
# So many names are told where one is not known.
_MOST_NAMES = 8


class Compare:
    """Shows measurements: a table for each label, a row for each sub-label, a column for each description.

    `results` are measurements of Timers, of `opbench.run(...)`, of a store, or torch's own. Replicates are
    merged. With `torch_compatible`, rounding, colours and warnings are torch's; that is the default only
    where a clock was put in place of the real one.
    """

    def __init__(self, results: Iterable[Any], *, torch_compatible: bool | None = None) -> None:
        self._results: list[entries.Result] = []
        self._torch_compatible = torch_compatible
        self._trims = False
        self._warns = False
        self._colorize = Colorize.NONE
        self._filters: list[selection.Filter] = []
        self._sorting: selection.Sorting | None = None
        self._baseline: Baseline | None = None
        self._significance: Significance | None = None
        self.extend_results(results)

    def extend_results(self, results: Iterable[Any]) -> None:
        """Add measurements to those that are there."""
        self._results += entries.checked(results)

    def trim_significant_figures(self) -> None:
        """Show no more figures than are known."""
        self._trims = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour each time by how it compares with the best of its column, or of its row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark the times that one should not rely on, and say why."""
        self._warns = True

    def show_ratios(
        self,
        to: str | None = None,
        *,
        across: Across | None = None,
        column: str | None = None,
        row: str | None = None,
        env: str | None = None,
    ) -> None:
        """Put beside each time its ratio to a baseline: a column, row or environment by name, or `to` one.

        `to` is "first" (the default) or "best", `across` the "columns" (the default where there are several),
        "rows" or "envs".
        """
        named = {"columns": column, "rows": row, "envs": env}
        given = [(kind, text) for kind in _ACROSS if (text := named[kind]) is not None]
        if len(given) > 1 or (given and (to is not None or across is not None)):
            raise ArgumentError("show_ratios takes column, row or env, or else to and across, not several")
        if to not in (None, "first", "best"):
            raise ArgumentError(
                f"to must be 'first' or 'best', not {to!r}; a column, row or env is named by its own keyword"
            )
        if across not in (None, *_ACROSS):
            raise ArgumentError(f"across must be one of {', '.join(_ACROSS)}, not {across!r}")
        grids = self._grids()
        if given:
            self._baseline = _named(grids, *given[0])
            return
        several = not grids or any(len(one.columns) > 1 for one in grids)
        usual: Across = "columns" if several else "rows"
        self._baseline = Baseline(across or usual, "best" if to == "best" else "first")

    def show_significance(
        self, confidence: float = 0.95, *, same_within: float = 0.01, drift: float = 0.05
    ) -> None:
        """Put a verdict beside each ratio: faster, slower, same (within a share) or undecided.

        The confidence is that of all verdicts together. `drift` is how far two measurements of one thing may
        differ, as a share; it counts where there are too few replicates to see that.
        """
        if not 0 < _number(confidence, "confidence") < 1:
            raise ArgumentError(f"confidence must be above 0 and below 1, not {confidence!r}")
        for name, share in (("same_within", same_within), ("drift", drift)):
            if not 0 <= _number(share, name) < 1:
                raise ArgumentError(f"{name} must be a share from 0 on and below 1, not {share!r}")
        self._significance = Significance(confidence, same_within, drift)
        if self._baseline is None:
            self.show_ratios()

    def sort(self, by: selection.Order = "time", *, descending: bool = False) -> None:
        """Order the rows of each block by "time" (the shortest of a row), "name" or "ratio"."""
        if by not in selection.ORDERS:
            near = nearest(by, selection.ORDERS) if isinstance(by, str) else ""
            hint = f"; did you mean {near!r}?" if near else ""
            raise ArgumentError(f"by must be one of {', '.join(selection.ORDERS)}, not {by!r}{hint}")
        if by == "ratio" and self._baseline is None:
            raise ArgumentError("by is 'ratio', but there are no ratios: call show_ratios first")
        self._sorting = selection.Sorting(by, descending)

    def filter(
        self,
        keep: Callable[[Measurement], Any] | str | None = None,
        *,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
    ) -> None:
        """Show only what passes: a function of the measurement, or texts that its names have in them.

        A text alone is looked for in all names. Of several filters, all must let a measurement pass.
        """
        fields = {"label": label, "sub_label": sub_label, "description": description}
        texts = {"": keep, **fields} if isinstance(keep, str) else fields
        for name, text in texts.items():
            if text is not None and not isinstance(text, str):
                raise ArgumentError(f"{name} must be a text, not {type(text).__name__}")
        if keep is not None and not isinstance(keep, str) and not callable(keep):
            raise ArgumentError(f"keep must be a function or a text, not {type(keep).__name__}")
        function = keep if keep is not None and not isinstance(keep, str) else None
        found = tuple((name, text) for name, text in texts.items() if isinstance(text, str))
        self._filters.append(selection.Filter(function, found))

    def print(self, stream: TextIO | None = None, *, width: int | None = None) -> None:
        """Write the tables to a stream, by default to standard output.

        On a terminal (or with a width), columns that do not fit stand below the others.
        """
        target = sys.stdout if stream is None else stream
        if width is None and target.isatty() and not self._as_torch():
            width = shutil.get_terminal_size().columns
        target.write(f"{self._text(width)}\n")

    def __str__(self) -> str:
        return self._text(None)

    def to_markdown(self) -> str:
        """The tables as Markdown."""
        return "\n".join(as_markup.markdown_of(sheet) for sheet in self._sheets())

    def to_html(self) -> str:
        """The tables as a page that needs nothing from elsewhere."""
        return as_markup.page_of(self._sheets())

    def _repr_html_(self) -> str:
        return as_markup.html_of(self._sheets())

    def to_csv(self) -> str:
        """One line for each measurement, with all its names and numbers; times in seconds."""
        return as_records.csv_of(self.to_records())

    def to_json(self) -> str:
        """A JSON list: an object for each measurement, with all its names and numbers; times in seconds."""
        return as_records.json_of(self.to_records())

    def to_dataframe(self, library: as_records.Library | None = None) -> Any:
        """A data frame of "pandas" or "polars", with a row for each measurement."""
        return as_records.frame_of(self.to_records(), library)

    def to_records(self) -> list[dict[str, Any]]:
        """A dict for each measurement, with all its names and numbers; times in seconds."""
        grids, _ = self._content()
        return list(as_records.records_of(grids))

    def _text(self, width: int | None) -> str:
        as_torch = self._as_torch()
        sheets = self._sheets()
        if self._results and not sheets:
            return "No measurement passes the filter.\n"
        return "\n".join(text_of(sheet, as_torch=as_torch, width=width) for sheet in sheets)

    def _sheets(self) -> list[Sheet]:
        grids, comparisons = self._content()
        look = Look(
            self._as_torch(),
            self._trims,
            self._warns,
            self._colorize,
            self._baseline,
            self._significance,
        )
        return [sheet_of(one, look, comparisons) for one in grids]

    def _content(self) -> tuple[list[grid.Grid], int]:
        """The tables with their ratios, rows in their order, and how many comparisons that makes."""
        grids, comparisons = self._grids(), 0
        if self._baseline is not None:
            grids, comparisons = contrasts.contrasted(grids, self._baseline, self._significance)
        if self._sorting is not None:
            grids = [selection.ordered(one, self._sorting) for one in grids]
        return grids, comparisons

    def _grids(self) -> list[grid.Grid]:
        found = entries.merged(self._results)
        return grid.grids([entry for entry in found if all(one.lets_pass(entry) for one in self._filters)])

    def _as_torch(self) -> bool:
        if self._torch_compatible is not None:
            return self._torch_compatible
        return bool(self._results) and all(
            isinstance(result, Measurement) and result.source == "replaced" for result in self._results
        )


def _named(grids: list[grid.Grid], across: Across, name: str) -> Baseline:
    known = contrasts.names(grids, across)
    if grids and name not in known:
        near = nearest(name, known) if isinstance(name, str) else ""
        some = ", ".join(map(repr, known[:_MOST_NAMES])) + (", ..." if len(known) > _MOST_NAMES else "")
        hint = f"; did you mean {near!r}?" if near else f": there are {some}"
        raise ArgumentError(f"{across[:-1]} {name!r} is none of those compared{hint}")
    return Baseline(across, "named", name)


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentError(f"{name} must be a number, not {type(value).__name__}")
    return value
