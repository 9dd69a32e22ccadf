"""What the page shows, as JSON: sums, distributions, a timeline of bounded size."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trtscope._profile import names
from trtscope._recording import EngineRecording, Process, Recording, Spans
from trtscope._samples import histogram, per_call, samples, summary

#: Slices that the page's timeline holds at most: what a browser draws without a pause.
TIMELINE_SLICES = 40_000


def report_data(recording: Recording) -> dict[str, Any]:
    """``engines``, ``processes``, ``timeline``, ``phases`` (the names table)."""
    return {
        "source": str(recording.path),
        "files": [f.name for f in recording.files],
        "phases": names()["phases"],
        "processes": [
            {
                "host": p.host,
                "pid": p.pid,
                "name": p.name,
                "started_ns": _real_start(p),
                "engines": len(p.engines),
            }
            for p in recording.processes
        ],
        "engines": [_engine(process, engine) for process, engine in recording.engines()],
        "timeline": timeline(recording),
    }


def _real_start(process: Process) -> int | None:
    """Real time of the first span, in ns since 1970."""
    starts = [min(s.start_ns) for e in process.engines.values() for s in e.phases.values() if s]
    if process.clock is None or not starts:
        return None
    monotonic, real = process.clock
    return real + min(starts) - monotonic


def _engine(process: Process, engine: EngineRecording) -> dict[str, Any]:
    phases = {
        phase["column"]: samples(engine.phases[phase["event"]].duration_ns)
        for phase in names()["phases"]
        if phase["event"] in engine.phases
    }
    layers = [
        {
            "position": position,
            "name": layer.name,
            "details": engine.details.get(layer.name),
            **summary(samples(layer.spans.duration_ns)),
        }
        for position, layer in sorted(engine.layers.items())
    ]
    return {
        "id": engine.id,
        "name": engine.name,
        "process": f"{process.host}:{process.pid}",
        "implementation": engine.implementation,
        "runtime": engine.runtime,
        "dropped": engine.dropped,
        "cut": [f.name for f in engine.cut],
        "phases": {column: summary(values) for column, values in phases.items()},
        "histograms": {
            column: histogram(phases[column]) for column in ("total", "gpu") if column in phases
        },
        "layers": layers,
        "layer_sums": _layer_sums(engine),
        "calls": _calls(engine),
    }


def _layer_sums(engine: EngineRecording) -> dict[str, Any] | None:
    """Of the calls whose layers were measured: the median of the layers' sum, and that of what the
    layers are parts of: the GPU span, or the enqueue of an engine that works inside it."""
    gpu, enqueue = (_phase(column) for column in ("gpu", "enqueue"))
    column = "gpu" if gpu in engine.phases else "enqueue"
    whole = engine.phases.get(gpu if column == "gpu" else enqueue)
    if whole is None or not engine.layers:
        return None
    layers = per_call(*(layer.spans for layer in engine.layers.values()))
    wholes = per_call(whole)
    calls = sorted(layers.keys() & wholes.keys())
    if not calls:
        return None
    return {
        "column": column,
        "calls": len(calls),
        "layers_ns": float(np.median([layers[c] for c in calls])),
        "whole_ns": float(np.median([wholes[c] for c in calls])),
    }


def _phase(column: str) -> str:
    """The event that a column of tables shows."""
    return str(next(p["event"] for p in names()["phases"] if p["column"] == column))


@dataclass
class _Lane:
    """A row of the timeline: slices of one thread, GPU lane or layer lane."""

    title: str
    slices: list[tuple[int, int, int, int, int]] = field(default_factory=list)


def timeline(recording: Recording, most: int = TIMELINE_SLICES) -> dict[str, Any]:
    """Slices of one call in ``every``, and of each engine's slowest call.

    ``lanes``: title and flat ``slices``: name, engine (indices), start and duration in ns (from
    ``origin_ns``), call; by start.
    """
    groups = list(_groups(recording))
    total = sum(len(spans) for *_, spans in groups)
    every = max(1, -(-total // most))
    engines = [engine.id for _, engine in recording.engines()]
    texts: dict[str, int] = {}
    lanes: dict[tuple[str, int, str], _Lane] = {}
    origin = min((min(spans.start_ns) for *_, spans in groups), default=0)
    slowest = {id(e): _slowest_call(e) for _, e in recording.engines()} if every > 1 else {}
    index = {id(engine): i for i, (_, engine) in enumerate(recording.engines())}
    shown = 0
    for process, engine, kind, name, spans in groups:
        text = texts.setdefault(name, len(texts))
        keep = np.ones(len(spans), bool)
        if every > 1:
            calls = samples(spans.call)
            keep = (calls % every == 0) | (calls == slowest[id(engine)])
        for i in np.flatnonzero(keep).tolist():
            track = spans.track[i]
            owner = engine.id if kind != "host" else ""
            lane = lanes.get((f"{process.host}:{process.pid}", track, owner))
            if lane is None:
                thread = process.threads.get(track, f"thread {track}")
                title = thread if owner else f"{thread} {track}"
                lane = lanes[f"{process.host}:{process.pid}", track, owner] = _Lane(title)
            lane.slices.append(
                (
                    spans.start_ns[i] - origin,
                    spans.duration_ns[i],
                    text,
                    index[id(engine)],
                    spans.call[i],
                )
            )
            shown += 1
    return {
        "origin_ns": origin,
        "shown": shown,
        "all": total,
        "every": every,
        "names": list(texts),
        "engines": engines,
        "lanes": [_pack(lane) for _, lane in sorted(lanes.items(), key=_order)],
    }


def _groups(
    recording: Recording,
) -> list[tuple[Process, EngineRecording, str, str, Spans]]:
    gpu = _phase("gpu")
    found = []
    for process, engine in recording.engines():
        for event, spans in engine.phases.items():
            found.append((process, engine, "gpu" if event == gpu else "host", event, spans))
        for layer in engine.layers.values():
            found.append((process, engine, "layer", layer.name, layer.spans))
    return [group for group in found if len(group[-1])]


def _slowest_call(engine: EngineRecording) -> int:
    return (_calls(engine) or {"slowest": -1})["slowest"]


def _calls(engine: EngineRecording) -> dict[str, int] | None:
    """Numbers of the ``first`` recorded call and of the ``slowest``; None without any."""
    spans = engine.phases.get(_phase("total"))
    if not spans:
        return None
    return {
        "first": min(spans.call),
        "slowest": spans.call[int(np.argmax(samples(spans.duration_ns)))],
    }


def _order(item: tuple[tuple[str, int, str], _Lane]) -> tuple[str, bool, str, int]:
    (process, track, owner), _ = item
    return process, owner != "", owner, track  # threads first, then an engine's lanes together


def _pack(lane: _Lane) -> dict[str, Any]:
    # A whole call before its parts, which may start in the same nanosecond.
    ordered = sorted(lane.slices, key=lambda s: (s[0], -s[1]))
    flat: list[int] = []
    ends: list[int] = []
    depth_of: list[int] = []
    for start, duration, *rest in ordered:
        while ends and ends[-1] <= start:
            ends.pop()
        depth_of.append(len(ends))
        ends.append(start + duration)
        flat += [rest[0], rest[1], start, duration, rest[2], depth_of[-1]]
    return {"title": lane.title, "depth": max(depth_of, default=0) + 1, "slices": flat}
