"""``trtscope compare``: what became slower or faster between two recordings, noise allowed for."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from trtscope.cli._text import table
from trtscope.cli._unread import warn_of_unread

if TYPE_CHECKING:
    from trtscope._compare import Comparison, Row

#: Exit code when an engine became slower than ``--fail-above`` allows.
SLOWER = 3
_LAYERS = 12  # that changed most


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "compare",
        help="compare two recordings: before and after, two machines",
        description="Compares the medians of calls, phases and layers in two folders of traces (as "
        "written by trtscope profile --out). Each ratio comes with the interval that holds it in "
        "95 % of resamples; what holds 1 is noise. Engines are partners by name.",
        epilog=f"Exit code {SLOWER}: an engine became slower than --fail-above allows.",
    )
    parser.add_argument("a", metavar="A", help="folder of the traces before")
    parser.add_argument("b", metavar="B", help="folder of the traces after")
    parser.add_argument(
        "--fail-above",
        type=percent,
        metavar="N%",
        help="exit with 3 if an engine became slower by more than this, and not by noise",
    )
    parser.add_argument(
        "--metric",
        default="total",
        metavar="COLUMN",
        help="what --fail-above looks at: total (host time of calls), gpu, enqueue, ... (total)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def percent(text: str) -> float:
    """``5%`` or ``5``, as 0.05."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a percentage of 0 or more, got {text!r}")
    return value / 100


def run(arguments: argparse.Namespace) -> int:
    from trtscope._compare import compare
    from trtscope._errors import TrtscopeError
    from trtscope._profile import names
    from trtscope._recording import read_recording

    columns = [phase["column"] for phase in names()["phases"]]
    if arguments.metric not in columns:
        raise TrtscopeError(f"--metric {arguments.metric!r} is none of {', '.join(columns)}")
    a, b = (read_recording(folder) for folder in (arguments.a, arguments.b))
    warn_of_unread(a)
    warn_of_unread(b)
    found = compare(a, b)
    failed: list[Row] = []
    if arguments.fail_above is not None:
        if not any(r.what == arguments.metric for r in found.rows):
            raise TrtscopeError(
                f"no engine has {arguments.metric!r} in both recordings: --fail-above has nothing "
                "to look at"
            )
        failed = found.slower(arguments.metric, arguments.fail_above)
    if arguments.json:
        report = {
            "rows": [row.to_json() for row in found.rows],
            "only_a": found.only_a,
            "only_b": found.only_b,
            "too_few_calls": found.too_few,
            "measured_by_a_only": found.only_measured_a,
            "measured_by_b_only": found.only_measured_b,
            "unread_a": [str(unread) for unread in a.unread],
            "unread_b": [str(unread) for unread in b.unread],
            "failed": [row.to_json() for row in failed],
        }
        print(json.dumps(report, indent=2))
    else:
        print(_text(found, failed, arguments))
    return SLOWER if failed else 0


def _text(found: Comparison, failed: list[Row], arguments: argparse.Namespace) -> str:
    lines = [_table([r for r in found.rows if not r.is_layer])]
    layers = [r for r in found.rows if r.is_layer and r.change.verdict != "noise"]
    layers.sort(key=lambda r: -abs(r.change.b_ns - r.change.a_ns))
    if layers:
        shown = layers[:_LAYERS]
        lines += ["", f"Layers that changed, {len(shown)} of {len(layers)}:", _table(shown)]
    for side, engines in (("A", found.only_a), ("B", found.only_b)):
        if engines:
            lines += ["", f"only in {side}: {', '.join(engines)}"]
    if found.too_few:
        lines += ["", f"too few calls to compare: {', '.join(found.too_few)}"]
    for side, other, columns in (
        ("A", "B", found.only_measured_a),
        ("B", "A", found.only_measured_b),
    ):
        if columns:
            lines += ["", f"only {side} measured: {', '.join(columns)} ({other}: another level?)"]
    if arguments.fail_above is not None:
        limit = f"{100 * arguments.fail_above:g} %"
        lines += [""]
        lines += [
            f"SLOWER: {r.engine}: {r.what} {100 * (r.change.ratio - 1):+.1f} %, at least "
            f"{100 * (r.change.low - 1):+.1f} %; allowed {limit}"
            for r in failed
        ] or [f"no engine's {arguments.metric} is slower by more than {limit}"]
    return "\n".join(lines)


def _table(rows: list[Row]) -> str:
    return table(
        ("engine", "what", "calls A", "calls B", "A ms", "B ms", "change %", "from", "to", ""),
        [
            (
                r.engine,
                r.what,
                *r.calls,
                r.change.a_ns / 1e6,
                r.change.b_ns / 1e6,
                *(100 * (x - 1) for x in (r.change.ratio, r.change.low, r.change.high)),
                r.change.verdict,
            )
            for r in rows
        ],
    )
