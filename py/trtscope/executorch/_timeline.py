"""One view of a traced program: an ETDump, with the ETRecord when there is one.

It answers, for every delegate call and operator of a method: which region it is, what it cost the
host, how that splits into phases, which layers took the time, what lies between it and the one
before, and which nodes and source lines it came from.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trtscope._errors import PackageError, one_line
from trtscope._folders import make_folder
from trtscope._progress import quiet

_ETDUMP_MAGIC = b"ED00"
_LAYER = "torchtrt.layer/"
_PREFIX = "torchtrt."
_CALLS = ("DELEGATE_CALL", "OPERATOR_CALL")
_METHOD = "Method::execute"
_NS = 1e6  # nanoseconds in a millisecond, which is what the Inspector counts in


@dataclass
class Step:
    """One instruction of a method, over all calls: a delegate region or an operator."""

    instruction: int
    what: str  # backend, or operator
    engine: str = ""  # id of the engine, for regions of TensorRTBackend
    host_ms: list[float] = field(default_factory=list)
    gap_ms: list[float] = field(default_factory=list)  # after the step before it
    phases: dict[str, list[float]] = field(default_factory=dict)
    layers: dict[str, list[float]] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    source: str = ""

    @property
    def is_region(self) -> bool:
        return self.engine != "" or bool(self.phases) or self.what.endswith("Backend")


@dataclass(frozen=True)
class Span:
    """One event of one call."""

    name: str
    start_ns: float
    duration_ns: float
    instruction: int
    track: str  # "method", "call", "inside" or "gpu"
    args: dict[str, Any]


@dataclass
class Timeline:
    """``method_ms``: whole calls of the method.  ``tail_ms``: what follows the last step."""

    steps: list[Step]
    method_ms: list[float]
    tail_ms: list[float]
    spans: list[Span]

    def table(self) -> str:
        """A row for each step: its region, host time, phases (mean milliseconds a call), the gap
        before it, nodes and source."""
        from trtscope.cli._text import table

        names = list(dict.fromkeys(p for s in self.steps for p in s.phases))
        rows: list[list[object]] = []
        for step in self.steps:
            calls = len(step.host_ms)
            rows.append(
                [
                    step.instruction,
                    step.what,
                    step.engine or "-",
                    calls,
                    statistics.median(step.host_ms),
                    sum(step.host_ms),
                    *(sum(step.phases.get(p, ())) / calls for p in names),
                    statistics.median(step.gap_ms) if step.gap_ms else 0.0,
                    _short(step.nodes),
                    step.source,
                ]
            )
        header = ["#", "step", "engine", "calls", "p50 ms", "total ms", *names]
        text = table([*header, "gap before", "nodes", "source"], rows)
        if not self.method_ms:
            return text
        steps = sum(sum(s.host_ms) for s in self.steps)
        whole = sum(self.method_ms)
        return (
            f"{text}\n\nmethod: {len(self.method_ms)} calls, median "
            f"{statistics.median(self.method_ms):.3f} ms; in steps {steps:.3f} ms of "
            f"{whole:.3f} ms, between them {whole - steps:.3f} ms"
        )

    def layer_rows(self) -> list[dict[str, Any]]:
        """A row for each layer, slowest first."""
        rows = [
            {
                "engine": step.engine or step.what,
                "layer": name,
                "count": len(times),
                "total_ms": sum(times),
                "p50_ms": statistics.median(times),
            }
            for step in self.steps
            for name, times in step.layers.items()
        ]
        return sorted(rows, key=lambda row: -row["total_ms"])

    def to_json(self) -> dict[str, Any]:
        return {
            "method": {"calls": len(self.method_ms), "total_ms": sum(self.method_ms)},
            "between_steps_ms": sum(self.method_ms) - sum(sum(s.host_ms) for s in self.steps),
            "steps": [
                {
                    "instruction": s.instruction,
                    "step": s.what,
                    "engine": s.engine,
                    "calls": len(s.host_ms),
                    "host_ms": sum(s.host_ms),
                    "gap_before_ms": sum(s.gap_ms),
                    "phases_ms": {p: sum(t) for p, t in s.phases.items()},
                    "layers_ms": {n: sum(t) for n, t in s.layers.items()},
                    "nodes": s.nodes,
                    "source": s.source,
                }
                for s in self.steps
            ],
        }

    def write_trace(self, path: str | os.PathLike[str]) -> Path:
        """Writes everything as one trace for ui.perfetto.dev and chrome://tracing."""
        tracks = {"method": 1, "call": 2, "inside": 3, "layers": 4, "gpu": 5}
        events: list[dict[str, Any]] = [
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name}}
            for name, tid in tracks.items()
        ]
        events += [
            {
                "ph": "X",
                "name": span.name,
                "cat": span.track,
                "pid": 1,
                "tid": tracks[span.track],
                "ts": span.start_ns / 1e3,
                "dur": span.duration_ns / 1e3,
                "args": {"instruction": span.instruction, **span.args},
            }
            for span in sorted(self.spans, key=lambda s: s.start_ns)
        ]
        path = Path(path)
        make_folder(path.parent)
        path.write_text(json.dumps({"traceEvents": events}, indent=None), encoding="utf-8")
        return path


def _short(nodes: list[str]) -> str:
    counts: dict[str, int] = {}
    for node in nodes:
        counts[node] = counts.get(node, 0) + 1
    texts = [f"{n} x{c}" if c > 1 else n for n, c in counts.items()]
    return ", ".join(texts[:4]) + (f", and {len(texts) - 4} more" if len(texts) > 4 else "")


def read_timeline(
    etdump: str | os.PathLike[str], etrecord: str | os.PathLike[str] | None = None
) -> Timeline:
    """Reads a trace.  Without an ETRecord, steps have no nodes and no source.

    Raises:
        PackageError: a file is not there, or is no such file.
    """
    with quiet():
        from executorch.devtools import Inspector

    for path in (etdump, etrecord):
        if path is not None and not Path(path).is_file():
            raise PackageError(f"{path} does not exist")
    with Path(etdump).open("rb") as file:
        first = file.read(12)
    if _ETDUMP_MAGIC not in (first[4:8], first[8:]):  # the second where a size is before it
        raise PackageError(
            f"{etdump} is no ETDump: it begins with {first!r}, expected {_ETDUMP_MAGIC!r} after 4 "
            "or 8 octets"
        )
    said, size = int.from_bytes(first[:4], "little") + 4, Path(etdump).stat().st_size
    if first[8:] == _ETDUMP_MAGIC and size < said:
        raise PackageError(f"{etdump} is cut short: it has {size} octets of {said}")
    try:
        with warnings.catch_warnings():
            # About features that are not asked for here.
            warnings.simplefilter("ignore")
            inspector = Inspector(
                etdump_path=os.fspath(etdump),
                etrecord=None if etrecord is None else os.fspath(etrecord),
            )
    except Exception as error:
        what = f"{etdump} is damaged or cut short"
        if etrecord is not None:
            what += f", or {etrecord} is not of its program"
        raise PackageError(f"{what}: {one_line(error)}") from error

    steps: dict[int, Step] = {}
    method_ms: list[float] = []
    tail_ms: list[float] = []
    spans: list[Span] = []
    for block in inspector.event_blocks:
        if block.name != "Execute":
            continue
        count = max((len(e.perf_data.raw) for e in block.events if e.perf_data), default=0)
        names = _operator_names(block.events)
        for event in block.events:
            _add_event(event, names, steps, spans)
        for run in range(count):
            _add_gaps(block.events, run, steps, method_ms, tail_ms)
    return Timeline([steps[i] for i in sorted(steps)], method_ms, tail_ms, spans)


def _operator_names(events: Any) -> dict[int, str]:
    prefix = "native_call_"
    return {
        e._instruction_id: e.name.removeprefix(prefix) for e in events if e.name.startswith(prefix)
    }


def _runs(event: Any) -> Iterator[tuple[float, float]]:
    """(start in nanoseconds, duration in milliseconds) of each run."""
    durations = event.perf_data.raw if event.perf_data else ()
    yield from zip(event.start_time or (), durations, strict=False)


def _add_event(
    event: Any, names: dict[int, str], steps: dict[int, Step], spans: list[Span]
) -> None:
    at = event._instruction_id
    metadata = [_metadata(m) for m in event._delegate_debug_metadatas or ()]
    if event.name == _METHOD:
        spans += [Span(event.name, s, d * _NS, at, "method", {}) for s, d in _runs(event)]
        return
    is_call = event.name in _CALLS
    if not is_call and event.delegate_debug_identifier is None:
        return
    step = steps.setdefault(at, Step(at, names.get(at, event.delegate_backend_name or "?")))
    if is_call:
        step.what = event.delegate_backend_name or names.get(at, event.name)
        step.host_ms += event.perf_data.raw
        step.nodes = step.nodes or list(event.op_types)
        step.source = step.source or _source(event.stack_traces)
        args = {"nodes": step.nodes, "source": step.source}
        spans += [Span(step.what, s, d * _NS, at, "call", args) for s, d in _runs(event)]
        return
    name = str(event.delegate_debug_identifier)
    for i, (start, duration) in enumerate(_runs(event)):
        args = metadata[i] if i < len(metadata) else {}
        step.engine = step.engine or str(args.get("engine", ""))
        track = "gpu" if args.get("clock") == "gpu" else "inside"
        if name.startswith(_LAYER) or not name.startswith(_PREFIX):
            track = "layers" if track == "inside" else track
            layer = name.removeprefix(_LAYER)
            step.layers.setdefault(layer, []).append(duration)
        else:
            phase = re.sub(r" #\d+$", "", name).removeprefix(_PREFIX)
            if phase != "delegate":
                step.phases.setdefault(phase, []).append(duration)
        spans.append(Span(name, start, duration * _NS, at, track, args))


def _add_gaps(
    events: Any,
    run: int,
    steps: dict[int, Step],
    method_ms: list[float],
    tail_ms: list[float],
) -> None:
    calls = []
    end = None
    for event in events:
        runs = list(_runs(event))
        if run >= len(runs):
            continue
        start, duration = runs[run]
        if event.name == _METHOD:
            method_ms.append(duration)
            end = (start, start + duration * _NS)
        elif event.name in _CALLS:
            calls.append((start, start + duration * _NS, event._instruction_id))
    before = end[0] if end else None
    for start, stop, at in sorted(calls):
        if before is not None:
            steps[at].gap_ms.append(max(start - before, 0) / _NS)
        before = stop
    if end is not None and before is not None:
        tail_ms.append(max(end[1] - before, 0) / _NS)


def _metadata(data: Any) -> dict[str, Any]:
    try:
        value = json.loads(bytes(data) if isinstance(data, (bytes, bytearray, list)) else data)
    except (ValueError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


def _source(traces: dict[str, str] | None) -> str:
    """``file:line`` of the first node that has one, the model's own code before torch's."""
    lines = [
        (match[1], match[2])
        for trace in (traces or {}).values()
        for match in re.finditer(r'File "([^"]+)", line (\d+)', trace or "")
    ]
    own = [line for line in lines if f"{os.sep}torch{os.sep}" not in line[0]] or lines
    return f"{Path(own[0][0]).name}:{own[0][1]}" if own else ""
