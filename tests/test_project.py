"""What a clone and a wheel hold: pinned dependencies, all files, and nothing of anybody's machine."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def tracked_files() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def constraints() -> list[Requirement]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    return [Requirement(line) for line in lines if line]


def wanted() -> Iterator[Requirement]:
    """All that `make` installs by name."""
    texts = [
        *PROJECT["build-system"]["requires"],
        *PROJECT["project"]["dependencies"],
        *(text for extra in PROJECT["project"]["optional-dependencies"].values() for text in extra),
        *PROJECT["dependency-groups"]["dev"],
        "pip",
    ]
    yield from (Requirement(text) for text in texts)


def applies(requirement: Requirement, extras: set[str]) -> bool:
    environment = {key: str(value) for key, value in default_environment().items()}
    return requirement.marker is None or any(
        requirement.marker.evaluate({**environment, "extra": extra}) for extra in ("", *extras)
    )


def needed() -> set[str]:
    """The names of everything that is needed here, by way of others too."""
    found: set[tuple[str, frozenset[str]]] = set()
    ahead = list(wanted())
    while ahead:
        requirement = ahead.pop()
        if not applies(requirement, set()):
            continue
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in found:
            continue
        found.add(key)
        try:
            below = metadata.requires(requirement.name) or []
        except metadata.PackageNotFoundError:
            continue
        ahead += [
            Requirement(str(one).partition(";")[0])
            for one in map(Requirement, below)
            if applies(one, requirement.extras)
        ]
    return {name for name, _ in found}


def test_a_constraint_is_an_exact_version_and_there_is_one_for_each_python() -> None:
    for requirement in constraints():
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), requirement
    for version in ("3.10", "3.11", "3.13"):
        names = [
            canonicalize_name(requirement.name)
            for requirement in constraints()
            if requirement.marker is None or requirement.marker.evaluate({"python_version": version})
        ]
        assert len(names) == len(set(names)), version


def test_everything_that_development_needs_is_pinned() -> None:
    pinned = {canonicalize_name(requirement.name) for requirement in constraints()}
    assert not needed() - pinned


def test_versions_that_are_pinned_are_versions_that_the_package_accepts() -> None:
    versions = {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in constraints()}
    for requirement in wanted():
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement


def test_a_wheel_has_every_file_of_the_package(tmp_path: Path) -> None:
    sources = {path.relative_to(ROOT / "src").as_posix() for path in tracked_files() if "src" in path.parts}
    script = f"import hatchling.build; print(hatchling.build.build_wheel({str(tmp_path)!r}))"
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    with zipfile.ZipFile(tmp_path / ended.stdout.split()[-1]) as wheel:
        assert sources <= set(wheel.namelist())
    assert {"opbench/py.typed", "opbench/sources/suites/quick.json"} <= sources


# Paths of one machine or person, and places that packages are fetched from.
FOREIGN = re.compile(
    rb"/(?:work|root|home|Users)/[a-z]|/opt/(?:wheels|pypi)|pypi\.org|pythonhosted|download\.pytorch"
)


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    named = []
    for path in tracked_files():
        if path != Path(__file__).resolve():
            named += [
                f"{path.relative_to(ROOT)}: {found.decode()}" for found in FOREIGN.findall(path.read_bytes())
            ]
    assert not named


def test_pictures_need_nothing_from_elsewhere() -> None:
    pictures = [path for path in tracked_files() if path.suffix == ".svg"]
    assert pictures
    for picture in pictures:
        links = set(re.findall(r"(?:https?:)?//[\w./-]+", picture.read_text(encoding="utf-8")))
        assert links == {"http://www.w3.org/2000/svg"}, picture
