"""``trtscope profile MODEL.pte``."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtscope._errors import PackageError, TrtscopeError
from trtscope._profile import engine_rows
from trtscope.executorch import _runner
from trtscope.executorch._read_timeline import read_timeline
from trtscope.executorch._save import ETRECORD_SUFFIX

if TYPE_CHECKING:
    from trtscope.executorch._runner import PteRunner
    from trtscope.executorch._timeline import Timeline

_SLOWEST = 10


def run(arguments: argparse.Namespace) -> int:
    """Runs the program without and with profiling; prints where the time goes."""
    import trtscope
    from trtscope.cli.profile import (
        MOST_OFF,
        _read_inputs,
        exit_code,
        files_text,
        layer_table,
        measured,
    )

    path = Path(arguments.package)
    out = Path(arguments.out) if arguments.out else Path(f"{path.stem}-profile")
    # Both runs say their level, or the program's own defaults would decide.  The traced one is
    # loaded first, so that its engines' ids are those of a process that loads the program once.
    traced = _runner.load(
        path,
        method=arguments.model,
        etdump=True,
        profile_level=arguments.level,
        profile_format=arguments.format,
        profile_path_prefix=out,
        profile_filter=arguments.filter,
    )
    method = traced.method_name
    plain = _runner.load(path, method=method, profile_level="off")
    if arguments.inputs:
        inputs, keywords = _read_inputs(arguments.inputs)
        if keywords:
            raise TrtscopeError("a .pte takes its inputs by position: save a list or tuple")
    else:
        inputs = plain.made_up_inputs()
    off = _measure(plain, inputs, arguments.warmup, min(arguments.iterations, MOST_OFF))

    trtscope.reset_timing()
    before = trtscope.get_profile_sample_interval()
    trtscope.set_profile_sample_interval(arguments.sample_interval)
    try:
        on = _measure(traced, inputs, 0, arguments.iterations)
    finally:
        trtscope.set_profile_sample_interval(before)
    timing = trtscope.timing_json()
    engines = engine_rows(timing)
    if plain.has_engine:
        engines = measured(engines, path, arguments.filter, f"method {method!r}")
    etdump = traced.write_etdump(out / f"{path.stem}.etdp")
    record = path.with_suffix(ETRECORD_SUFFIX)
    timeline, unused = _timeline(etdump, record, method)
    engine_table = trtscope.timing_table()
    del traced  # its sidecars are finished
    files = [timeline.write_trace(out / f"{path.stem}.timeline.trace"), etdump]
    files += trtscope.flush_traces()

    problems = timing["errors"] + ([unused] if record.is_file() and unused else [])
    layers = timeline.layer_rows()
    if arguments.json:
        report = {
            "package": str(path),
            "method": method,
            "level": arguments.level,
            "wall_off": off,
            "wall_on": on,
            "inputs": "file" if arguments.inputs else "made up",
            "engines": engines,
            "dropped_spans": timing["dropped_spans"],
            "problems": problems,
            "timeline": timeline.to_json(),
            "layers": layers,
            "etrecord": not unused,
            "files": [str(f) for f in files],
        }
        print(json.dumps(report, indent=2))
        return exit_code(problems)
    lines = [
        f"{path}, method {method}: {int(off['calls'])} calls, median {off['median_ms']:.3f} ms; "
        f"profiled at level {arguments.level}: {on['median_ms']:.3f} ms",
    ]
    if not arguments.inputs:
        lines.append("inputs are made up: pass --inputs for real ones")
    if unused:
        lines.append(f"{unused}: nodes and source lines are not known")
    lines += ["", timeline.table(), ""]
    lines.append(
        engine_table.rstrip("\n")
        if plain.has_engine
        else f"No TensorRT engine is in method {method}: the steps above are all that there is."
    )
    if layers:
        total = sum(row["total_ms"] for row in layers) or 1.0
        shown = [{**row, "position": i} for i, row in enumerate(layers[:_SLOWEST])]
        lines += ["", f"Slowest {len(shown)} of {len(layers)} layers:", layer_table(shown, total)]
    if timing["dropped_spans"]:
        lines += ["", f"{timing['dropped_spans']} spans were dropped: traces are not whole"]
    lines += ["", files_text(files)]
    print("\n".join(lines))
    return exit_code(problems)


def _timeline(etdump: Path, record: Path, method: str) -> tuple[Timeline, str]:
    """The timeline, and why the record beside the program is not in it; empty where it is."""
    if not record.is_file():
        why = f"there is no {record.name} beside it (save with etrecord=True)"
        return read_timeline(etdump, method=method), why
    try:
        return read_timeline(etdump, record, method=method), ""
    except PackageError as error:
        return read_timeline(etdump, method=method), str(error)


def _measure(
    runner: PteRunner, inputs: list[Any], warmup: int, iterations: int
) -> dict[str, float]:
    times = []
    for i in range(warmup + iterations):
        start = time.perf_counter_ns()
        runner(*inputs)
        if i >= warmup:
            times.append((time.perf_counter_ns() - start) / 1e6)
    return {
        "calls": len(times),
        "median_ms": statistics.median(times),
        "min_ms": min(times),
        "max_ms": max(times),
    }
