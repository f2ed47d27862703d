from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from opbench.results.store import Store

from . import postgresql


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "results.sqlite") as opened:
        yield opened


@pytest.fixture(scope="session")
def server() -> Iterator[postgresql.Server]:
    """A PostgreSQL server. Only CI insists on one."""
    folder = postgresql.binaries()
    if folder is None:
        reason = "PostgreSQL's initdb and postgres are neither on PATH nor under /usr/lib/postgresql"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with postgresql.started(folder) as running:
        yield running


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def new_place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Gives places where there is no store yet; a test that takes this runs for each kind of database."""
    if request.param == "postgresql":
        running: postgresql.Server = request.getfixturevalue("server")
        return running.new_schema
    folder = tmp_path_factory.mktemp("stores")
    numbers = count()
    return lambda: str(folder / f"{next(numbers)}.sqlite")


@pytest.fixture
def place(new_place: Callable[[], str]) -> str:
    """One such place."""
    return new_place()


@pytest.fixture
def any_store(place: str) -> Iterator[Store]:
    with Store.open(place) as opened:
        yield opened
