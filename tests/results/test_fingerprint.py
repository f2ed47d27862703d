"""Facts about machine, interpreter and framework, and which of them make two environments one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opbench.results import fingerprint as module
from opbench.results import hardware
from opbench.results.encoding import decode, encode
from opbench.results.fingerprint import environment_record, fingerprint
from opbench.results.hardware import machine_facts, moment_facts, settings_facts, system_facts
from opbench.results.records import Environment

from .machines import AMD, ARM, CONTAINER, INTEL, OLD_CONTAINER, UNLIMITED, Files, build

HELLO: dict[str, Any] = {
    "protocol": 1,
    "pid": None,
    "python": {
        "version": "3.11.7",
        "implementation": "cpython",
        "executable": "/venv/bin/python",
        "prefix": "/venv",
    },
    "framework": {
        "name": "torch",
        "version": "2.13.0",
        "build": "GCC 13",
        "import_s": 1.5,
        "num_threads": 1,
        "num_interop_threads": 1,
    },
}


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[Files], Path]:
    return lambda files: build(tmp_path / "root", files)


def test_an_intel_machine(machine: Callable[[Files], Path]) -> None:
    root = machine(INTEL)
    facts = machine_facts(root)
    facts.pop("architecture")
    assert facts == {
        "product": "Imaginary Inc. Rack 1",
        "cpu": "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
        "cpu_family": "6/106/6",
        "cpu_features": ["amx_tile", "avx2", "avx512f", "fpu"],
        "cpus_logical": 4,
        "cores_physical": 2,
        "packages": 1,
        "numa_nodes": 2,
        "cache_bytes": {"L1d": 49152, "L1i": 32768, "L3": 50331648},
        "max_mhz": "3200",
        "memory_gib": 62,
        "accelerators": ["NVIDIA H200 (driver 550.90.07)"],
    }
    how = settings_facts(root)
    assert how.pop("cpus_usable") == len(hardware.usable_cpus())
    assert how == {
        "governor": "performance, powersave",
        "frequency_driver": "intel_pstate",
        "limit_mhz": "2000",
        "turbo": False,
        "smt": True,
        "transparent_hugepages": "madvise",
        "address_randomization": "2",
    }
    assert system_facts(root)["os"] == "Imaginary Linux 12"
    assert "container" not in system_facts(root)
    moment = moment_facts(root)
    assert (moment["load"], moment["runnable"]) == ([0.5, 1.25, 2.0], 3)
    assert moment["memory_available_bytes"] == 60000000 * 1024


def test_an_amd_machine(machine: Callable[[Files], Path]) -> None:
    root = machine(AMD)
    facts = machine_facts(root)
    assert facts["cpu"] == "AMD EPYC 7763 64-Core Processor"
    # Cores of one number in two packages are two.
    assert (facts["cores_physical"], facts["packages"], facts["cpus_logical"]) == (2, 2, 2)
    how = settings_facts(root)
    assert (how["turbo"], how["smt"]) == (True, False)


def test_an_arm_machine_with_cores_of_two_kinds(machine: Callable[[Files], Path]) -> None:
    facts = machine_facts(machine(ARM))
    assert facts["cpu"] == "implementer 0x41 part 0xd40, implementer 0x41 part 0xd41"
    assert facts["cpu_features"] == ["asimd", "fp", "sve"]


def test_a_container_has_the_least_of_all_limits_around_it(machine: Callable[[Files], Path]) -> None:
    root = machine(CONTAINER)
    how = settings_facts(root)
    assert (how["cpu_quota"], how["memory_limit_bytes"]) == (0.5, 2**30)
    assert system_facts(root)["container"] == "docker"


def test_a_container_of_the_older_control_groups(machine: Callable[[Files], Path]) -> None:
    root = machine(OLD_CONTAINER)
    how = settings_facts(root)
    assert (how["cpu_quota"], how["memory_limit_bytes"]) == (1.5, 2**29)
    assert system_facts(root)["container"] == "kubepods"


def test_no_limit_is_no_fact(machine: Callable[[Files], Path]) -> None:
    assert not {"cpu_quota", "memory_limit_bytes"} & set(settings_facts(machine(UNLIMITED)))


def test_a_machine_that_tells_nothing_has_few_facts(tmp_path: Path) -> None:
    assert set(machine_facts(tmp_path)) <= {"architecture", "cpu", "cpus_logical"}
    assert set(settings_facts(tmp_path)) == {"cpus_usable"}
    assert set(moment_facts(tmp_path)) == {"cpus"}
    assert set(system_facts(tmp_path)) <= {"os", "kernel", "libc", "host"}


odd = st.text(max_size=20) | st.sampled_from(
    ["", "0 0", "1 0", "max", "-1", "9" * 30, "²", "1e5", "[", "0::/../..", "\0"]
)


@given(st.dictionaries(st.sampled_from(sorted(CONTAINER | OLD_CONTAINER)), odd))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_stands_in_these_files_facts_are_data(
    tmp_path_factory: pytest.TempPathFactory, changes: Files
) -> None:
    root = build(tmp_path_factory.mktemp("root"), OLD_CONTAINER | CONTAINER | changes)
    for facts in (machine_facts(root), settings_facts(root), system_facts(root), moment_facts(root)):
        assert json.loads(json.dumps(facts)) == facts


def test_this_machine_is_as_the_system_says() -> None:
    facts = machine_facts()
    if Path("/proc/cpuinfo").exists():
        assert facts["cpus_logical"] == os.sysconf("SC_NPROCESSORS_ONLN")
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        assert abs(facts["memory_gib"] - total / 2**30) <= 1


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Environment]:
    """The record of a worker on an imaginary machine, in a folder that is no checkout."""
    monkeypatch.chdir(tmp_path)
    numbers = iter(range(1000))

    def take(
        files: Files = INTEL,
        variables: dict[str, str] | None = None,
        python: dict[str, Any] | None = None,
        framework: dict[str, Any] | None = None,
    ) -> Environment:
        root = build(tmp_path / f"root-{next(numbers)}", files)
        monkeypatch.setattr(module, "_machine", lambda: machine_facts(root))
        monkeypatch.setattr(module, "settings_facts", lambda: settings_facts(root))
        monkeypatch.setattr(module, "system_facts", lambda: system_facts(root))
        monkeypatch.setattr(module, "moment_facts", lambda: moment_facts(root))
        monkeypatch.setattr(module, "_environ_of", lambda _pid: variables or {})
        hello = HELLO | {
            "python": HELLO["python"] | (python or {}),
            "framework": HELLO["framework"] | (framework or {}),
        }
        return environment_record("this", hello)

    return take


def test_equal_machines_are_one_environment(record: Callable[..., Environment]) -> None:
    known = record().fingerprint
    same: list[dict[str, Any]] = [
        {},
        {"files": INTEL | {"proc/loadavg": "9.00 9.00 9.00 9/9 9\n"}},
        {"files": INTEL | {"proc/cpuinfo": INTEL["proc/cpuinfo"].replace("80", "319")}},
        # Another kernel keeps some megabytes more for itself.
        {"files": INTEL | {"proc/meminfo": "MemTotal:       65530000 kB\n"}},
        {"python": {"executable": "/elsewhere/bin/python", "prefix": "/elsewhere"}},
        {"framework": {"import_s": 9.0, "num_threads": 2, "num_interop_threads": 2}},
        {"variables": {"HOME": "/root", "TERM": "x", "OMP_NUM_THREADS": "2", "TORCH_HOME": "/x"}},
        {"variables": {"PYTHONPATH": "/x", "LD_LIBRARY_PATH": "/x", "CUDA_VERSION": "12"}},
        {"variables": {"GITHUB_TOKEN": "x", "TORCH_TOKEN": "x"}},
    ]
    for change in same:
        assert record(**change).fingerprint == known, change


def test_what_changes_times_is_another_environment(record: Callable[..., Environment]) -> None:
    different: list[dict[str, Any]] = [
        {},
        {"files": AMD},
        {"files": ARM},
        {"files": CONTAINER},
        {"files": INTEL | {"proc/cpuinfo": INTEL["proc/cpuinfo"].replace(" amx_tile", "")}},
        {"files": INTEL | {"proc/meminfo": "MemTotal:       32768000 kB\n"}},
        {"files": INTEL | {"sys/devices/system/cpu/intel_pstate/no_turbo": "0\n"}},
        {"files": INTEL | {"sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "performance\n"}},
        {"python": {"version": "3.12.1"}},
        {"python": {"implementation": "pypy"}},
        {"framework": {"version": "2.12.0"}},
        {"framework": {"build": "GCC 14"}},
        {"framework": {"cpu_capability": "AVX2"}},
        {"variables": {"OMP_PROC_BIND": "close"}},
        {"variables": {"OMP_PROC_BIND": "spread"}},
        {"variables": {"LD_PRELOAD": "/lib/libtcmalloc.so"}},
        {"variables": {"PYTHONMALLOC": "malloc"}},
        {"variables": {"ATEN_CPU_CAPABILITY": "avx2"}},
    ]
    found = [record(**change).fingerprint for change in different]
    assert len(set(found)) == len(different)


def test_more_usable_processors_are_another_environment(
    record: Callable[..., Environment], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = record().fingerprint
    monkeypatch.setattr(hardware, "usable_cpus", lambda: list(range(123)))
    assert record().fingerprint != known


def test_a_fingerprint_is_the_same_in_every_process(record: Callable[..., Environment]) -> None:
    facts = record(variables={"OMP_B": "1", "OMP_A": "2"}).facts
    code = (
        "import json, sys; from opbench.results.fingerprint import fingerprint;"
        "print(fingerprint(json.load(sys.stdin)))"
    )
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(dict(reversed(facts.items()))),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == fingerprint(facts)


def test_secrets_are_never_recorded(record: Callable[..., Environment]) -> None:
    secret = "hunter2"
    names = (
        "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HF_TOKEN", "PGPASSWORD", "DATABASE_URL", "OPBENCH_STORE",
        "SSH_AUTH_SOCK", "HOME", "PATH", "MY_PASSWORD", "TORCH_AUTH_TOKEN", "CUDA_LICENSE_KEY", "JAX_PASS",
        "PYTHON_KEYRING_BACKEND", "XLA_BEARER", "http_proxy", "PIP_INDEX_URL", "PYTHONSECRET",
    )  # fmt: skip
    variables = dict.fromkeys(names, secret) | {
        "TORCH_MIRROR": f"https://user:{secret}@host/x?sig={secret}&a=b",
        "PYTORCH_LIST": f"http://{secret}@a,http://b?{secret} https://c/{'x' * 2000}",
        "PYTORCH_CUDA_ALLOC_CONF": "kept",
    }
    taken = record(variables=variables)
    text = encode(taken)
    assert secret not in text
    assert "kept" in text
    assert len(text) < 10_000


def test_the_variables_are_those_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("there is no /proc")
    program = [sys.executable, "-c", "print(1, flush=True); input()"]
    environ = {**os.environ, "OMP_PROC_BIND": "close", "KMP_BLOCKTIME": "a=b"}
    with subprocess.Popen(program, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        variables = environment_record("main", HELLO | {"pid": worker.pid}).facts["variables"]
        worker.communicate(b"\n")
    assert (variables["OMP_PROC_BIND"], variables["KMP_BLOCKTIME"]) == ("close", "a=b")
    # Of a process that is gone, at least those it was started from.
    monkeypatch.setenv("KMP_BLOCKTIME", "7")
    gone = environment_record("main", HELLO | {"pid": worker.pid}).facts["variables"]
    assert gone["KMP_BLOCKTIME"] == "7"


def test_packages_are_those_of_the_interpreter(tmp_path: Path) -> None:
    prefix = tmp_path / "venv"
    for name in ("numpy-1.23.5", "torch-2.4.0+cpu", "requests-2.0", "onnxruntime_gpu-1.20.1"):
        (prefix / "lib/python3.10/site-packages" / f"{name}.dist-info").mkdir(parents=True)
    hello = HELLO | {"python": {"version": "3.10.13", "implementation": "cpython", "prefix": str(prefix)}}
    packages = environment_record("main", hello).facts["packages"]
    assert packages == {"numpy": "1.23.5", "torch": "2.4.0+cpu", "onnxruntime_gpu": "1.20.1"}


@pytest.mark.parametrize(
    "hello",
    [{}, {"pid": "x"}, {"pid": -1}, {"pid": 0}, {"python": None, "framework": None},
     {"python": {"prefix": "\0"}},
     {"framework": {"version": None, "cuda": None}}, {"framework": {"odd": [1e300, "\ufdd0", []]}}],
    ids=repr,
)  # fmt: skip
def test_a_worker_may_say_little(hello: dict[str, Any]) -> None:
    taken = environment_record("this", hello)
    assert taken.fingerprint
    assert encode(decode(encode(taken), Environment)) == encode(taken)


def test_the_working_directory_may_be_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert environment_record("this", HELLO).facts["checkout"] == {}
