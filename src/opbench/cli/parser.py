"""argparse with errors as exceptions, and with the nearest valid name in them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from opbench.cases.errors import UsageError
from opbench.cases.suggest import nearest

VERBS = {
    "run": "measure suites, or one operator or statement given here",
    "fuzz": "search for the inputs that two sides differ most on",
    "list": "what would run; without a suite, what there is to run",
    "show": "a stored run as a table, or one of its rows in full",
    "store": "where results are kept: list, delete, import, export",
    "schema": "the JSON Schema of cases or of results",
    "doctor": "what this machine can measure, how noisy it is, what is missing",
}

COLORS = ("auto", "always", "never")


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        # Beyond the usual 24 cells, so that a flag and its help share a line.
        super().__init__(prog, max_help_position=30)


class Parser(argparse.ArgumentParser):
    """Takes only whole flags, takes flags and names in any order, and never exits because of an error."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _HelpFormatter)
        super().__init__(allow_abbrev=False, add_help=False, **options)
        self._positionals.title, self._optionals.title = "arguments", "flags"
        self._everywhere = self.add_argument_group("everywhere")
        self._everywhere.add_argument("-h", "--help", action="help", help="show this and exit")
        self._everywhere.add_argument(
            "--color",
            type=one_of("way of colouring", COLORS),
            default="auto",
            metavar="|".join(COLORS),
            help="colours: on a terminal without NO_COLOR (auto), always, or never",
        )

    def format_help(self) -> str:
        """The help, with what is of least interest at its end."""
        self._action_groups.sort(key=lambda group: group is self._everywhere)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise UsageError(f"{message} (see {self.prog} --help)")

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """The arguments, or every flag that is not known with the one that was probably meant."""
        parsed, unknown = self.parse_known_intermixed_args(argv)
        flags = [text for text in unknown if text.startswith("-")] or unknown
        if flags:
            known = [flag for flag in self._option_string_actions if flag.startswith("--")]
            self.error("; ".join(_not_known(text.split("=")[0], known) for text in flags))
        return parsed


def _not_known(flag: str, known: Iterable[str]) -> str:
    if not flag.startswith("-"):
        return f"{flag!r} is one argument too many"
    near = nearest(flag, known)
    return f"there is no flag {flag}; did you mean {near}?" if near else f"there is no flag {flag}"


def one_of(what: str, names: Iterable[str]) -> Callable[[str], str]:
    """A type for arguments that takes these names only and says which is near another."""
    valid = tuple(names)

    def parse(text: str) -> str:
        if text in valid:
            return text
        near = nearest(text, valid)
        hint = f"; did you mean {near}?" if near else ""
        raise argparse.ArgumentTypeError(f"no {what} is called {text!r} (there are {', '.join(valid)}){hint}")

    return parse
