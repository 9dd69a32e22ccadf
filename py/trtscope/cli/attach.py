"""``trtscope attach``: another process's profiling, switched from outside."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

from trtscope.cli._arguments import folder
from trtscope.cli._text import printable

#: The process's writer makes files this long after a call, at the latest.
_FILES_WITHIN_S = 0.3

SETTINGS = ("level", "format", "path_prefix", "filter", "sample_interval")


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "attach",
        help="switch profiling of a running process on and off",
        description="Changes the settings of a process of the same user that was started with "
        "TRTSCOPE_CONTROL=1 or called trtscope.open_control(), and prints what they are then. With "
        "no option it only prints them. --level off finishes the traces.",
    )
    parser.add_argument("pid", type=int, metavar="PID", help="the process")
    parser.add_argument("--level", help="off, delegate, phases or layers")
    parser.add_argument("--format", help="perfetto, trex or etdump")
    parser.add_argument(
        "--out", dest="path_prefix", type=folder, metavar="DIR", help="folder of the traces"
    )
    parser.add_argument("--filter", metavar="GLOB", help="only engines whose id matches")
    parser.add_argument("--sample-interval", metavar="N", help="measure one call in N on the GPU")
    parser.add_argument("--reset", action="store_true", help="set all counters to zero")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from trtscope._control import ask, ask_json

    before = ask_json(arguments.pid, "config")
    known = _problems(arguments.pid)
    if arguments.path_prefix is not None:
        arguments.path_prefix = os.path.abspath(arguments.path_prefix)  # it stands elsewhere
    # The level last: files begin with the format and in the folder that were asked for.
    for name in sorted(SETTINGS, key=lambda n: n == "level"):
        value = getattr(arguments, name)
        if value is not None:
            ask(arguments.pid, f"set {name} {value}")
    if arguments.reset:
        ask(arguments.pid, "reset")
    after = ask_json(arguments.pid, "config")
    print(json.dumps(after, indent=2))
    if before["level"] != "off" and after["level"] == "off":
        print(ask(arguments.pid, "flush").rstrip("\n"))
    elif after != before:
        time.sleep(_FILES_WITHIN_S)
    new = [problem for problem in _problems(arguments.pid) if problem not in known]
    for problem in new:
        print(f"trtscope: process {arguments.pid}: {printable(problem)}", file=sys.stderr)
    return 1 if new else 0


def _problems(pid: int) -> list[str]:
    """What went wrong beside its calls so far, such as a folder that cannot be written to."""
    from trtscope._control import ask_json

    errors: list[str] = ask_json(pid, "timing")["errors"]
    return errors
