"""What a person asked `opbench run` for, as data: kept with the run, so that `--resume` needs no more."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from opbench.cases.errors import OpbenchError, UsageError
from opbench.cases.model import Direction, Language
from opbench.cases.paths import user_path
from opbench.cases.plan import Plan
from opbench.execution.options import Isolation, Options
from opbench.results.records import Run, Status
from opbench.sources import builtin_suites


class Request(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The suite and the options of a run. Paths are absolute, so that it means the same from anywhere."""

    suites: tuple[str, ...] = ()
    op: str = ""
    args: tuple[str, ...] = ()
    kwargs: tuple[str, ...] = ()
    build_args: tuple[str, ...] = ()
    build_kwargs: tuple[str, ...] = ()
    fuzz: str = ""
    n: int | None = None
    fuzzer: str = ""
    stmt: str = ""
    setup: str = ""
    global_setup: str = ""
    language: Language = "python"
    label: str = ""
    directions: tuple[Direction, ...] = ()
    runtime: str = ""
    device: str = ""
    num_threads: int | None = None
    dtype: str = ""
    seed: int | None = None
    allow_snippets: bool = False

    isolation: Isolation = "fork"
    environments: dict[str, str] = {}
    operators: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    filter: str = ""
    repeat: int = 1
    shuffle: int | None = None
    shard: tuple[int, int] | None = None
    jobs: int = 1
    oversubscribe: bool = False
    retries: dict[Status, int] = {}
    fail_fast: bool = False

    def options(self, plan: Plan) -> Options:
        """How the library is to execute this."""
        return Options(
            plan=plan,
            isolation=self.isolation,
            environments=self.environments or {"this": ""},
            operators=self.operators,
            allow=self.allow,
            filter=self.filter,
            shuffle=self.shuffle,
            shard=self.shard,
            repeat=self.repeat,
            jobs=self.jobs,
            oversubscribe=self.oversubscribe,
            retries=self.retries,
            fail_fast=self.fail_fast,
        )


WORK = ("suites", "op", "fuzz", "stmt")
# What says more about one of them, and goes with it.
_OF_WORK = ("args", "kwargs", "n", "fuzzer")


def request_from(arguments: argparse.Namespace, resumed: Run | None = None) -> Request:
    """The request of a command line. What it does not mention is as in the run that is resumed."""
    given: dict[str, Any] = {}
    for field in msgspec.structs.fields(Request):
        value = getattr(arguments, field.name, None)
        if value is not None and value is not False and value != []:
            given[field.name] = value
    if "op" in given and "suites" in given:
        if "args" in given:
            raise UsageError("give the arguments of --op one way: behind the flags, or each with --arg")
        given["args"] = given.pop("suites")
    if "suites" in given:
        # Whatever is in the folder, a built-in suite is meant by its name.
        own = builtin_suites()
        given["suites"] = [text if text in own else _absolute(text) for text in given["suites"]]
    if "operators" in given:
        given["operators"] = [_absolute(text) for text in given["operators"]]
    if "environments" in given:
        given["environments"] = {name: _absolute(spec) for name, spec in dict(given["environments"]).items()}
    if "retries" in given:
        given["retries"] = dict(given["retries"])
    base: dict[str, Any] = {}
    if resumed is not None:
        base = dict(resumed.request)
        if any(name in given for name in WORK):
            # Another way of saying what to measure takes the place of the first one whole.
            base = {name: value for name, value in base.items() if name not in (*WORK, *_OF_WORK)}
    try:
        request = msgspec.convert(base | given, Request)
    except msgspec.ValidationError as error:
        raise OpbenchError(
            f"what run {resumed.run_id if resumed else ''} was asked for cannot be read: {error}"
        ) from None
    return _checked(request)


def _checked(request: Request) -> Request:
    ways = [
        name
        for name, there in zip(
            ("SUITE", "--op", "--fuzz", "--stmt"), (getattr(request, name) for name in WORK), strict=True
        )
        if there
    ]
    if not ways:
        raise UsageError(
            "say what to measure: a suite (opbench list names some), --op NAME, --fuzz NAME or --stmt CODE"
        )
    if len(ways) > 1:
        raise UsageError(f"{' and '.join(ways)} exclude each other")
    if not request.op and (request.args or request.kwargs or request.build_args or request.build_kwargs):
        raise UsageError("--arg, --kwarg, --build-arg and --build-kwarg belong to --op")
    if not request.fuzz and (request.n is not None or request.fuzzer):
        raise UsageError("--n and --fuzzer belong to --fuzz")
    if not request.stmt and (request.setup or request.global_setup or request.language != "python"):
        raise UsageError("--setup, --global-setup and --language belong to --stmt")
    if request.suites and (request.directions or request.label):
        raise UsageError(
            "--direction and --label belong to --op, --fuzz and --stmt; in a suite choose with --filter"
        )
    return request


def _absolute(text: str) -> str:
    path = user_path(text)
    # No text is no path, though Path("") is the current folder: `--env NAME=` is this interpreter.
    return str(path.absolute()) if text and path.exists() else text
