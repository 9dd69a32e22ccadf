"""One view of a traced program: for every delegate call and operator of its methods, which region
it is, what it cost the host, how that splits into phases, which layers took the time, what lies
between it and the one before, and which nodes and source lines it came from.
"""

from __future__ import annotations

import json
import os
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trtscope._whole_file import written_whole

_TRACKS = {"method": 1, "call": 2, "inside": 3, "layers": 4, "gpu": 5}


@dataclass
class Step:
    """One instruction of a method, over all calls that ended well: a delegate region or an
    operator.  Times are milliseconds, one for each time that it ran."""

    method: str  # empty where it is not known
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
    start_ns: int
    duration_ns: int
    instruction: int
    track: str  # "method", "call", "inside", "layers" or "gpu"
    args: dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """A call that did not end well: the last step that it came to, as the trace has it."""

    method: str
    instruction: int
    what: str


@dataclass
class Timeline:
    """``method_ms``: whole calls of methods that ended well, and in ``methods`` the names of those.
    ``tail_ms``: what follows a call's last step.  Calls that failed are in ``failures`` and
    ``spans`` alone: the trace does not say how long they took."""

    steps: list[Step] = field(default_factory=list)
    method_ms: list[float] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    tail_ms: list[float] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def table(self) -> str:
        """A row for each step: its region, host time, phases (mean milliseconds a call), the gap
        before it, nodes and source."""
        from trtscope.cli._text import table

        several = len({s.method for s in self.steps}) > 1
        names = list(dict.fromkeys(p for s in self.steps for p in s.phases))
        rows: list[list[object]] = []
        for step in self.steps:
            calls = len(step.host_ms)
            rows.append(
                [
                    *([step.method or "?"] if several else []),
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
        header = [*(["method"] if several else []), *header, "gap before", "nodes", "source"]
        below = [*self._method_lines(), *self._failure_lines()] or ["no call of a method is in it"]
        return "\n".join([*([table(header, rows), ""] if rows else []), *below])

    def _method_lines(self) -> Iterator[str]:
        for name in dict.fromkeys(self.methods):
            calls = [ms for ms, of in zip(self.method_ms, self.methods, strict=True) if of == name]
            steps = sum(sum(s.host_ms) for s in self.steps if s.method == name)
            whole = sum(calls)
            yield (
                f"method{name and ' ' + name}: {len(calls)} calls, median "
                f"{statistics.median(calls):.3f} ms; in steps {steps:.3f} ms of {whole:.3f} ms, "
                f"between them {whole - steps:.3f} ms"
            )

    def _failure_lines(self) -> Iterator[str]:
        for failure, count in Counter(self.failures).items():
            yield (
                f"failed calls, in no figure above: {count}"
                f"{failure.method and ' of method ' + failure.method}, after step "
                f"{failure.instruction} ({failure.what}) began"
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
            "failed_calls": len(self.failures),
            "between_steps_ms": sum(self.method_ms) - sum(sum(s.host_ms) for s in self.steps),
            "steps": [
                {
                    "method": s.method,
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
        path = Path(path)
        with written_whole(path) as part, part.open("w", encoding="utf-8") as file:
            separator = '{"traceEvents": ['
            for event in self._trace_events():  # one by one: they may be millions
                file.write(separator + json.dumps(event))
                separator = ",\n"
            file.write("]}")
        return path

    def _trace_events(self) -> Iterator[dict[str, Any]]:
        for name, tid in _TRACKS.items():
            yield {"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name}}
        for span in sorted(self.spans, key=lambda s: s.start_ns):
            yield {
                "ph": "X",
                "name": span.name,
                "cat": span.track,
                "pid": 1,
                "tid": _TRACKS[span.track],
                "ts": span.start_ns / 1e3,
                "dur": span.duration_ns / 1e3,
                "args": {"instruction": span.instruction, **span.args},
            }


def _short(nodes: list[str]) -> str:
    texts = [f"{n} x{c}" if c > 1 else n for n, c in Counter(nodes).items()]
    return ", ".join(texts[:4]) + (f", and {len(texts) - 4} more" if len(texts) > 4 else "")
