"""Writes docs/reference.md from the names table of the core library, or checks it.

tools/bazel run //docs:generate_reference            writes the file
tools/bazel test //docs:reference_test               fails when it is out of date
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import environment

_HEAD = """# Reference: every level, option, event, column and file

Generated from core/profiling/names.h and docs/environment.py by
`tools/bazel run //docs:generate_reference`.
"""


def names_table(library: str) -> dict[str, Any]:
    """The table that trtscope_names_json() of this library returns."""
    core = ctypes.CDLL(library)
    core.trtscope_names_json.restype = ctypes.c_void_p
    core.trtscope_free.argtypes = [ctypes.c_void_p]
    text = core.trtscope_names_json()
    try:
        table: dict[str, Any] = json.loads(ctypes.string_at(text))
    finally:
        core.trtscope_free(text)
    return table


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _code(text: str) -> str:
    return f"`{text}`"


def _variables(variables: Sequence[environment.Variable]) -> str:
    return _table(["variable", "meaning"], [[_code(v.name), v.meaning] for v in variables])


def render(names: dict[str, Any]) -> str:
    """The whole page."""
    phases = [
        [
            _code(phase["event"]),
            _code(phase["column"]),
            _code(phase["level"]),
            "host" if phase["host_time"] else "device",
            _code(phase["file"]),
            phase["description"],
        ]
        for phase in names["phases"]
    ]
    return "\n".join(
        [
            _HEAD,
            "## Levels\n",
            "Each includes the ones before it: "
            + ", ".join(_code(level) for level in names["levels"])
            + ".\n",
            "## Formats\n",
            ", ".join(_code(name) for name in names["formats"]) + ".\n",
            "## Trace files\n",
            "Of each engine, after its stem: "
            + ", ".join(_code(suffix) for suffix in names["trace_files"])
            + ". Of the process, after host and pid: "
            + _code(names["process_trace"])
            + ". [3-traces.md](3-traces.md) says what each holds.\n",
            "## Environment\n",
            "The settings' initial values, read once, when the library loads:\n",
            _table(
                ["option", "variable"],
                [[_code(option), _code(name)] for option, name in names["environment"].items()],
            ),
            "Where things are found and put:\n",
            _variables(environment.RUNNING),
            "When the tree is built and tested:\n",
            _variables(environment.BUILDING),
            "## Events and columns\n",
            "An event is a slice in a trace; its column is the phase's total in tables and its key "
            "in JSON.\n",
            _table(["event", "column", "from level", "clock", "file", "meaning"], phases),
            "Layer records carry the engine's own layer names and the category "
            + _code(names["layer_category"])
            + ".\n",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--check", metavar="FILE")
    arguments = parser.parse_args()
    page = render(names_table(str(Path(arguments.library).absolute())))
    if arguments.check:
        if Path(arguments.check).read_text(encoding="utf-8") == page:
            return 0
        print(f"{arguments.check} differs from the names table: run {__doc__}", file=sys.stderr)
        return 1
    target = Path(os.environ["BUILD_WORKSPACE_DIRECTORY"]) / "docs" / "reference.md"
    target.write_text(page, encoding="utf-8")
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
