"""The run as a whole, with workers that are not processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opbench.cases.errors import UsageError
from opbench.cases.model import Case, suite_of
from opbench.execution import api
from opbench.execution.interrupt import StopSignal
from opbench.execution.options import Options, Progress
from opbench.execution.slots import usable_cpus
from opbench.execution.worker import Exit
from opbench.results.records import Measurement
from opbench.results.store import Store

from .fakes import OK, FakeWorker, Workshop, cases


class Recorder:
    def __init__(self) -> None:
        self.progress: list[Progress] = []
        self.notices: list[str] = []

    def case_started(self, case: Case, progress: Progress) -> None:
        pass

    def row_finished(self, row: Measurement, progress: Progress) -> None:
        self.progress.append(progress)

    def notice(self, message: str) -> None:
        self.notices.append(message)


def rows(options: Options, workshop: Workshop, count: int = 4, **more: Any) -> list[Measurement]:
    return list(api.execute(suite_of("fake", cases(count)), options, make_worker=workshop, **more))


def test_each_case_gives_one_row_in_order() -> None:
    workshop = Workshop()
    out = rows(Options(), workshop)
    assert [row.case.seed for row in out] == [0, 1, 2, 3]
    assert {row.status for row in out} == {"ok"}
    assert len(workshop.made) == 1
    assert workshop.made[0][2].closed == 1


def test_a_lost_worker_is_replaced() -> None:
    def script(request: dict[str, Any]) -> dict[str, Any] | Exit:
        return Exit(signal=11, lost=True) if request["case"].get("seed") == 1 else OK

    workshop = Workshop(script)
    out = rows(Options(), workshop)
    assert [row.status for row in out] == ["ok", "crashed", "ok", "ok"]
    assert "SIGSEGV" in out[1].reason
    assert len(workshop.made) == 2


def test_retries_are_by_status_and_said() -> None:
    answers = iter([Exit(timed_out=True), Exit(signal=6), OK])
    out = rows(Options(retries={"timeout": 1, "crashed": 1}), Workshop(lambda _: next(answers)), 1)
    assert out[0].status == "ok"
    assert [(caution.code, caution.message) for caution in out[0].warnings] == [
        ("retried", "measured again after: timeout, crashed")
    ]


def test_retries_end() -> None:
    workshop = Workshop(lambda _: Exit(timed_out=True))
    out = rows(Options(retries={"timeout": 2}), workshop, 1)
    assert out[0].status == "timeout"
    assert len(workshop.made[0][2].requests) == 3


def test_fail_fast_stops_after_the_first_failure() -> None:
    out = rows(Options(fail_fast=True), Workshop(lambda _: {"status": "failed", "reason": "no"}))
    assert [row.status for row in out] == ["failed"]


def test_more_threads_than_cpus_is_refused_with_a_row() -> None:
    many = len(usable_cpus()) + 1
    suite = suite_of("wide", cases(1, num_threads=many))
    workshop = Workshop()
    out = list(api.execute(suite, Options(), make_worker=workshop))
    assert out[0].status == "unsupported"
    assert "--oversubscribe" in out[0].reason
    assert not workshop.made
    out = list(api.execute(suite, Options(oversubscribe=True), make_worker=workshop))
    assert out[0].status == "ok"
    assert [caution.code for caution in out[0].warnings] == ["oversubscribed"]


def test_each_thread_count_has_a_worker_of_its_own() -> None:
    mixed = [Case(op="torch.add", seed=seed, num_threads=1 + seed % 2) for seed in range(4)]
    workshop = Workshop()
    list(api.execute(suite_of("mixed", mixed), Options(oversubscribe=True), make_worker=workshop))
    assert [(name, threads) for name, threads, _ in workshop.made] == [("this", 1), ("this", 2)]


def test_an_environment_that_never_starts_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="environment 'this': torch cannot be imported"):
        list(
            api.execute(suite_of("fake", cases(1)), Options(), make_worker=lambda *_: FakeWorker(broken=True))
        )


def test_garbage_from_a_worker_is_a_row() -> None:
    out = rows(Options(), Workshop(lambda _: {"status": "splendid"}), 1)
    assert out[0].status == "crashed"
    assert "not a result" in out[0].reason


@pytest.mark.parametrize("jobs", [1, min(2, len(usable_cpus()))])
def test_stop_finishes_what_is_in_flight(jobs: int) -> None:
    stop = StopSignal()

    def script(request: dict[str, Any]) -> dict[str, Any]:
        stop.finish()
        return OK

    out = rows(Options(jobs=jobs), Workshop(script), 10, stop=stop)
    assert 1 <= len(out) <= jobs


def test_every_case_once_with_several_jobs() -> None:
    out = rows(Options(jobs=min(2, len(usable_cpus())), repeat=3), Workshop(), 20)
    assert sorted((row.case.seed, row.repeat) for row in out) == [
        (seed, repeat) for seed in range(20) for repeat in range(3)
    ]


def test_progress_counts_to_the_end() -> None:
    recorder = Recorder()
    rows(Options(), Workshop(), 4, listener=recorder)
    assert [(step.done, step.expected) for step in recorder.progress] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert recorder.progress[0].eta_s is None
    assert recorder.progress[-1].eta_s == 0


def test_stored_rows_and_resume(tmp_path: Path) -> None:
    suite = suite_of("fake", cases(6))
    with Store.open(tmp_path / "store.sqlite") as store:
        run = api.new_run(Options().plan, ["fake"])
        half = api.execute(suite, Options(), run=run, store=store, make_worker=Workshop())
        first = [next(half) for _ in range(3)]
        half.close()  # type: ignore[attr-defined]
        assert store.run(run.run_id).finished_at == ""
        rest = list(
            api.execute(suite, Options(), run=run, store=store, resume="missing", make_worker=Workshop())
        )
        stored = list(store.measurements(run.run_id))
        assert stored == first + rest
        assert [row.case.seed for row in stored] == list(range(6))
        assert store.run(run.run_id).finished_at != ""


def test_only_what_was_not_ok_is_measured_again(tmp_path: Path) -> None:
    suite = suite_of("fake", cases(4))

    def odd_ones_fail(request: dict[str, Any]) -> dict[str, Any]:
        return {"status": "failed", "reason": "odd"} if request["case"].get("seed", 0) % 2 else OK

    with Store.open(tmp_path / "store.sqlite") as store:
        run = api.new_run(Options().plan, ["fake"])
        list(api.execute(suite, Options(), run=run, store=store, make_worker=Workshop(odd_ones_fail)))
        again = list(
            api.execute(suite, Options(), run=run, store=store, resume="not_ok", make_worker=Workshop())
        )
        assert [(row.case.seed, row.attempt) for row in again] == [(1, 1), (3, 1)]
        assert {row.status for row in store.measurements(run.run_id)} == {"ok"}
