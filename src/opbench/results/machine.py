"""What this machine reached at best: bandwidth and peaks, measured once, kept in the user's cache folder."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


class Bandwidth(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Bytes read and written in a second by a large copy. `spread` is how far below the best its median was.

    Data that fits into `cache_bytes` (the last-level cache) may move faster than this.
    """

    device: str
    num_threads: int
    bytes_per_s: float
    spread: float = 0.0
    working_set_bytes: int = 0
    cache_bytes: int = 0


class Peak(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Floating-point operations in a second of a large matrix product, for one dtype."""

    device: str
    num_threads: int
    dtype: str
    flops_per_s: float
    spread: float = 0.0
    size: int = 0


class Calibration(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All that was measured on one machine with one build of the framework."""

    fingerprint: str
    version: int = CALIBRATION_VERSION
    taken_at: str = ""
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


def machine_fingerprint(hello: Mapping[str, Any]) -> str:
    """A hash of the machine, its settings and the framework's build, for a worker that said this hello."""
    framework = hello.get("framework") or {}
    return digest({**_facts(), "framework": {name: framework.get(name) for name in _FRAMEWORK}})


def calibration_file(fingerprint: str, folder: Path | None = None) -> Path:
    """Where the calibration with this fingerprint is kept."""
    return (folder or cache_folder()) / "calibration" / f"{fingerprint}.json"


def load_calibration(hello: Mapping[str, Any], folder: Path | None = None) -> Calibration | None:
    """What was calibrated where this worker runs; None when nothing was, or it cannot be read."""
    fingerprint = machine_fingerprint(hello)
    try:
        text = calibration_file(fingerprint, folder).read_bytes()
        calibration = msgspec.json.decode(text, type=Calibration)
    except (OSError, RuntimeError, ValueError):
        return None
    same = calibration.fingerprint == fingerprint and calibration.version == CALIBRATION_VERSION
    return calibration if same else None


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
