"""Helps, and the page about the command line, against what the parser really takes."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
from pathlib import Path

import pytest

from opbench.cli import main
from opbench.cli.parser import VERBS, Parser

from .conftest import Command

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGE = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
PLAN = (REFERENCE / "plan.md").read_text(encoding="utf-8")
# Sections of `run` whose flags `list` has too.
SHARED = ("Instead of a suite", "Changes to every case", "Which cases")


def parser_of(verb: str) -> Parser:
    module = importlib.import_module(f"opbench.cli.{verb}")
    parser = Parser(prog=f"opbench {verb}", description=module.__doc__)
    module.add_arguments(parser)
    return parser


def flags_of(verb: str) -> set[str]:
    actions = parser_of(verb)._option_string_actions
    # The opposite of a flag needs no line of its own.
    return {
        flag
        for flag, action in actions.items()
        if not (isinstance(action, argparse.BooleanOptionalAction) and flag.startswith("--no-"))
    }


def section(title: str, page: str = PAGE) -> str:
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^#{{1,2}} |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, title
    if found[1] == "###":
        return found[2].split("\n### ")[0]
    return found[2]


def flags_in(text: str) -> set[str]:
    """The flags that tables in the text have lines for."""
    cells = [
        cell
        for line in text.splitlines()
        if line.startswith("|")
        for cell in line.split("|")[1:-2]
        if "`-" in cell
    ]
    return set(re.findall(r"`(--?[a-z][a-z-]*)", " ".join(cells)))


@pytest.mark.parametrize("verb", VERBS)
def test_the_page_has_exactly_the_flags_that_there_are(verb: str) -> None:
    written = flags_in(section(f"opbench {verb}")) | flags_in(section("What scripts can rely on"))
    if verb in ("run", "fuzz"):
        written |= flags_in(section("Knobs", PLAN))
    if verb == "list":
        for title in SHARED:
            written |= flags_in(section(title))
    assert written == flags_of(verb)


@pytest.mark.parametrize("verb", VERBS)
def test_a_help_says_what_every_flag_is_for_and_shows_an_example(verb: str, opbench: Command) -> None:
    ended = opbench(verb, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert "examples:" in ended.out
    assert f"  opbench {verb}" in ended.out
    for action in parser_of(verb)._actions:
        assert action.help, action.option_strings
        assert len(action.help) < 120, action.help
    assert opbench("help", verb).out == ended.out


@pytest.mark.parametrize("verb", VERBS)
def test_examples_in_a_help_have_flags_that_exist(verb: str) -> None:
    parser = parser_of(verb)
    for line in parser.format_help().splitlines():
        if line.startswith("  opbench "):
            words = shlex.split(re.split(r" {3,}| > ", line.strip())[0])
            parser_of(words[1]).parse(words[2:])


def test_one_flag_means_one_thing_wherever_it_is() -> None:
    texts: dict[str, set[str]] = {}
    for verb in VERBS:
        for flag, action in parser_of(verb)._option_string_actions.items():
            texts.setdefault(flag, set()).add(action.dest)
    # `doctor` calibrates with a list of threads, and examines one environment.
    several = {flag for flag, names in texts.items() if len(names) > 1}
    assert several <= {"--env", "--budget"}


def test_all_commands_are_named_in_the_overview_and_on_the_page(opbench: Command) -> None:
    out = opbench("--help").out
    for verb in VERBS:
        assert re.search(rf"^  {verb} ", out, re.MULTILINE)
        assert f"[`{verb}`](#opbench-{verb})" in PAGE
    assert opbench().out == out


def test_every_exit_code_is_on_the_page() -> None:
    codes = {value for name, value in vars(main).items() if name.startswith("EXIT_")}
    table = section("What scripts can rely on").split("| exit code |")[1].split("```")[0]
    assert codes == set(map(int, re.findall(r"^\| (\d+) \|", table, re.MULTILINE)))
