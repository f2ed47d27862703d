"""Wrong suites, some 1,500 of them (OPBENCH_FUZZ=100000 for more): always a clean error, and a useful one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opbench.cases.errors import DocumentError, Problem
from opbench.cli.main import main
from opbench.sources import open_sources

from .invalid_documents import Invalid, invalid_documents

COUNT = int(os.environ.get("OPBENCH_FUZZ", "1500"))
AT_ONCE = 500
THROUGH_THE_COMMAND_LINE = 60


def problems_of(document: Invalid, folder: Path) -> tuple[Problem, ...] | None:
    """What opbench says is wrong, None for nothing; anything but a DocumentError goes up."""
    file = folder / f"suite{document.suffix}"
    file.write_bytes(document.data)
    try:
        for _ in open_sources((str(file),)):
            pass
    except DocumentError as error:
        return error.problems
    return None


@pytest.mark.parametrize("start", range(0, COUNT, AT_ONCE))
def test_a_wrong_document_is_refused_with_its_problems(start: int, tmp_path: Path) -> None:
    for document in invalid_documents(min(AT_ONCE, COUNT - start), start):
        problems = problems_of(document, tmp_path)
        if problems is None:
            assert not document.sure, f"{document.what}: accepted: {document.data[:1000]!r}"
            continue
        assert problems, document.what
        for problem in problems:
            assert problem.file.endswith(document.suffix), document.what
            assert problem.message, document.what
            assert problem.found, (document.what, str(problem))
            assert problem.expected, (document.what, str(problem))
            assert str(problem).isprintable(), document.what
            assert len(str(problem)) < 2_000, document.what
        for place in document.places:
            assert any(problem.path.startswith(place) for problem in problems), (document.what, problems)


SURE = [item for item in invalid_documents(2 * THROUGH_THE_COMMAND_LINE, 7_000) if item.sure]


@pytest.mark.parametrize("document", SURE[:THROUGH_THE_COMMAND_LINE], ids=lambda item: item.what)
@pytest.mark.parametrize("verb", ["list", "run"])
def test_the_command_line_refuses_a_wrong_document(
    verb: str, document: Invalid, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"suite{document.suffix}"
    file.write_bytes(document.data)
    flags = ["--store", str(tmp_path / "store.sqlite"), "--plan", "quick"] if verb == "run" else []
    assert main([verb, str(file), *flags]) == 2
    written = capsys.readouterr()
    assert str(file.name) in written.err
    assert "Traceback" not in written.err
    assert "bug in opbench" not in written.err
