"""``trtscope report``: one page about a folder of traces."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from trtscope.cli._text import octets
from trtscope.cli._unread import warn_of_unread


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="make one HTML page of a folder of traces",
        description="Makes one self-contained page of a folder of traces (as written by trtscope "
        "profile --out): engines, phases, latency distributions, a timeline, layers, and what to "
        "look at first. It needs no network to open.",
    )
    parser.add_argument("folder", metavar="DIR", help="folder of the traces")
    parser.add_argument(
        "-o", "--out", default="report.html", metavar="FILE", help="the page (report.html)"
    )
    parser.add_argument(
        "--etrecord", metavar="FILE", help="record of the .pte whose ETDump is in the folder"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from trtscope._recording import read_recording
    from trtscope.report import write_page

    recording = read_recording(arguments.folder)
    warn_of_unread(recording)
    page = write_page(recording, arguments.out, etrecord=arguments.etrecord)
    print(f"wrote {page} ({octets(page.stat().st_size)}): open it in a browser", file=sys.stderr)
    print(Path(page).resolve())
    return 0
