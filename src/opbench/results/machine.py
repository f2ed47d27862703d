"""What this machine reached at best: bandwidth and peaks, measured once, kept in the user's cache folder."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec

from opbench.cases.identity import digest
from opbench.results.hardware import machine_facts, settings_facts

# Raise it when what is measured changes; older files are as good as none.
CALIBRATION_VERSION = 1

# What decides how fast the machine is, of all facts about it.
_MACHINE = (
    "architecture",
    "cpu",
    "cpu_family",
    "cpus_logical",
    "cores_physical",
    "memory_gib",
    "accelerators",
)
_SETTINGS = ("cpu_quota", "governor", "limit_mhz", "turbo", "smt")
_FRAMEWORK = ("name", "version", "git", "build", "cuda", "hip", "cpu_capability")


Positive: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]
Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class Bandwidth(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Bytes read and written in a second by a large copy. `spread` is how far below the best its median was.

    Data that fits into `cache_bytes` (the last-level cache) may move faster than this.
    """

    device: str
    num_threads: int
    bytes_per_s: Positive
    spread: Share = 0.0
    working_set_bytes: Count = 0
    cache_bytes: Count = 0


class Peak(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Floating-point operations in a second of a large matrix product, for one dtype."""

    device: str
    num_threads: int
    dtype: str
    flops_per_s: Positive
    spread: Share = 0.0
    size: Count = 0


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """All that was measured on one machine with one build of the framework."""

    fingerprint: str
    version: int = CALIBRATION_VERSION
    taken_at: str = ""
    # What the fingerprint is a hash of, to say what is another now.
    facts: dict[str, dict[str, Any]] = {}
    bandwidths: tuple[Bandwidth, ...] = ()
    peaks: tuple[Peak, ...] = ()
    # What could not be measured, and why.
    problems: tuple[str, ...] = ()

    def bandwidth(self, device: str, num_threads: int) -> Bandwidth | None:
        """The bandwidth of a device with so many threads."""
        return next((entry for entry in self.bandwidths if _fits(entry, device, num_threads)), None)

    def peak(self, device: str, num_threads: int, dtype: str) -> Peak | None:
        """The peak of a device with so many threads, for a dtype."""
        return next(
            (entry for entry in self.peaks if entry.dtype == dtype and _fits(entry, device, num_threads)),
            None,
        )


def _fits(entry: Bandwidth | Peak, device: str, num_threads: int) -> bool:
    if _numbered(entry.device) != _numbered(device):
        return False
    # Threads of the host say nothing about how fast an accelerator is.
    return device.partition(":")[0] != "cpu" or entry.num_threads == num_threads


def _numbered(device: str) -> tuple[str, str]:
    kind, _, index = device.partition(":")
    return kind, index or "0"


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for what can be made again (XDG_CACHE_HOME, else ~/.cache)."""
    # The XDG specification says to ignore relative paths.
    given = Path(environ.get("XDG_CACHE_HOME", ""))
    base = given if given.is_absolute() else Path("~/.cache").expanduser()
    return base / "opbench"


class Lookup(NamedTuple):
    """A calibration, or why there is none. `unusable`: a file is there that should have been one."""

    calibration: Calibration | None
    reason: str = ""
    unusable: bool = False


def calibration_facts(hello: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the limits of a machine depend on, for a worker that said this hello."""
    framework = hello.get("framework") or {}
    return {**_facts(), "framework": {name: framework.get(name) for name in _FRAMEWORK}}


def machine_fingerprint(hello: Mapping[str, Any]) -> str:
    """A hash of the machine, its settings and the framework's build, for a worker that said this hello."""
    return digest(calibration_facts(hello))


def calibration_file(fingerprint: str, folder: Path | None = None) -> Path:
    """Where the calibration with this fingerprint is kept."""
    return (folder or cache_folder()) / "calibration" / f"{fingerprint}.json"


def load_calibration(hello: Mapping[str, Any], folder: Path | None = None) -> Calibration | None:
    """What was calibrated where this worker runs; None when nothing was, or it cannot be read."""
    return find_calibration(hello, folder).calibration


def find_calibration(hello: Mapping[str, Any], folder: Path | None = None) -> Lookup:
    """What was calibrated where this worker runs, or why that is not known."""
    facts = calibration_facts(hello)
    fingerprint = digest(facts)
    try:
        path = calibration_file(fingerprint, folder)
    except RuntimeError:  # no home folder
        return Lookup(None, "there is no folder for caches: neither XDG_CACHE_HOME nor a home folder")
    found = _read(path)
    if isinstance(found, Calibration):
        if found.fingerprint == fingerprint:
            return Lookup(found)
        return Lookup(None, f"{path} was taken elsewhere (its fingerprint is another)", unusable=True)
    return Lookup(None, found, unusable=True) if found else Lookup(None, _elsewhere(facts, path.parent))


def _read(path: Path) -> Calibration | str:
    """The calibration in a file, or what is wrong with it; nothing is, when there is none."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    try:
        version = msgspec.json.decode(text, type=_Versioned).version
        if version != CALIBRATION_VERSION:
            return f"{path} has version {version}; this opbench reads version {CALIBRATION_VERSION}"
        return msgspec.json.decode(text, type=Calibration)
    except (ValueError, RecursionError) as error:
        return f"{path} is no calibration: {error}"


class _Versioned(msgspec.Struct):
    version: int


def _elsewhere(facts: Mapping[str, Mapping[str, Any]], folder: Path) -> str:
    """What is another here than where the calibrations were taken that there are."""
    try:
        others = [
            found for path in sorted(folder.glob("*.json")) if not isinstance(found := _read(path), str)
        ]
    except OSError:
        others = []
    if not others:
        return "nothing was calibrated yet"
    nearest = min((_changes(other.facts, facts) for other in others), key=len)
    said = "; ".join(nearest) or "something that it did not note"
    return f"nothing was calibrated as this machine is now; since the nearest calibration changed {said}"


def _changes(before: Mapping[str, Mapping[str, Any]], now: Mapping[str, Mapping[str, Any]]) -> list[str]:
    changes = []
    for section in sorted({*before, *now}):
        old, new = before.get(section, {}), now.get(section, {})
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                values = [str(value)[:40] for value in (old.get(name), new.get(name))]
                said = "" if name in ("build", "git") else f" ({values[0]}, now {values[1]})"
                changes.append(f"{section} {name.replace('_', ' ')}{said}")
    return changes


def merged(older: Calibration | None, newer: Calibration) -> Calibration:
    """The newer calibration, and of the older one what was not measured again."""
    if older is None or older.fingerprint != newer.fingerprint:
        return newer
    bandwidths = {(entry.device, entry.num_threads): entry for entry in older.bandwidths + newer.bandwidths}
    peaks = {(entry.device, entry.num_threads, entry.dtype): entry for entry in older.peaks + newer.peaks}
    return msgspec.structs.replace(newer, bandwidths=tuple(bandwidths.values()), peaks=tuple(peaks.values()))


def save_calibration(calibration: Calibration, folder: Path | None = None) -> Path:
    """Keep a calibration; whoever reads at the same time sees the old file or the new one, whole."""
    path = calibration_file(calibration.fingerprint, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(calibration), indent=2)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".calibration-")
    try:
        with open(descriptor, "wb") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return path


@functools.cache
def _facts() -> dict[str, Any]:
    machine, settings = machine_facts(), settings_facts()
    return {
        "machine": {name: machine.get(name) for name in _MACHINE},
        "settings": {name: settings.get(name) for name in _SETTINGS},
    }
