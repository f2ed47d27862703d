"""What an error makes of a row: its status and the reason that a person reads."""

from __future__ import annotations

import pytest

from opbench.worker.errors import Unsupported
from opbench.worker.measure import REASON_LENGTH, judged

LACKING = "\"addmm_impl_cpu_\" not implemented for 'Half'"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Unsupported("no such thing"), "unsupported"),
        (NotImplementedError(LACKING), "unsupported"),
        (RuntimeError(LACKING), "unsupported"),
        (NotImplementedError("FlexAttention does not support backward on CPU."), "unsupported"),
        (RuntimeError("derivative for aten::histogram is not implemented"), "unsupported"),
        (RuntimeError("the plan was not implemented yet by its owner"), "failed"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), "failed"),
        (MemoryError(), "out_of_memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "out_of_memory"),
        (ValueError("out of memory is a word here"), "failed"),
        (KeyboardInterrupt(), "failed"),
        (SystemExit(3), "failed"),
    ],
)
def test_the_status_of_an_error(error: BaseException, status: str) -> None:
    assert judged(error)[0] == status
    assert judged(error)[1]


def test_what_a_snippet_lacks_is_its_own_business() -> None:
    assert judged(NotImplementedError(LACKING), snippet=True)[0] == "failed"


def test_a_reason_is_one_line_and_not_endless() -> None:
    assert judged(RuntimeError("two\nlines"))[1] == "RuntimeError: two lines"
    assert len(judged(RuntimeError("x" * 10_000))[1]) == REASON_LENGTH
