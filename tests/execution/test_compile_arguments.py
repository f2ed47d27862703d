"""Compile times: every wrong argument gets one error that names it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from opbench.benchmark import benchmark_compile
from opbench.cases.errors import ArgumentError
from opbench.execution.compile_times import compile_times

NET = torch.nn.Linear(2, 2)
SGD = torch.optim.SGD(NET.parameters(), lr=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": 3}, "model must be a module or a function, not a int"),
        ({"backend": "inductr"}, "did you mean inductor"),
        ({"backend": 3}, "backend must be"),
        ({"backend": "eager", "mode": "max-autotune"}, "mode must be left out"),
        ({"backend": "inductor", "mode": "max-autotun"}, "did you mean max-autotune"),
        ({"num_iters": 0}, "num_iters must be"),
        ({"num_iters": 2.0}, "num_iters must be"),
        ({"optimizer": "sgd"}, "optimizer must be"),
        ({"loss_fn": torch.sum}, "loss_fn is for training"),
        ({"loss_fn": 3, "optimizer": SGD}, "loss_fn must be"),
        ({"loss_fn": lambda y: y, "optimizer": SGD}, "loss_fn must give a tensor with a single number"),
        ({"model": torch.compile(NET, backend="eager")}, "model is compiled already"),
    ],
)
def test_what_is_wrong_is_named(arguments: dict[str, Any], message: str) -> None:
    given = {"model": NET, "sample_input": torch.ones(3, 2), **arguments}
    with pytest.raises(ArgumentError, match=message):
        benchmark_compile(**given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"backends": "inductor"}, "backends must be None or a list"),
        ({"backends": ["eager", "inductr"]}, "backends must be among .* did you mean inductor"),
        ({"backends": [None]}, "backends must be the name of one or a function, not None"),
        ({"modes": "default"}, "modes must be None or a list"),
        ({"modes": ["defult"]}, "modes must be among .* did you mean default"),
        ({"min_run_time": 0}, "min_run_time must be above 0"),
        ({"min_run_time": "1"}, "min_run_time must be a number"),
        ({"num_threads": 0}, "num_threads must be"),
    ],
)
def test_what_is_wrong_is_named_here_too(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        compile_times(NET, torch.ones(3, 2), **arguments)
