"""Tags and categories that operators were registered with. Only workers load operators, so one is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from opbench.cases.errors import UsageError
from opbench.cases.model import Case, Suite
from opbench.execution.environments import parse_environment
from opbench.execution.options import Options
from opbench.execution.worker import Worker, WorkerError

# By the name of an operator.
Tags: TypeAlias = Mapping[str, tuple[str, ...]]

_ASKS_FOR_TAGS = re.compile(r"\b(tag|category)\b", re.IGNORECASE)


def tags_in(hello: Mapping[str, Any]) -> Tags:
    """What a worker says about the operators that it has loaded."""
    return {name: tuple(map(str, tags)) for name, tags in hello.get("operators", {}).items()}


def tagged(case: Case, tags: Tags) -> Case:
    """The case with the tags of its operator too. Tags are labels: its id stays the same."""
    more = [tag for tag in tags.get(case.op, ()) if tag not in case.tags]
    return msgspec.structs.replace(case, tags=(*case.tags, *more)) if more else case


def with_registered_tags(suite: Suite, options: Options) -> Suite:
    """The suite with the tags of its operators, if the filter asks for tags and only a worker knows them."""
    if not (_ASKS_FOR_TAGS.search(options.filter) and any(map(_is_registered, suite))):
        return suite
    tags = _asked(options)
    return Suite(suite.name, lambda: (tagged(case, tags) for case in suite), suite.count, suite.folder)


def _is_registered(case: Case) -> bool:
    return not case.is_snippet and not case.op.startswith("torch.")


def _asked(options: Options) -> Tags:
    name, spec = next(iter(options.environments.items()))
    worker = Worker(parse_environment(name, spec), num_threads=1, operators=options.operators)
    try:
        return tags_in(worker.start())
    except WorkerError as error:
        raise UsageError(f"environment {name!r}: {error}") from None
    finally:
        worker.close()
