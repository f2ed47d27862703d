"""Where lines go: colour on a terminal, plain text into a pipe, messages to stderr."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opbench.cases.errors import DocumentError, OpbenchError

if TYPE_CHECKING:
    from rich.console import Console

    from opbench.reports.table import Line

# As wide as what they stand for, so that columns stay columns.
_PLAIN = {"±": "~", "µ": "u", "×": "x", "–": "-", "…": ".", "·": "|", "≥": ">"}
_PLAIN |= dict.fromkeys("▁▂▃▄▅▆▇█", "#")
# One program, one choice: what `--color` says.
_color = "auto"


def prepare_streams() -> None:
    """Make sure that no character can stop stdout or stderr, whatever their encoding."""
    codecs.register_error("opbench", _substitute)
    # A stream that was closed by whoever started this is None.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - open for as long as the program
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="opbench")


def _substitute(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(char) or char.encode("unicode_escape").decode() for char in text), error.end


def choose_color(when: str) -> None:
    """Colours "always", "never", or "auto": on terminals, unless NO_COLOR is set."""
    global _color
    _color = when


def make_console(*, stderr: bool = False) -> Console:
    """A console that colours as was chosen."""
    from rich.console import Console

    options: dict[str, Any] = {
        "always": {"force_terminal": True, "no_color": False},
        "never": {"color_system": None},
    }
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, **options.get(_color, {}))


class Screen:
    """stdout for results."""

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()
        forced = _color == "always" or (_color == "auto" and os.environ.get("FORCE_COLOR"))
        self._console = make_console() if self.terminal or forced else None

    @property
    def width(self) -> int | None:
        """How many columns there are; None when nobody said and it is no terminal."""
        if not self.terminal and not os.environ.get("COLUMNS", "").isdigit():
            return None
        return shutil.get_terminal_size().columns

    @contextmanager
    def use(self, console: Console) -> Iterator[None]:
        """Write through a console that shows progress on the same terminal, so above its moving part."""
        before = self._console
        self._console = console if self.terminal else before
        try:
            yield
        finally:
            self._console = before

    def lines(self, lines: Iterable[Line]) -> None:
        """Write lines of styled pieces."""
        for line in lines:
            self.line(line)

    def line(self, line: Line) -> None:
        """Write one line of styled pieces."""
        if self._console is None:
            print("".join(text for text, _ in line).rstrip(), flush=True)
            return
        from rich.text import Text

        self._console.print(Text.assemble(*line), soft_wrap=True)

    def text(self, text: str) -> None:
        """Write one line as it is; for JSON."""
        print(text, flush=True)


def say(message: str) -> None:
    """A message for the person, on stderr."""
    print(message, file=sys.stderr, flush=True)


def say_error(error: OpbenchError) -> None:
    """What is wrong, one line for each problem."""
    from opbench.reports.text import printable

    messages = (
        [str(problem) for problem in error.problems] if isinstance(error, DocumentError) else [str(error)]
    )
    for message in messages:
        say(f"opbench: {printable(message)}")
