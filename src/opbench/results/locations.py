"""Where a store is: the default place, a path, or a database URL."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy
from sqlalchemy.exc import ArgumentError

from opbench.cases.errors import UsageError
from opbench.cases.paths import user_path

STORE_VARIABLE = "OPBENCH_STORE"
FILE_NAME = "opbench.sqlite"


@dataclass(frozen=True)
class Location:
    """A database. `path` is its file, for SQLite; the folder of the default one is made when missing."""

    url: sqlalchemy.URL
    path: Path | None
    is_default: bool = False

    def __str__(self) -> str:
        return str(self.path) if self.path else self.shown_url

    @property
    def shown_url(self) -> str:
        """The URL for people to see: without its secrets, and without the name of our driver."""
        hidden = {key: "***" for key in self.url.query if "password" in key.lower()}
        url = self.url.set(drivername=self.url.get_backend_name()).update_query_dict(hidden)
        return url.render_as_string(hide_password=True).replace("%2A%2A%2A", "***")

    def without_secrets(self, text: str) -> str:
        """A text with the URL's passwords blotted out."""
        secrets = [str(self.url.password or "")]
        for key, given in self.url.query.items():
            if "password" in key.lower():
                secrets += [given] if isinstance(given, str) else given
        for secret in filter(None, secrets):
            text = text.replace(secret, "***")
        return text


def data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for this user's data (XDG_DATA_HOME, else ~/.local/share)."""
    # The XDG specification says to ignore relative paths.
    given = Path(environ.get("XDG_DATA_HOME", ""))
    base = given if given.is_absolute() else Path("~/.local/share").expanduser()
    return base / "opbench"


def locate(
    path_or_url: str | os.PathLike[str] | None = None, environ: Mapping[str, str] = os.environ
) -> Location:
    """What a user means by a store; None is $OPBENCH_STORE, else a file in the user's data folder."""
    text = os.fspath(path_or_url) if path_or_url is not None else environ.get(STORE_VARIABLE, "")
    if not text:
        if path_or_url is not None:
            raise UsageError("the store must be a file or a database URL, not an empty text")
        return _file(data_folder(environ) / FILE_NAME, is_default=True)
    if "://" not in text:
        return _file(_expanded(text))
    try:
        url = sqlalchemy.make_url(text)
    except (ArgumentError, ValueError):
        scheme = text.split("://")[0]  # the rest may hold a password
        raise UsageError(f"the store's URL cannot be read: {scheme}://...") from None
    return _database(url)


def _database(url: sqlalchemy.URL) -> Location:
    backend = url.drivername.split("+")[0]
    if backend == "sqlite":
        if not url.database or url.database == ":memory:" or url.query:
            raise UsageError("a SQLite store needs a file and no options, as in sqlite:///results.sqlite")
        return _file(_expanded(url.database))
    if backend not in ("postgresql", "postgres"):
        raise UsageError(f"stores are SQLite files or postgresql:// URLs, not {url.drivername}://")
    if importlib.util.find_spec("psycopg") is None:
        raise UsageError("a PostgreSQL store needs psycopg 3: install opbench[postgresql]")
    return Location(url.set(drivername="postgresql+psycopg"), None)


def _expanded(text: str) -> Path:
    if "\0" in text:
        raise UsageError("the path of a store cannot contain a NUL character")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise UsageError(f"the path of a store must be one for this file system; found {text!r}") from None
    return user_path(text)


def _file(path: Path, is_default: bool = False) -> Location:
    # A store is used for long; a later change of the working directory must not move it.
    try:
        path = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links
    except OSError:
        raise UsageError(f"{path}: the working directory, where the store would be, is gone") from None
    return Location(sqlalchemy.URL.create("sqlite+pysqlite", database=str(path)), path, is_default)
