"""What the examples have in common: flags and words."""

from __future__ import annotations

import argparse

from opbench.benchmark import select_unit


def parser(name: str, about: str) -> argparse.ArgumentParser:
    """A parser for the flags of an example."""
    return argparse.ArgumentParser(
        prog=f"python -m opbench.examples.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def count(text: str) -> int:
    """A flag that is a whole number from 1 on."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"it must be 1 or more, not {number}")
    return number


def seconds(text: str) -> float:
    """A flag that is a time above 0."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"it must be above 0 s, not {text}")
    return number


def in_words(time_s: float) -> str:
    """A time with three figures and its unit."""
    unit, scale = select_unit(time_s)
    return f"{time_s / scale:.3g} {unit}"
