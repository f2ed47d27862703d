"""One case, from request to reply: resolve, build, prepare, run the probes, assemble."""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from opbench.worker.devices import Device, device_for
from opbench.worker.errors import Unsupported
from opbench.worker.hints import with_hint
from opbench.worker.probes import caution
from opbench.worker.probes.cautions import oversubscribed
from opbench.worker.probes.sampler import Clock
from opbench.worker.runtimes import runtime_for
from opbench.worker.runtimes.cuda_graph import captured
from opbench.worker.runtimes.prepared import Prepared
from opbench.worker.runtimes.snippet import place_of

# Probes beside the clock: what their plan field and their module are called. What a call takes and does is
# asked of the call itself, not of its replay as a graph: that allocates nothing and dispatches nothing.
OF_THE_CALL = ("memory", "flops")
OF_WHAT_WAS_TIMED = ("check",)
# A reason is read in a table: the whole story is in stderr.
REASON_LENGTH = 500
# Frameworks do not agree on a type for this.
OUT_OF_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "bad_alloc",
)


def measure_case(request: Mapping[str, Any], allow: Sequence[str]) -> dict[str, Any]:
    """Measure the case of a request; whatever goes wrong becomes the status and reason of the reply."""
    reply: dict[str, Any] = {"status": "ok", "reason": "", "metrics": [], "warnings": [], "drawn": {}}
    try:
        _measure(request, allow, reply)
    except BaseException as error:  # a case may raise anything, and nothing of it is ours
        case = request["case"]
        reply["status"], reply["reason"] = judged(error, snippet=bool(case.get("stmt")))
        if reply["status"] == "failed" and not case.get("stmt"):
            reply["reason"] = with_hint(reply["reason"], case)
        if not isinstance(error, Unsupported):
            _tell(error)
    return reply


def _measure(request: Mapping[str, Any], allow: Sequence[str], reply: dict[str, Any]) -> None:
    from opbench.worker.materialize import Builder
    from opbench.worker.mutation import versions
    from opbench.worker.resolve import resolve

    case, plan = request["case"], request["plan"]
    runtime = runtime_for(case.get("runtime", "eager"))
    device = device_for(case.get("device", "cpu"))
    operator = None if case.get("stmt") else resolve(case["op"], allow)
    seed = case.get("seed", 0)
    threads = case.get("num_threads", 1)
    _set_up(threads)
    # Dropout, and the parameters of modules, draw from the framework's own generator.
    device.seed(_number(f"{seed}:{request['work_id']}"))
    reply["warnings"] += oversubscribed(threads)
    builder = Builder(
        seed=seed,
        work_id=request["work_id"],
        device=device.name,
        direction=case.get("direction", "forward"),
        folder=request.get("folder", ""),
    )
    # A stream that can be captured must have been there when the graph of a backward pass was built.
    with device.capture_stream() if plan["cuda_graph"] else nullcontext():
        prepared = runtime.prepare(case, builder, operator, device)
        reply["drawn"] = dict(builder.drawn)
        prepared.num_threads = threads
        # What it was registered with (its flops, its bytes) is for the probes to read.
        prepared.operator = operator
        try:
            timed = captured(prepared, device) if plan["cuda_graph"] else prepared
            before = versions(*prepared.arguments)
            probe(timed, prepared, plan, device, reply)
            if operator is not None and not operator.name.startswith("torch."):
                reply["warnings"] += _written(before, versions(*prepared.arguments))
        finally:
            prepared.close()


def _written(
    before: Mapping[int | str, Sequence[int]], after: Mapping[int | str, Sequence[int]]
) -> list[dict[str, str]]:
    """A warning, if calls wrote to arguments that nobody said they write to."""
    places = [place for place, counts in before.items() if after[place] != counts]
    if not places:
        return []
    listed = ", ".join(map(repr, places))
    return [
        caution(
            "undeclared_writes",
            f"calls wrote to their own arguments ({listed}), so each began with what the last one left; "
            f"register the operator with mutates=({listed},) and every call gets fresh ones",
        )
    ]


def _set_up(threads: int) -> None:
    """Bring the framework into the state that every case starts from."""
    import torch

    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
        if torch.get_num_threads() != threads:
            raise Unsupported(
                f"torch uses {torch.get_num_threads()} threads where the case asks for {threads}"
            )
    torch.set_grad_enabled(True)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


def probe(
    timed: Prepared,
    call: Prepared,
    plan: Mapping[str, Any],
    device: Device,
    reply: dict[str, Any],
    clock_of_its_own: Clock | None = None,
) -> None:
    """Run the probes that the plan asks for, and put what they find into the reply."""
    from opbench.worker.probes import clock

    metrics, warnings = clock.measure(timed, plan, device, clock_of_its_own)
    reply["metrics"] += metrics
    reply["warnings"] += warnings
    for field in (*OF_THE_CALL, *OF_WHAT_WAS_TIMED):
        if not plan[field]:
            continue
        try:
            module = import_module(f"opbench.worker.probes.{field}")
            metrics, warnings = module.measure(call if field in OF_THE_CALL else timed, plan, device)
        except Exception as error:
            # The time is good; what could not be learnt beside it is no reason to lose it.
            reply["warnings"].append(caution(f"{field}_unknown", judged(error, snippet=True)[1]))
            continue
        reply["metrics"] += metrics
        reply["warnings"] += warnings


def judged(error: BaseException, *, snippet: bool = False) -> tuple[str, str]:
    """Status and reason for an error. What a snippet raises is its own, never "unsupported"."""
    text = _text(error)
    if isinstance(error, Unsupported):
        return "unsupported", text
    kind = type(error).__name__
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return "failed", _cut(f"the case raised {kind}{f' ({text})' if text else ''}")
    place = place_of(error)
    reason = _cut(f"{kind}: {text}" if text else kind) + (f" ({place})" if place else "")
    lower = text.lower()
    if isinstance(error, MemoryError) or kind == "OutOfMemoryError":
        return "out_of_memory", reason
    if isinstance(error, RuntimeError) and any(sign in lower for sign in OUT_OF_MEMORY):
        return "out_of_memory", reason
    # Older versions of torch have no error of its own for a kernel that they lack, none has for a derivative.
    lacking = ("not implemented for '", "derivative")
    missing = "not implemented" in lower and any(sign in lower for sign in lacking)
    if (missing or isinstance(error, NotImplementedError)) and not snippet:
        return "unsupported", reason
    return "failed", reason


def _text(error: BaseException) -> str:
    """The message of an error on one line; an error may even fail to say what it is."""
    try:
        return " ".join(str(error).split())
    except BaseException:
        return "(the error has no readable message)"


def _cut(text: str) -> str:
    return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 1] + "…"


def _tell(error: BaseException) -> None:
    """Write the end of the traceback to stderr, which the client keeps with the row."""
    try:
        lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-12, chain=False)
        sys.stderr.write("".join(lines)[-8000:])
        sys.stderr.flush()
    except BaseException:
        return
