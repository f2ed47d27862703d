"""A client to be killed: measures one operator of a file under one isolation. Run as a program."""

from __future__ import annotations

import sys

from opbench.cases.builders import call, tensor
from opbench.cases.model import suite_of
from opbench.execution.api import execute
from opbench.execution.options import Options

if __name__ == "__main__":
    operators, name, isolation = sys.argv[1:]
    suite = suite_of("killed", [call(name, tensor(4, 4))])
    options = Options(isolation=isolation, operators=(operators,))  # type: ignore[arg-type]
    for row in execute(suite, options):
        print(row.status, row.reason, flush=True)
