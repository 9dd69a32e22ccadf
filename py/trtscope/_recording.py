"""Reads what profiling wrote into a folder: the traces of engines, whole or cut short.

A trace is a JSON array with one event a line (docs/3-traces.md), so a file whose end is missing is
read up to its last whole line.  A folder outlives crashes and full disks: a file that cannot be
read costs what is in it, and is named, and everything else is read.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from trtscope._errors import TrtscopeError
from trtscope._profile import names

PARTIAL = ".partial"
_GRAPH = ".engine.graph.json"
#: Files that an error names at most.
_MOST_NAMED = 3


@dataclass
class Spans:
    """Spans of one kind as columns of equal length: ``call``, ``start_ns`` (monotonic clock of the
    process), ``duration_ns``, ``track`` (thread id, or a lane's)."""

    call: array[int] = field(default_factory=lambda: array("q"))
    start_ns: array[int] = field(default_factory=lambda: array("q"))
    duration_ns: array[int] = field(default_factory=lambda: array("q"))
    track: array[int] = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self.call)

    def add(self, call: int, start_ns: int, duration_ns: int, track: int) -> None:
        self.call.append(call)
        self.start_ns.append(start_ns)
        self.duration_ns.append(duration_ns)
        self.track.append(track)


@dataclass
class Layer:
    name: str
    spans: Spans = field(default_factory=Spans)


@dataclass
class EngineRecording:
    """One engine of one process.  ``phases`` by event name; ``layers`` by their position."""

    id: str
    implementation: str = ""
    runtime: str = ""
    phases: dict[str, Spans] = field(default_factory=dict)
    layers: dict[int, Layer] = field(default_factory=dict)
    dropped: int = 0
    cut: list[Path] = field(default_factory=list)  # files whose end is missing
    details: dict[str, Any] = field(default_factory=dict)  # of the inspector, by layer name

    @property
    def name(self) -> str:
        """The id without the plan's hash and the ordinal."""
        return self.id.rsplit("-", 2)[0]

    def add(self, event: dict[str, Any]) -> None:
        """Adds a span as a trace has it; when something in it is not as it must be, nothing.

        Raises:
            KeyError, OverflowError, TypeError, ValueError: of what is not.
        """
        arguments = event["args"]
        # An array of 64 bits is what refuses numbers that the columns cannot hold.
        start_ns, duration_ns = (round(event[key] * 1000) for key in ("ts", "dur"))
        span = array("q", (arguments["call"], start_ns, duration_ns, event["tid"]))
        name = str(event["name"])
        if event["cat"] == names()["layer_category"]:
            spans = self.layers.setdefault(int(arguments["layer"]), Layer(name)).spans
        else:
            spans = self.phases.setdefault(name, Spans())
        spans.add(*span)


@dataclass
class Process:
    """One process on one host.  ``clock``: a monotonic and a real time of one moment, in ns."""

    host: str
    pid: int
    name: str = ""
    clock: tuple[int, int] | None = None
    threads: dict[int, str] = field(default_factory=dict)
    engines: dict[str, EngineRecording] = field(default_factory=dict)


@dataclass(frozen=True)
class Unread:
    """A file that is not, or not wholly, in the recording; ``reason``: why, and what is missing."""

    file: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


@dataclass
class Recording:
    """``files``: the traces that it was read from."""

    path: Path
    processes: list[Process]
    files: list[Path]
    unread: list[Unread] = field(default_factory=list)

    def engines(self) -> Iterator[tuple[Process, EngineRecording]]:
        for process in self.processes:
            for engine in process.engines.values():
                yield process, engine


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Reads the folder's traces.

    Raises:
        TrtscopeError: there is no such folder, no trace in it, or none that can be read.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise TrtscopeError(f"{folder}: expected a folder of traces; there is none")
    suffixes = tuple(s + end for s in names()["trace_files"] for end in ("", PARTIAL))
    files = sorted(f for f in folder.iterdir() if f.name.endswith(suffixes))
    if not files:
        raise TrtscopeError(
            f"{folder}: no trace in it; expected files that end in {names()['trace_files'][0]}, as "
            "written by trtscope profile --out"
        )
    processes: dict[tuple[str, int], Process] = {}
    recording = Recording(folder, [], [])
    for file in files:
        engine, fault = _read_file(file, processes)
        if engine is not None:
            recording.files.append(file)
        if fault:
            rest = "left out" if engine is None else "read up to there"
            recording.unread.append(Unread(file, f"{fault}: {rest}"))
    if not recording.files:
        raise TrtscopeError(
            f"{folder}: none of its traces ({len(files)}) can be read: "
            + "; ".join(f"{u.file.name}: {u.reason}" for u in recording.unread[:_MOST_NAMED])
        )
    recording.processes = list(processes.values())
    for file in sorted(folder.glob(f"*{_GRAPH}")):
        _read_details(file, recording)
    return recording


class _DamagedError(Exception):
    """A line that no trace of trtscope has; says which."""


def _open(file: Path) -> TextIO:
    """
    Raises:
        OSError: it cannot be read, or is no file: who opens a pipe waits for its writer.
    """
    mode = file.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # of which the system says more itself
        raise OSError(errno.EINVAL, "it is no file")
    return file.open(encoding="utf-8", errors="replace")


def _events(file: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Line number and event; None for a last line that was cut."""
    with _open(file) as lines:
        number, pending = 0, None
        for number, line in enumerate(lines, 1):
            text = line.strip().rstrip(",")
            if pending is not None:
                raise _DamagedError(f"line {pending} is no event of a trace")
            if text in ("[", "]", ""):
                continue
            try:
                event = json.loads(text)
            except (ValueError, RecursionError):
                pending = number
                continue
            if not isinstance(event, dict):
                raise _DamagedError(f"line {number}: expected an event, got {text[:40]!r}")
            yield number, event
        if number == 0:
            raise _DamagedError("it is empty")
        if pending is not None:
            if number == 1:
                raise _DamagedError("line 1 is no event of a trace")
            yield number, None


def _read_file(
    file: Path, processes: dict[tuple[str, int], Process]
) -> tuple[EngineRecording | None, str]:
    """Adds what the file holds to its engine's recording.

    Returns:
        The engine, None for a file that names none; and why not all of the file was read, or "".
    """
    process: Process | None = None
    engine: EngineRecording | None = None
    first: dict[str, Any] = {}  # metadata that comes before the engine's
    whole, dropped, fault = False, 0, ""
    try:
        for number, event in _events(file):
            if event is None:
                break
            try:
                kind, arguments = event["name"], event.get("args", {})
                if kind == "trtscope.engine":
                    key = (str(arguments["host"]), int(event["pid"]))
                    process = processes.setdefault(key, Process(*key))
                    process.name = first.get("process_name", {}).get("name", process.name)
                    if process.clock is None and "trtscope.clock" in first:
                        clock = first["trtscope.clock"]
                        process.clock = (int(clock["monotonic_ns"]), int(clock["realtime_ns"]))
                    identity = str(arguments["engine"])
                    engine = process.engines.setdefault(identity, EngineRecording(identity))
                    engine.implementation = str(arguments.get("implementation", ""))
                    engine.runtime = str(arguments.get("runtime", ""))
                elif process is None or engine is None:
                    first[kind] = arguments
                elif kind == "thread_name":
                    process.threads.setdefault(int(event["tid"]), str(arguments["name"]))
                elif kind == "trtscope.end":
                    whole, dropped = bool(arguments["complete"]), int(arguments["dropped_spans"])
                elif kind == "trtscope.dropped_spans":
                    dropped = int(arguments["dropped_spans"])  # so far: traces without an end
                elif event["ph"] == "X":
                    engine.add(event)
            except KeyError as error:
                raise _DamagedError(
                    f"line {number}: expected an event with {error}, got {event!r:.160}"
                ) from error
            except (AttributeError, OverflowError, TypeError, ValueError) as error:
                # Other programs' traces, and numbers that no clock and no counter reaches.
                raise _DamagedError(
                    f"line {number}: expected an event as trtscope writes them, got "
                    f"{event!r:.160}: {error}"
                ) from error
        if engine is None:
            raise _DamagedError("names no engine: cut at its start, or no trace of trtscope")
    except OSError as error:
        fault = f"cannot be read ({error.strerror})"
    except _DamagedError as error:
        fault = str(error)
    if engine is not None:
        if names()["trace_files"][0] in file.name:
            engine.dropped += dropped  # of all the session's files, which all say so
        if not whole and not fault:
            engine.cut.append(file)
    return engine, fault


def _read_details(file: Path, recording: Recording) -> None:
    """TREX's graph file: what the engine's inspector knows of each layer."""
    try:
        with _open(file) as text:
            layers = json.load(text)["Layers"]
        details = {
            str(layer["Name"]): layer
            for layer in layers
            if isinstance(layer, dict) and "Name" in layer
        }
    except OSError as error:
        fault = f"cannot be read ({error.strerror})"
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        fault = f"expected the explorer's graph, with a list of Layers: {error!r}"
    else:
        for _, engine in recording.engines():
            if file.name.startswith(engine.id + "."):
                engine.details = details
        return
    recording.unread.append(Unread(file, f"{fault}: its engine's layers have no details"))
