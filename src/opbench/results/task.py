"""What a Timer was asked to time, in words: the key by which measurements belong together."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True, repr=True)
class TaskSpec:
    """What a Timer times, all but its globals. Measurements with equal ones are replicates."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1
    language: str = "python"

    @property
    def title(self) -> str:
        """What to call it: its label, else its statement; with the sub-label behind it."""
        if self.label is None and "\n" in self.stmt:
            named = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{named}\n{textwrap.indent(self.stmt, '  ')}"
        name = self.stmt if self.label is None else self.label
        return f"{name}: {self.sub_label}" if self.sub_label else name

    @property
    def as_row_name(self) -> str:
        """What its row in a table is called."""
        return self.sub_label or self.stmt or "[Unknown]"

    def setup_str(self) -> str:
        """The set-up, if there is one."""
        if self.setup in ("", "pass"):
            return ""
        if "\n" in self.setup:
            return f"setup:\n{textwrap.indent(self.setup, '  ')}"
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and set-up; what has several lines is followed by an empty one."""
        parts = (self.title, self.description or "", self.setup_str())
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)
