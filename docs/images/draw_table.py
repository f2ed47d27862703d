"""Draw the table of a stored run as an SVG picture that needs nothing from anywhere else.

opbench run quick --plan quick -o quick.jsonl
python docs/images/draw_table.py quick.jsonl docs/images/quick.svg
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from opbench.reports.runs import heading
from opbench.reports.table import Line, Table, layout_for
from opbench.results.jsonl import read_records
from opbench.results.records import Measurement, Run

WIDTH = 120
# Widths are set letter by letter, so the reader's own monospaced font will do.
SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; \
font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" \
height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def lines_of(run: Run, rows: Iterable[Measurement]) -> Iterator[Line]:
    """What `opbench run` prints on a terminal of WIDTH columns."""
    yield from heading(run, WIDTH)
    table = Table(layout_for(WIDTH))
    yield table.header()
    for row in rows:
        yield from table.row(row)
    yield from table.close()


def draw(records: Path, title: str) -> str:
    """The SVG of a file of records."""
    with records.open("rb") as file:
        found = list(read_records(file, str(records)))
    rows = [record for record in found if isinstance(record, Measurement)]
    # The last line of a run knows most about it.
    run = [record for record in found if isinstance(record, Run)][-1]
    console = Console(width=WIDTH, record=True, file=io.StringIO(), highlight=False, color_system="truecolor")
    for line in lines_of(run, rows):
        console.print(Text.assemble(*line), no_wrap=True, crop=True)
    svg = console.export_svg(title=title, theme=MONOKAI, code_format=SVG, unique_id="opbench")
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: draw_table.py RECORDS PICTURE", file=sys.stderr)
        return 2
    records, picture = map(Path, sys.argv[1:])
    picture.write_text(draw(records, "opbench run quick --plan quick"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
