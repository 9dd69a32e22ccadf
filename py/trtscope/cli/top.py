"""``trtscope top``: a live table of another process."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from trtscope.cli._arguments import count
from trtscope.cli._text import printable, table

_CLEAR = "\x1b[H\x1b[2J"


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "top",
        help="show what the engines of a running process do",
        description="Shows the engines of a process of the same user that was started with "
        "TRTSCOPE_CONTROL=1 or called trtscope.open_control(), once in an interval, until "
        "interrupted. Without a process: which there are. It changes nothing there: where the "
        "level is off, trtscope attach PID --level delegate turns it on.",
    )
    parser.add_argument(
        "pid", type=int, nargs="?", metavar="PID", help="the process; without it, which there are"
    )
    parser.add_argument(
        "--interval", type=_seconds, default=1.0, metavar="SECONDS", help="between two tables (1)"
    )
    parser.add_argument(
        "--count", type=count, default=0, metavar="N", help="end after so many tables (0: never)"
    )
    parser.set_defaults(run=run)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.05 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"expected seconds from 0.05 to 3600, got {text!r}")
    return value


def run(arguments: argparse.Namespace) -> int:
    from trtscope._control import ask_json, reachable

    if arguments.pid is None:
        found = reachable()
        print("\n".join(map(str, found)) if found else "no process of this user can be reached")
        return 0
    before: dict[str, Any] | None = None
    shown = 0
    while True:
        now = ask_json(arguments.pid, "timing")
        now["time"] = time.monotonic()
        if before is not None or arguments.count == 1:
            text = frame(arguments.pid, before, now)
            print((_CLEAR if sys.stdout.isatty() else "") + text, flush=True)
            shown += 1
            if shown == arguments.count:
                return 0
        before = now
        time.sleep(arguments.interval)


def frame(pid: int, before: dict[str, Any] | None, now: dict[str, Any]) -> str:
    """The table: since ``before``, calls a second and the share of a thread's time that they take;
    percentiles since the counters began."""
    seconds = now["time"] - before["time"] if before else 0.0
    old = {e["id"]: e["phases"]["total"] for e in before["engines"]} if before else {}
    rows = []
    for engine in now["engines"]:
        total = engine["phases"]["total"]
        last = old.get(engine["id"], {"count": 0, "total_ns": 0})
        calls = total["count"] - last["count"]
        busy = total["total_ns"] - last["total_ns"]
        # Fewer than before: the counters were reset in between.
        known = seconds > 0 and calls >= 0 and busy >= 0
        rows.append(
            (
                engine["id"],
                total["count"],
                calls / seconds if known else 0.0,
                100 * busy / 1e9 / seconds if known else 0.0,
                total["p50_ns"] / 1e6,
                total["p99_ns"] / 1e6,
                engine["errors"],
            )
        )
    rows.sort(key=lambda row: (-row[3], row[0]))
    config = now["config"]
    head = f"process {pid}, level {config['level']}, filter {config['filter']}"
    if config["level"] == "off":
        head += f": nothing is counted; trtscope attach {pid} --level delegate turns it on"
    columns = ("engine", "calls", "calls/s", "busy %", "p50 ms", "p99 ms", "errors")
    lines = [head, table(columns, rows)]
    if now["dropped_spans"]:
        lines.append(f"{now['dropped_spans']} spans were dropped: its traces are not whole")
    lines += [f"problem: {printable(problem)}" for problem in now["errors"]]
    return "\n".join(lines) + "\n"
