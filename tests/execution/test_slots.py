from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.errors import UsageError
from opbench.execution.slots import Slot, arrange, make_slots, usable_cpus


def paired(cpu: int) -> str:
    """Hardware threads 2k and 2k+1 share a core."""
    return str(cpu // 2)


def test_one_thread_per_core_first_and_low_numbers_last() -> None:
    assert arrange(range(8), paired) == (7, 5, 3, 1, 6, 4, 2, 0)


def test_one_job_gets_everything() -> None:
    assert make_slots(1, range(4), str) == (Slot((3, 2, 1, 0)),)


def test_slots_do_not_share_a_core() -> None:
    slots = make_slots(2, range(8), paired)
    cores = [{paired(cpu) for cpu in slot.cpus} for slot in slots]
    assert cores[0].isdisjoint(cores[1])
    assert [len(slot.cpus) for slot in slots] == [4, 4]


def test_too_many_jobs_is_a_clear_error() -> None:
    with pytest.raises(UsageError, match="3 jobs need 3 cores, and this process may use 2"):
        make_slots(3, range(2), str)
    with pytest.raises(UsageError, match="at least 1"):
        make_slots(0, range(2), str)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))), st.integers(1, 4))
def test_slots_are_disjoint_and_never_empty(size_and_jobs: tuple[int, int], threads_per_core: int) -> None:
    size, jobs = size_and_jobs
    slots = make_slots(jobs, range(size), lambda cpu: str(cpu // threads_per_core))
    used = [cpu for slot in slots for cpu in slot.cpus]
    assert len(slots) == jobs
    assert all(slot.cpus for slot in slots)
    assert len(used) == len(set(used))
    assert set(used) <= set(range(size))


def test_a_case_gets_as_many_cpus_as_it_has_threads() -> None:
    slot = Slot((3, 2, 1, 0))
    assert slot.cpus_for(2) == (3, 2)
    assert slot.cpus_for(9) == (3, 2, 1, 0)


def test_this_process_has_cpus() -> None:
    assert usable_cpus()
