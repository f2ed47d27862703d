"""Devices: which there are, their caches, and what they ask of torch's device modules."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from opbench.worker import devices
from opbench.worker.devices import (
    MOST_COPIES_BYTES,
    USUAL_CACHES_BYTES,
    Accelerator,
    Cpu,
    cache_bytes,
    device_for,
)
from opbench.worker.errors import Unsupported


def cache(folder: Path, index: int, level: str, kind: str, size: str) -> None:
    (folder / f"index{index}").mkdir()
    for name, text in (("level", level), ("type", kind), ("size", size)):
        (folder / f"index{index}" / name).write_text(text + "\n")


@pytest.fixture(autouse=True)
def _forget_caches() -> Any:
    yield
    cache_bytes.cache_clear()


def test_sizes_of_data_caches_are_read_by_level(tmp_path: Path) -> None:
    cache(tmp_path, 0, "1", "Data", "32K")
    cache(tmp_path, 1, "1", "Instruction", "64K")
    cache(tmp_path, 2, "2", "Unified", "1024K")
    cache(tmp_path, 3, "3", "Unified", "256M")
    assert cache_bytes(str(tmp_path)) == (32 << 10, 1 << 20, 256 << 20)


@pytest.mark.parametrize("size", ["", "many", "K", "12X"])
def test_sizes_that_cannot_be_read_are_the_usual_ones(size: str, tmp_path: Path) -> None:
    cache(tmp_path, 0, "1", "Data", size)
    assert cache_bytes(str(tmp_path)) == USUAL_CACHES_BYTES


def test_where_the_system_does_not_tell_sizes_are_the_usual_ones(tmp_path: Path) -> None:
    assert cache_bytes(str(tmp_path / "missing")) == USUAL_CACHES_BYTES


def test_a_cache_that_has_no_second_level_is_flushed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "cache_bytes", lambda: (64 << 10,))
    assert Cpu().pool_bytes(1000) == 1000
    device = Cpu()
    device.flush_cache()
    assert device._scratch.nbytes == 128 << 10


def test_a_flush_writes_to_twice_the_last_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cache_bytes", lambda: (32 << 10, 1 << 20))
    device = Cpu()
    device.flush_cache()
    device._scratch.fill_(7)
    device.flush_cache()
    assert device._scratch.nbytes == 2 << 20
    assert not device._scratch.any()


def test_a_seed_makes_torchs_numbers_the_same() -> None:
    def drawn(seed: int) -> torch.Tensor:
        Cpu().seed(seed)
        return torch.rand(3)

    assert torch.equal(drawn(5), drawn(5))
    assert not torch.equal(drawn(5), drawn(6))
    torch.manual_seed(5)
    assert torch.equal(torch.rand(3), drawn(5))


class Module:
    """A device module that notes what it is asked for."""

    def __init__(self, **more: Any) -> None:
        self.asked: list[Any] = []
        for name, value in more.items():
            setattr(self, name, value)

    def synchronize(self) -> None:
        self.asked.append("synchronize")

    def is_available(self) -> bool:
        return True

    def device_count(self) -> int:
        return 2


def offered(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    monkeypatch.setattr(torch, "get_device_module", lambda kind: module)


def test_the_cpu_is_there() -> None:
    device = device_for("cpu")
    assert (device.name, device.kind, device.asynchronous) == ("cpu", "cpu", False)
    assert device.event_pair() is None
    assert device.memory_stats() == {}
    device.synchronize()
    device.memory_reset()
    device.empty_cache()


def test_a_device_that_torch_does_not_know_is_named() -> None:
    with pytest.raises(
        Unsupported, match=f"torch {torch.__version__.split('+')[0]}.* knows no device 'abacus'"
    ):
        device_for("abacus")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_a_device_that_is_not_here_is_named() -> None:
    with pytest.raises(Unsupported, match="'cuda'"):
        device_for("cuda")


def test_a_device_beyond_the_last_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, Module(set_device=lambda index: None))
    assert device_for("xpu:1").name == "xpu:1"
    with pytest.raises(Unsupported, match="only 2 xpu devices, counted from 0"):
        device_for("xpu:2")


def test_a_module_that_lacks_everything_still_makes_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    module = Module()
    offered(monkeypatch, module)
    device = device_for("xpu")
    assert device.asynchronous
    device.synchronize()
    device.memory_reset()
    device.empty_cache()
    device.seed(3)
    assert device.event_pair() is None
    assert device.memory_stats() == {}
    assert module.asked == ["synchronize"]
    with pytest.raises(Unsupported, match="not xpu"), device.capture_stream():
        pass


def test_a_case_on_the_second_device_runs_there(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    Accelerator("cuda:1", Module(set_device=chosen.append))
    Accelerator("cuda", Module(set_device=chosen.append))
    assert chosen == [1]


def test_events_give_seconds() -> None:
    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            pass

        def elapsed_time(self, end: Event) -> float:
            return 2.5  # milliseconds

    pair = Accelerator("cuda", Module(Event=Event)).event_pair()
    assert pair is not None
    assert pair[2]() == 0.0025


def test_both_generators_are_seeded_for_a_device() -> None:
    seeds: list[int] = []
    Accelerator("cuda", Module(manual_seed=seeds.append)).seed(11)
    first = torch.rand(2)
    Cpu().seed(11)
    assert seeds == [11]
    assert torch.equal(first, torch.rand(2))


def test_fresh_operands_stay_in_half_of_the_cache_or_are_beyond_it_anyway() -> None:
    properties = SimpleNamespace(L2_cache_size=50 << 20)
    device = Accelerator("cuda", Module(get_device_properties=lambda device: properties))
    assert device.pool_bytes(1 << 20) == 25 << 20
    assert device.pool_bytes(26 << 20) == MOST_COPIES_BYTES
