"""What the server does before its first fork, so that no child has to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import opbench
from opbench.cases.plan import Plan
from opbench.worker import rehearsal
from opbench.worker.measure import measure_case

# Rehearses, then measures a backward in a child, and says what the child had to import and how long
# its first backward took, in how many threads.
SERVER = """
import json, os, sys
import torch
from opbench.worker import rehearsal, system
from opbench.worker.measure import measure_case
rehearsal.rehearse("torch")
threads, before = system.thread_count(), set(sys.modules)
request = json.loads(sys.argv[1])
reader, writer = os.pipe()
if os.fork() == 0:
    reply = measure_case(request, ())
    new = sorted(set(sys.modules) - before)
    os.write(writer, json.dumps([reply["status"], new]).encode())
    os._exit(0)
os.close(writer)
print(json.dumps([threads, json.loads(os.fdopen(reader).read())]))
"""


def test_every_knob_of_a_plan_is_rehearsed() -> None:
    knobs = set(msgspec.to_builtins(Plan())) - {"name", "timeout_s", "memory_cap_bytes"}
    assert set(rehearsal._PLAN) == knobs


def test_the_rehearsed_case_works() -> None:
    reply = measure_case({"case": rehearsal._CASE, "work_id": "rehearsal", "plan": rehearsal._PLAN}, ())
    assert (reply["status"], reply["reason"]) == ("ok", "")
    assert {metric["tag"] for metric in reply["metrics"]} >= {"time", "memory.peak"}


def test_a_framework_without_a_rehearsal_has_none() -> None:
    rehearsal.rehearse("numpy")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing can be forked here")
def test_a_child_imports_nothing_for_a_backward_and_the_server_has_one_thread() -> None:
    operand = {"type": "tensor", "shape": [8, 8]}
    case = {"op": "torch.mm", "args": [operand, operand], "direction": "backward"}
    request = {"case": case, "work_id": "w", "plan": msgspec.to_builtins(Plan(samples=3, warmup_calls=1))}
    variables = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
    done = subprocess.run(
        [sys.executable, "-c", SERVER, json.dumps(request)],
        env={**os.environ, **variables, "PYTHONPATH": str(Path(opbench.__file__).parents[1])},
        stdout=subprocess.PIPE,
        check=True,
        timeout=120,
    )
    threads, (status, imported) = json.loads(done.stdout)
    assert status == "ok"
    assert threads == 1
    assert imported == []
