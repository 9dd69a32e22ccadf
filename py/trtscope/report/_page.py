"""Puts data, style and script into one file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import trtscope
from trtscope._recording import Recording, read_recording
from trtscope._whole_file import written_whole
from trtscope.report._data import report_data
from trtscope.report._findings import findings
from trtscope.report._program import program_data


def write_report(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    etrecord: str | os.PathLike[str] | None = None,
) -> Path:
    """Writes the page about the traces in ``folder``; returns its path.  Files that cannot be read
    are named on it.

    Args:
        folder: what ``trtscope profile --out`` or ``trtscope.profile(dir=)`` wrote.
        path: of the page.  It needs no network and no other file.
        etrecord: of the program whose ETDump lies in the folder; by default one that lies there.

    Raises:
        TrtscopeError: no trace that can be read; the page cannot be written.
    """
    return write_page(read_recording(folder), path, etrecord=etrecord)


def write_page(
    recording: Recording,
    path: str | os.PathLike[str],
    *,
    etrecord: str | os.PathLike[str] | None = None,
) -> Path:
    """As write_report, of a folder that was read already."""
    page = page_of(recording, program_data(recording.path, etrecord))
    target = Path(path)
    with written_whole(target) as part:
        part.write_text(page, encoding="utf-8")
    return target


def page_of(recording: Recording, programs: Sequence[dict[str, Any]] = ()) -> str:
    """The page about a recording, and the ExecuTorch programs that were traced beside it."""
    data = report_data(recording)
    data["version"] = trtscope.__version__
    data["made"] = datetime.now(UTC).isoformat(timespec="seconds")
    data["findings"] = findings(data["engines"], recording.unread)
    data["programs"] = list(programs)
    # Inside a script element only "<" can end it.
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    text = text.encode("utf-8", "replace").decode()  # names in traces may hold half a character
    page = _resource("page.html")
    for mark, part in (
        ("/*STYLE*/", _resource("page.css")),
        ("/*SCRIPT*/", _resource("page.js")),
        ("/*DATA*/", text),
    ):
        before, _, after = page.partition(mark)
        page = before + part + after
    return page


def _resource(name: str) -> str:
    return resources.files("trtscope.report").joinpath(name).read_text(encoding="utf-8")
