"""Cases and suites as lines: what would run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.cells import cell_len

from opbench.cases.identity import case_id
from opbench.cases.model import Case
from opbench.reports.inputs import describe_inputs, describe_variant, short_op
from opbench.reports.table import LONGEST_CELL, Line
from opbench.reports.text import left, printable, shorten, wrap

_ID_WIDTH = 16
_DIRECTIONS = {"forward": "fwd", "backward": "bwd", "forward_backward": "f+b"}
_OPERATOR = "operator"
_LEAST_TEXT = 30
# For running text in a pipe.
_PIPE_WIDTH = 100


class CaseLines:
    """One line for each case: id, direction, operator, inputs. `width` None cuts nothing.

    The operators of `ahead`, the first cases to come, say how wide their column is.
    """

    def __init__(self, width: int | None, ahead: Iterable[Case], extra: tuple[str, ...] = ()) -> None:
        taken = _ID_WIDTH + 2 + 3 + sum(2 + len(title) for title in extra) + 2
        text_width = LONGEST_CELL * 2 if width is None else max(width - taken, _LEAST_TEXT)
        longest = max((cell_len(printable(short_op(case.name))) for case in ahead), default=0)
        self._extra = extra
        self._name_width = max(min(longest, text_width // 2), len(_OPERATOR))
        self._inputs_width = None if width is None else text_width - self._name_width - 2

    def header(self) -> Line:
        """The titles of the columns."""
        titles = [left("case", _ID_WIDTH), "   ", *self._extra, left(_OPERATOR, self._name_width), "inputs"]
        return [("  ".join(titles), "bold underline")]

    def line(self, case: Case, extra: tuple[str, ...] = ()) -> Line:
        """A case, with the texts of the extra columns."""
        name, inputs = printable(short_op(case.name)), printable(_inputs(case))
        if self._inputs_width is not None:
            name, inputs = shorten(name, self._name_width), shorten(inputs, self._inputs_width)
        cells = [f"{text:>{len(title)}}" for title, text in zip(self._extra, extra, strict=True)]
        start = "  ".join([_DIRECTIONS[case.direction], *cells])
        return [
            (f"{case_id(case)}  ", "dim"),
            (f"{start}  ", ""),
            (left(name, max(self._name_width, cell_len(name))), "bold"),
            (f"  {inputs}".rstrip(), ""),
        ]


def _inputs(case: Case) -> str:
    parts: Iterator[str] = iter((case.sub_label, describe_variant(case), describe_inputs(case)))
    return " · ".join(part for part in parts if part)


class SuiteLines:
    """A line or more for each suite: its name, how many cases, and what it is for."""

    def __init__(self, width: int | None, names: Iterable[str]) -> None:
        self._name_width = max([len(name) for name in names] + [len("suite")])
        self._text_width = max((width or _PIPE_WIDTH) - self._name_width - 10, _LEAST_TEXT)

    def header(self) -> Line:
        """The titles of the columns."""
        return [(f"{left('suite', self._name_width)}  {'cases':>6}  what it is for", "bold underline")]

    def lines(self, name: str, count: int | None, description: str) -> Iterator[Line]:
        """A suite, its description wrapped."""
        texts = wrap(printable(description), self._text_width) or [""]
        number = "" if count is None else str(count)
        yield [(left(name, self._name_width), "bold"), (f"  {number:>6}  {texts[0]}", "")]
        for text in texts[1:]:
            yield [(" " * (self._name_width + 10) + text, "")]
