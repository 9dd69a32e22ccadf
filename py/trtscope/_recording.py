"""Reads what profiling wrote into a folder: the traces of engines, whole or cut short.

A trace is a JSON array with one event a line (docs/3-traces.md), so a file whose end is missing is
read up to its last whole line.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trtscope._errors import TrtscopeError
from trtscope._profile import names

PARTIAL = ".partial"


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

    def add(self, event: dict[str, Any]) -> None:
        self.call.append(event["args"]["call"])
        self.start_ns.append(round(event["ts"] * 1000))
        self.duration_ns.append(round(event["dur"] * 1000))
        self.track.append(event["tid"])


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


@dataclass
class Process:
    """One process on one host.  ``clock``: a monotonic and a real time of one moment, in ns."""

    host: str
    pid: int
    name: str = ""
    clock: tuple[int, int] | None = None
    threads: dict[int, str] = field(default_factory=dict)
    engines: dict[str, EngineRecording] = field(default_factory=dict)


@dataclass
class Recording:
    path: Path
    processes: list[Process]
    files: list[Path]

    def engines(self) -> Iterator[tuple[Process, EngineRecording]]:
        for process in self.processes:
            for engine in process.engines.values():
                yield process, engine


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Reads the folder's traces.

    Raises:
        TrtscopeError: there is no such folder, no trace in it, or a file that is no trace.
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
    for file in files:
        try:
            _read_file(file, processes)
        except OSError as error:
            raise TrtscopeError(f"{file}: cannot be read: {error.strerror}") from error
    recording = Recording(folder, list(processes.values()), files)
    for file in sorted(folder.glob("*.engine.graph.json")):
        _read_details(file, recording)
    return recording


def _events(file: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Line number and event; None for a last line that was cut."""
    with open(file, encoding="utf-8", errors="replace") as lines:
        number, pending = 0, None
        for number, line in enumerate(lines, 1):
            text = line.strip().rstrip(",")
            if pending is not None:
                raise TrtscopeError(f"{file}: line {pending} is no event of a trace")
            if text in ("[", "]", ""):
                continue
            try:
                event = json.loads(text)
            except ValueError:
                pending = number
                continue
            if not isinstance(event, dict):
                raise TrtscopeError(f"{file}: line {number}: expected an event, got {text[:40]!r}")
            yield number, event
        if pending is not None:
            if number == 1:
                raise TrtscopeError(f"{file}: line 1 is no event of a trace")
            yield number, None


def _read_file(file: Path, processes: dict[tuple[str, int], Process]) -> None:
    process: Process | None = None
    engine: EngineRecording | None = None
    first: dict[str, Any] = {}  # metadata that comes before the engine's
    whole, dropped = False, 0
    for number, event in _events(file):
        try:
            if event is None:
                break
            kind, arguments = event["name"], event.get("args", {})
            if kind == "trtscope.engine":
                key = (str(arguments["host"]), int(event["pid"]))
                process = processes.setdefault(key, Process(*key))
                process.name = first.get("process_name", {}).get("name", process.name)
                if process.clock is None and "trtscope.clock" in first:
                    clock = first["trtscope.clock"]
                    process.clock = (clock["monotonic_ns"], clock["realtime_ns"])
                identity = str(arguments["engine"])
                engine = process.engines.setdefault(identity, EngineRecording(identity))
                engine.implementation = arguments.get("implementation", "")
                engine.runtime = arguments.get("runtime", "")
            elif process is None or engine is None:
                first[kind] = arguments
            elif kind == "thread_name":
                process.threads.setdefault(event["tid"], arguments["name"])
            elif kind == "trtscope.end":
                whole, dropped = arguments["complete"], arguments["dropped_spans"]
            elif kind == "trtscope.dropped_spans":
                dropped = arguments["dropped_spans"]  # so far, for traces without an end
            elif event["ph"] == "X":
                if event["cat"] == names()["layer_category"]:
                    layer = engine.layers.setdefault(arguments["layer"], Layer(kind))
                    layer.spans.add(event)
                else:
                    engine.phases.setdefault(kind, Spans()).add(event)
        except KeyError as error:
            raise TrtscopeError(
                f"{file}: line {number}: expected an event with {error}, got {event!r:.160}"
            ) from error
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            # Other programs' traces, and numbers that no clock and no counter reaches.
            raise TrtscopeError(
                f"{file}: line {number}: expected an event as trtscope writes them, got "
                f"{event!r:.160}: {error}"
            ) from error
    if engine is None:
        raise TrtscopeError(
            f"{file}: names no engine: not a trace of trtscope, or cut at its start"
        )
    if names()["trace_files"][0] in file.name:
        engine.dropped += dropped  # of all the session's files, which all say so
    if not whole:
        engine.cut.append(file)


def _read_details(file: Path, recording: Recording) -> None:
    """TREX's graph file: what the engine's inspector knows of each layer."""
    try:
        layers = json.loads(file.read_text(encoding="utf-8", errors="replace"))["Layers"]
    except (ValueError, KeyError, TypeError) as error:
        raise TrtscopeError(f"{file}: expected the explorer's graph: {error!r}") from error
    for _, engine in recording.engines():
        if file.name.startswith(engine.id + "."):
            engine.details = {
                str(layer["Name"]): layer
                for layer in layers
                if isinstance(layer, dict) and "Name" in layer
            }
