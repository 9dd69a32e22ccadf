"""Compares two recordings: before and after, two machines, a .pt2 against a .pte."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from trtscope._errors import TrtscopeError
from trtscope._profile import names
from trtscope._recording import EngineRecording, Recording
from trtscope._samples import Change, Samples, change, per_call, samples

#: Fewer calls than this say nothing about their noise.
FEWEST_CALLS = 5


@dataclass(frozen=True)
class Row:
    """``what`` of an engine: a phase's column, or ``layer N: NAME``."""

    engine: str
    what: str
    calls: tuple[int, int]
    change: Change

    @property
    def is_layer(self) -> bool:
        return self.what.startswith("layer ")

    def to_json(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "what": self.what,
            "calls_a": self.calls[0],
            "calls_b": self.calls[1],
            "a_ns": self.change.a_ns,
            "b_ns": self.change.b_ns,
            "ratio": self.change.ratio,
            "low": self.change.low,
            "high": self.change.high,
            "verdict": self.change.verdict,
        }


@dataclass(frozen=True)
class Comparison:
    """``only_a``, ``only_b``: engines without a partner.  ``too_few``: those with fewer calls than
    a comparison needs.  ``only_measured_a``, ``only_measured_b``: columns, and ``layers``, that no
    engine with a partner has in the other recording: often one of another level."""

    rows: list[Row]
    only_a: list[str]
    only_b: list[str]
    too_few: list[str]
    only_measured_a: list[str]
    only_measured_b: list[str]

    def slower(self, what: str, above: float) -> list[Row]:
        """Rows of ``what`` (a column: ``total``, ``gpu``) that are slower by more than the ratio
        ``above`` (0.05 for 5 %), noise allowed for."""
        return [r for r in self.rows if r.what == what and r.change.low > 1 + above]


def compare(a: Recording, b: Recording) -> Comparison:
    """Engines are partners by name and order: a rebuilt plan has another hash.

    Raises:
        TrtscopeError: nothing in one recording has a partner in the other.
    """
    in_a, in_b = _by_name(a), _by_name(b)
    rows: list[Row] = []
    too_few: list[str] = []
    both = [name for name in in_a if name in in_b]
    if not both:
        raise TrtscopeError(
            f"no engine of {a.path} is in {b.path}: the one has {_list(in_a)}; the other "
            f"{_list(in_b)}"
        )
    for name in both:
        found = _rows(name, in_a[name], in_b[name])
        rows += found
        if not found:
            too_few.append(name)
    measured_a, measured_b = (
        _measured([engine for name in both for engine in side[name]]) for side in (in_a, in_b)
    )
    return Comparison(
        rows,
        [name for name in in_a if name not in in_b],
        [name for name in in_b if name not in in_a],
        too_few,
        [what for what in measured_a if what not in measured_b],
        [what for what in measured_b if what not in measured_a],
    )


def _measured(engines: list[EngineRecording]) -> list[str]:
    """Columns that some engine has spans of, in the table's order; then ``layers``."""
    events = {event for engine in engines for event, spans in engine.phases.items() if len(spans)}
    columns = [phase["column"] for phase in names()["phases"] if phase["event"] in events]
    return columns + ["layers"] * any(engine.layers for engine in engines)


def _list(engines: dict[str, list[EngineRecording]]) -> str:
    shown = sorted(engines)[:6]
    return ", ".join(shown) + (", ..." if len(engines) > len(shown) else "")


def _by_name(recording: Recording) -> dict[str, list[EngineRecording]]:
    """One entry for an engine of a program, of all processes that ran it.  Engines that share a
    name are told apart by their order within a process."""
    found: dict[str, list[EngineRecording]] = defaultdict(list)
    for process in recording.processes:
        seen: dict[str, int] = defaultdict(int)
        for engine in process.engines.values():
            number = seen[engine.name]
            seen[engine.name] += 1
            found[f"{engine.name} ({number + 1})" if number else engine.name].append(engine)
    return found


def _rows(name: str, a: list[EngineRecording], b: list[EngineRecording]) -> list[Row]:
    rows = []
    for phase in names()["phases"]:
        row = _row(name, phase["column"], _phase(a, phase["event"]), _phase(b, phase["event"]))
        if row is not None:
            rows.append(row)
    layers_b = _layers(b)
    for (position, layer), times in _layers(a).items():
        other = layers_b.get((position, layer))
        if other is not None:
            row = _row(name, f"layer {position}: {layer}", times, other)
            if row is not None:
                rows.append(row)
    return rows


def _row(name: str, what: str, a: Samples, b: Samples) -> Row | None:
    if min(a.size, b.size) < FEWEST_CALLS:
        return None
    return Row(name, what, (a.size, b.size), change(a, b))


def _phase(engines: list[EngineRecording], event: str) -> Samples:
    """Time of the phase in each call."""
    times = [t for e in engines if event in e.phases for t in per_call(e.phases[event]).values()]
    return np.array(times, np.int64)


def _layers(engines: list[EngineRecording]) -> dict[tuple[int, str], Samples]:
    found: dict[tuple[int, str], list[Samples]] = defaultdict(list)
    for engine in engines:
        for position, layer in engine.layers.items():
            found[position, layer.name].append(samples(layer.spans.duration_ns))
    return {key: np.concatenate(parts) for key, parts in sorted(found.items())}
