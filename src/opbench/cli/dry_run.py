"""What a run would do: every case, the memory it needs, and how long all of it takes."""

from __future__ import annotations

from opbench.cases.estimate import estimate
from opbench.cases.filter import compile_filter
from opbench.cases.identity import case_document
from opbench.cases.model import Suite
from opbench.cases.select import select
from opbench.cli.listing import CaseLines
from opbench.cli.screen import Screen
from opbench.execution.options import Options
from opbench.execution.tasks import Done, Resume, make_tasks
from opbench.reports.format import elapsed, size
from opbench.reports.rows import case_line
