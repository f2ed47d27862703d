"""The text of a translation unit: the user's lines as they are, under names that the compiler reports."""

from __future__ import annotations

from collections.abc import Sequence

from opbench.worker.cpp.snippet import CppSnippet

# What the compiler calls the parts of a snippet, `opbench.3.stmt`; `_end` is just behind it.
PLACE_NAME = "opbench"
# To be counted up when the text around a snippet changes: what was compiled with another is not used.
TEMPLATE = 1


def translation_unit(snippets: Sequence[CppSnippet]) -> str:
    """C++ for snippets that share their global set-up; each becomes a function, in the frame of frame.hpp."""
    lines = _part("global_setup", snippets[0].global_setup)
    for place, snippet in enumerate(snippets):
        lines += [f"static void {_function(place)}(::opbench::frame::Loop& opbench_loop) {{"]
        lines += _part(f"{place}.setup", snippet.setup)
        # A missing semicolon is what people forget, and one too many does no harm.
        lines += [";", "OPBENCH_LOOP_BEGIN"]
        lines += _part(f"{place}.stmt", snippet.stmt)
        lines += [";", "OPBENCH_LOOP_END", "}"]
    # The twin with no statement is timed to be subtracted.
    lines += [
        "static void opbench_empty(::opbench::frame::Loop& opbench_loop) {",
        "OPBENCH_LOOP_BEGIN",
        "OPBENCH_LOOP_END",
        "}",
    ]
    functions = ", ".join(["opbench_empty", *(_function(place) for place in range(len(snippets)))])
    lines += [f"const ::opbench::frame::Loop::Snippet opbench_snippets[] = {{{functions}}};", ""]
    return "\n".join(lines)


def _part(name: str, text: str) -> list[str]:
    return [f'#line 1 "{PLACE_NAME}.{name}"', text, f'#line 1 "{PLACE_NAME}.{name}_end"']


def _function(place: int) -> str:
    return f"opbench_snippet_{place}"
