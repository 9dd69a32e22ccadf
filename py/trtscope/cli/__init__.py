"""The command ``trtscope``.

Exit codes: 0 done, 1 failed (one sentence on standard error says why), 2 wrong usage, 130
interrupted.  Results go to standard output, progress and errors to standard error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import trtscope
from trtscope._errors import TrtscopeError
from trtscope._needs import explain
from trtscope.cli import attach, compare, demo, doctor, inspect, profile, report, top

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="trtscope",
        description="Shows where the time goes in engines hidden inside deployment packages.",
    )
    parser.add_argument("--version", action="version", version=f"trtscope {trtscope.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (profile, report, compare, inspect, top, attach, demo, doctor):
        module.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code, except for wrong usage (SystemExit of argparse)."""
    arguments = build_parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except (TrtscopeError, ImportError) as error:
        missing = explain(error) if isinstance(error, ImportError) else None
        print(f"trtscope: {missing or error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("trtscope: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough; nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
