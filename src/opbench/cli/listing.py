"""Cases and suites as lines: what would run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opbench.cases.identity import case_id
from opbench.cases.model import Case
from opbench.reports.inputs import describe_inputs, describe_variant, short_op
from opbench.reports.table import Line
from opbench.reports.text import left, printable, shorten, wrap

_ID_WIDTH = 16
_DIRECTIONS = {"forward": "fwd", "backward": "bwd", "forward_backward": "f+b"}
_LEAST_TEXT = 30
# For running text in a pipe.
_PIPE_WIDTH = 100


class CaseLines:
    """One line for each case: id, direction, what is called with what. `width` None cuts nothing."""

    def __init__(self, width: int | None, extra: tuple[str, ...] = ()) -> None:
        taken = _ID_WIDTH + 5 + 2 + sum(len(title) + 2 for title in extra)
        self._extra = extra
        self._text_width = max(width - taken, _LEAST_TEXT) if width is not None else None

    def header(self) -> Line:
        """The titles of the columns."""
        titles = [left("case", _ID_WIDTH), "   ", *self._extra, "operator and inputs"]
        return [("  ".join(titles), "bold underline")]

    def line(self, case: Case, extra: tuple[str, ...] = ()) -> Line:
        """A case, with the texts of the extra columns."""
        name, inputs = printable(short_op(case.name)), printable(_inputs(case))
        cells = [f"{text:>{len(title)}}" for title, text in zip(self._extra, extra, strict=True)]
        start = "  ".join([_DIRECTIONS[case.direction], *cells])
        line: Line = [(f"{case_id(case)}  ", "dim"), (f"{start}  ", "")]
        if self._text_width is None:
            return [*line, (name, "bold"), (f"  {inputs}".rstrip(), "")]
        name = shorten(name, self._text_width)
        room = self._text_width - len(name) - 2
        return [*line, (name, "bold"), (f"  {shorten(inputs, room)}" if room > 0 and inputs else "", "")]


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
