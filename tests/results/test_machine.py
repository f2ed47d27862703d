"""Calibrations: kept whole, found again, and not believed when they are another machine's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from opbench.results import machine
from opbench.results.machine import (
    Bandwidth,
    Calibration,
    Peak,
    cache_folder,
    calibration_facts,
    calibration_file,
    find_calibration,
    load_calibration,
    machine_fingerprint,
    merged,
    save_calibration,
)

HELLO: dict[str, Any] = {
    "framework": {
        "name": "torch",
        "version": "2.13.0",
        "git": "abc",
        "build": "flags",
        "cpu_capability": "AVX2",
        "import_s": 1.5,
        "num_threads": 4,
    }
}
FACTS: dict[str, dict[str, Any]] = {
    "machine": {"cpu": "A 9000", "cpus_logical": 8},
    "settings": {"governor": "performance"},
}


@pytest.fixture(autouse=True)
def facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_facts", lambda: FACTS)


def with_framework(**fields: Any) -> dict[str, Any]:
    return {"framework": {**HELLO["framework"], **fields}}


def calibration(hello: dict[str, Any] = HELLO, **fields: Any) -> Calibration:
    return Calibration(
        fingerprint=machine_fingerprint(hello),
        facts=calibration_facts(hello),
        **{
            "taken_at": "2026-01-01",
            "bandwidths": (Bandwidth(device="cpu", num_threads=1, bytes_per_s=1e10),),
            "peaks": (Peak(device="cpu", num_threads=1, dtype="float32", flops_per_s=1e11),),
            **fields,
        },
    )


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    kept = calibration(problems=("float8: no",))
    path = save_calibration(kept, tmp_path)
    assert path == calibration_file(kept.fingerprint, tmp_path)
    assert load_calibration(HELLO, tmp_path) == kept
    assert find_calibration(HELLO, tmp_path) == (kept, "", False)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_how_a_worker_was_started_plays_no_part() -> None:
    assert machine_fingerprint(with_framework(import_s=9.0, num_threads=1)) == machine_fingerprint(HELLO)


def test_nothing_was_calibrated_yet(tmp_path: Path) -> None:
    assert find_calibration(HELLO, tmp_path) == (None, "nothing was calibrated yet", False)


def test_another_version_of_the_framework_is_named(tmp_path: Path) -> None:
    save_calibration(calibration(), tmp_path)
    lookup = find_calibration(with_framework(version="2.14.0", git="def", build="x" * 1000), tmp_path)
    assert lookup.calibration is None
    assert not lookup.unusable
    assert "framework version (2.13.0, now 2.14.0)" in lookup.reason
    assert "framework build;" in lookup.reason
    assert len(lookup.reason) < 300


def test_another_machine_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_calibration(calibration(), tmp_path)
    other = {"machine": {"cpu": "B 100"}, "settings": {"governor": "powersave"}}
    monkeypatch.setattr(machine, "_facts", lambda: other)
    lookup = find_calibration(HELLO, tmp_path)
    assert lookup.calibration is None
    assert "machine cpu (A 9000, now B 100)" in lookup.reason
    assert "settings governor (performance, now powersave)" in lookup.reason


def test_a_file_copied_from_another_machine_is_not_believed(tmp_path: Path) -> None:
    foreign = save_calibration(calibration(with_framework(version="2.0")), tmp_path)
    foreign.rename(calibration_file(machine_fingerprint(HELLO), tmp_path))
    lookup = find_calibration(HELLO, tmp_path)
    assert lookup.calibration is None
    assert lookup.unusable
    assert "taken elsewhere" in lookup.reason


GOOD = json.loads(msgspec.json.encode(Calibration(fingerprint="x")))
BANDWIDTH = {"device": "cpu", "num_threads": 1, "bytes_per_s": 1.0}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"version": 1}',
        b'{"version": "1", "fingerprint": "x"}',
        b"[" * 100_000,
        *(
            json.dumps({**GOOD, "bandwidths": [{**BANDWIDTH, "bytes_per_s": speed}]}).encode()
            for speed in (0, -1.0, "fast", None, float("nan"), float("inf"))
        ),
        json.dumps({**GOOD, "bandwidths": [{**BANDWIDTH, "spread": 7}]}).encode(),
        json.dumps({**GOOD, "bandwidths": [BANDWIDTH]}).replace("1.0", "1e999").encode(),
    ],
    ids=lambda text: text[-40:].decode(errors="replace"),
)
def test_a_damaged_file_is_left_alone_and_the_reason_given(tmp_path: Path, text: bytes) -> None:
    path = calibration_file(machine_fingerprint(HELLO), tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    lookup = find_calibration(HELLO, tmp_path)
    assert lookup.calibration is None
    assert lookup.unusable
    assert str(path) in lookup.reason
    assert load_calibration(HELLO, tmp_path) is None
    assert path.read_bytes() == text


def test_a_version_that_is_not_known_is_left_alone(tmp_path: Path) -> None:
    path = save_calibration(calibration(), tmp_path)
    document = json.loads(path.read_bytes())
    path.write_text(json.dumps({**document, "version": 99}))
    lookup = find_calibration(HELLO, tmp_path)
    assert lookup.calibration is None
    assert "version 99" in lookup.reason


def test_a_folder_where_the_file_should_be(tmp_path: Path) -> None:
    calibration_file(machine_fingerprint(HELLO), tmp_path).mkdir(parents=True)
    lookup = find_calibration(HELLO, tmp_path)
    assert lookup.unusable
    assert "cannot be read" in lookup.reason


def test_newer_numbers_replace_older_ones_and_the_rest_stays() -> None:
    older = calibration(
        bandwidths=tuple(Bandwidth(device="cpu", num_threads=n, bytes_per_s=1e9) for n in (1, 2)),
    )
    newer = calibration(
        bandwidths=(Bandwidth(device="cpu", num_threads=2, bytes_per_s=2e9),),
        peaks=(Peak(device="cpu", num_threads=2, dtype="float32", flops_per_s=5e9),),
    )
    both = merged(older, newer)
    assert [(entry.num_threads, entry.bytes_per_s) for entry in both.bandwidths] == [(1, 1e9), (2, 2e9)]
    assert [(entry.num_threads, entry.flops_per_s) for entry in both.peaks] == [(1, 1e11), (2, 5e9)]
    assert merged(None, newer) is newer
    elsewhere = msgspec.structs.replace(older, fingerprint="other")
    assert merged(elsewhere, newer) is newer


def test_a_failed_write_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save_calibration(calibration(), tmp_path)
    before = path.read_bytes()

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        save_calibration(calibration(taken_at="later"), tmp_path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_the_cache_folder(tmp_path: Path) -> None:
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "opbench"
    for relative in ("", "somewhere"):
        assert cache_folder({"XDG_CACHE_HOME": relative}) == Path("~/.cache/opbench").expanduser()


def test_devices_are_told_apart_and_an_index_may_be_left_out() -> None:
    found = calibration(
        bandwidths=(
            Bandwidth(device="cuda:0", num_threads=1, bytes_per_s=1e9),
            Bandwidth(device="cuda:1", num_threads=1, bytes_per_s=2e9),
        )
    )
    for device, expected in {"cuda": 1e9, "cuda:0": 1e9, "cuda:1": 2e9}.items():
        entry = found.bandwidth(device, 5)
        assert entry is not None
        assert entry.bytes_per_s == expected
    assert found.bandwidth("cpu", 1) is None
    assert found.bandwidth("xpu:0", 1) is None
