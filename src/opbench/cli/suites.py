"""The suite that a request names or spells out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opbench.cases.builders import call, parse_argument, snippet
from opbench.cases.change import change_suite
from opbench.cases.errors import UsageError
from opbench.cases.filter import compile_filter
from opbench.cases.model import Case, Suite, suite_of
from opbench.cases.plan import Plan
from opbench.cases.values import AnyValue
from opbench.cli.request import Request
from opbench.execution.registered_tags import with_registered_tags
from opbench.sources import open_sources

# Random inputs, where nobody says how many.
USUAL_COUNT = 100
_CHANGES = ("device", "num_threads", "runtime", "seed")


def requested_suite(request: Request) -> Suite:
    """The suite of a request, every case changed as it asks for."""
    fields = {name: value for name in _CHANGES if (value := getattr(request, name)) not in (None, "")}
    dtype = request.dtype
    if request.fuzz:
        # They say what is drawn, and not what becomes of it.
        fields.pop("seed", None)
        dtype = ""
    suite = change_suite(_original(request), fields, dtype)
    suite = with_registered_tags(suite, request.options(Plan()))
    if request.filter and not any(map(compile_filter(request.filter), suite)):
        raise UsageError(f"no case matches --filter {request.filter!r}; opbench list shows what there is")
    return suite


def _original(request: Request) -> Suite:
    if request.op:
        return suite_of(request.label or request.op, _calls(request))
    if request.fuzz:
        return _fuzzed(request)
    if request.stmt:
        return suite_of(request.label or "statement", [_snippet(request)])
    return open_sources(request.suites, allow_snippets=request.allow_snippets)


def _calls(request: Request) -> Iterable[Case]:
    args = [parse_argument(text) for text in request.args]
    kwargs = _named("--kwarg", request.kwargs)
    build = None
    if request.build_args or request.build_kwargs:
        build = {
            "args": [parse_argument(text) for text in request.build_args],
            "kwargs": _named("--build-kwarg", request.build_kwargs),
        }
    for direction in request.directions or ("forward",):
        yield call(
            request.op,
            *args,
            kwargs=kwargs,
            build=build,
            direction=direction,
            label=request.label,
            folder=".",
        )


def _fuzzed(request: Request) -> Suite:
    from opbench.sources.fuzzing import fuzzed_cases

    return fuzzed_cases(
        request.fuzz,
        USUAL_COUNT if request.n is None else request.n,
        request.seed or 0,
        fuzzer=request.fuzzer or None,
        dtype=request.dtype,
        directions=request.directions or ("forward",),
        label=request.label,
    )


def _snippet(request: Request) -> Case:
    labels: dict[str, Any] = {"label": request.label} if request.label else {}
    if request.directions:
        labels["direction"] = request.directions[0]
    return snippet(
        request.stmt,
        setup=request.setup,
        global_setup=request.global_setup,
        language=request.language,
        **labels,
    )


def _named(flag: str, texts: Iterable[str]) -> dict[str, AnyValue]:
    named: dict[str, AnyValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"{flag} {text!r} is not NAME=VALUE, such as dim=1")
        if name in named:
            raise UsageError(f"{flag} gives {name} twice")
        named[name] = parse_argument(value)
    return named
