"""Cases prepared in this process, and what a probe says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from opbench.cases.builders import call, tensor
from opbench.cases.identity import case_document, work_id
from opbench.cases.model import Case
from opbench.cases.plan import Plan
from opbench.worker.devices import Cpu
from opbench.worker.materialize import Builder
from opbench.worker.probes import check, flops, memory
from opbench.worker.resolve import resolve
from opbench.worker.runtimes import eager
from opbench.worker.runtimes.prepared import Prepared, body_of

PLAN: dict[str, Any] = msgspec.to_builtins(Plan())
PROBES = {"memory": memory, "flops": flops, "check": check}


def prepared(case: Case) -> Prepared:
    """A case in eager mode, ready to be called."""
    operator = resolve(case.op, ()) if case.op else None
    builder = Builder(seed=case.seed, work_id=work_id(case), device=case.device, direction=case.direction)
    made = eager.prepare(case_document(case), builder, operator, Cpu())
    made.operator = operator
    return made


def of_function(function: Callable[[], Any], inputs: tuple[Any, ...] = ()) -> Prepared:
    """A function without arguments, ready to be called."""
    return Prepared(body=body_of("f()", {"f": function}), once=function, function=function, inputs=inputs)


def probed(probe: str, subject: Prepared | Case) -> tuple[dict[str, Any], dict[str, str]]:
    """Metrics by tag and warnings by code."""
    subject = prepared(subject) if isinstance(subject, Case) else subject
    metrics, warnings = PROBES[probe].measure(subject, PLAN, Cpu())
    return {item["tag"]: item for item in metrics}, {item["code"]: item["message"] for item in warnings}


def values(probe: str, subject: Prepared | Case) -> dict[str, Any]:
    """The values of the metrics by tag."""
    return {tag: item["value"] for tag, item in probed(probe, subject)[0].items()}


def sweep() -> list[Case]:
    """Operators of many kinds, for comparison with what others count."""
    square, vector, indices = (
        tensor(48, 48),
        tensor(1000),
        tensor(40, dtype="int64", fill={"kind": "indices", "bound": 48}),
    )
    image = tensor(2, 8, 16, 16)
    directions = ("forward", "backward", "forward_backward")
    differentiable = [
        ("torch.mm", [square, square], {}),
        ("torch.bmm", [tensor(3, 8, 16), tensor(3, 16, 4)], {}),
        ("torch.addmm", [tensor(48), square, square], {}),
        ("torch.matmul", [tensor(2, 3, 8, 16), tensor(16, 4)], {}),
        ("torch.nn.functional.linear", [tensor(5, 48), square, tensor(48)], {}),
        ("torch.nn.functional.conv2d", [image, tensor(4, 8, 3, 3), tensor(4)], {"padding": 1}),
        ("torch.nn.functional.conv1d", [tensor(2, 8, 32), tensor(4, 8, 3)], {"stride": 2}),
        ("torch.nn.functional.scaled_dot_product_attention", [tensor(2, 4, 32, 16)] * 3, {}),
        ("torch.nn.functional.gelu", [vector], {}),
        ("torch.softmax", [square], {"dim": 1}),
        ("torch.nn.functional.layer_norm", [square, [48]], {}),
        ("torch.nn.functional.max_pool2d", [image, 2], {}),
        ("torch.add", [square, tensor(48)], {}),
        ("torch.sum", [square], {}),
        ("torch.cat", [[square, square]], {}),
        ("torch.linalg.solve", [square, tensor(48, 3)], {}),
        ("torch.nn.functional.embedding", [indices, square], {}),
    ]
    return [
        *(
            call(op, *args, kwargs=kwargs, direction=direction)
            for op, args, kwargs in differentiable
            for direction in directions
        ),
        call("torch.sort", vector),
        call("torch.topk", vector, 10),
        call("torch.Tensor.add_", square, square),
        call("torch.Tensor.relu_", square),
        call("torch.transpose", square, 0, 1),
        call("torch.index_select", square, 0, indices),
        call("torch.nonzero", square),
        call("torch.unique", indices),
        call("torch.mm", square, square, kwargs={"out": tensor(48, 48)}),
    ]


def name_of(case: Case) -> str:
    """For the name of a test."""
    return f"{case.op.rpartition('.')[2]}-{case.direction}"
