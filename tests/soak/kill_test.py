"""Processes that are killed while they record, at random moments: whatever the moment, every trace
loads and holds all but the last second.

TRTSCOPE_SOAK_KILLS sets how many (20 by default).
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import timeline

PROGRAM = os.environ["TRTSCOPE_MAKE_TRACE"]
KILLS = int(os.environ.get("TRTSCOPE_SOAK_KILLS", "20"))
LONGEST_S = 2.0
LAST_NS = 1_000_000_000

#: Scenario "forever" makes these calls of one engine after another, on one thread, so that what is
#: whole is a sequence without a gap.
CALLS_OF_AN_ENGINE = 200
#: A phase of every call in each of an engine's files.
PHASES = {
    "_engine_execution_profile.trace": "torchtrt.delegate",
    "_input_profile.trace": "torchtrt.input_binding",
    "_output_profile.trace": "torchtrt.output_binding",
    "_enqueue_profile.trace": "torchtrt.enqueue_host",
}
PARTIAL = ".partial"


def record_and_kill(folder: Path, seconds: float) -> tuple[int, int]:
    """When the process was started and when it was killed, on the traces' clock."""
    started_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    with subprocess.Popen([PROGRAM, "forever", str(folder)]) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        killed_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert process.returncode == -signal.SIGKILL
    return started_ns, killed_ns


def check_whole_until(
    what: str, calls: Iterable[tuple[str, int, int]], started_ns: int, killed_ns: int
) -> int:
    """``calls``: engine, number of the call, its start.  Returns how many there are."""
    found = {}
    for engine, call, start_ns in calls:
        number = re.match(r"endless.(\d+)-", engine)
        assert number, engine
        found[int(number[1]) * CALLS_OF_AN_ENGINE + call - 1] = start_ns
    missing = sorted(set(range(max(found, default=-1) + 1)) - found.keys())
    assert not missing, f"{what}: {len(missing)} calls missing, the first is {missing[0]}"
    newest = max(found.values(), default=started_ns)
    assert killed_ns - newest < LAST_NS, f"{what}: ends {(killed_ns - newest) / 1e9:.3f} s early"
    return len(found)


def json_calls(folder: Path, suffix: str, phase: str) -> Iterable[tuple[str, int, int]]:
    for file in folder.iterdir():
        if not file.name.removesuffix(PARTIAL).endswith(suffix):
            continue
        text = file.read_text()
        events = json.loads(text + "]" if file.name.endswith(PARTIAL) else text)
        assert [e["name"] for e in events[1:3]] == ["trtscope.clock", "trtscope.engine"]
        for event in events:
            if event["name"] == phase:
                yield file.name, event["args"]["call"], round(event["ts"] * 1000)


def perfetto_calls(folder: Path) -> Iterable[tuple[str, int, int]]:
    for file in folder.glob("*.perfetto-trace*"):
        trace = timeline.read(file.read_bytes(), complete=False)
        assert trace.cut_bytes == 0
        for call in trace.named("torchtrt.delegate"):
            yield call.args["engine"], call.args["call"], call.start


def test_a_trace_survives_a_kill_at_any_moment(tmp_path: Path) -> None:
    moments = random.Random(4679)
    calls = 0
    for round_ in range(KILLS):
        folder = tmp_path / str(round_)
        folder.mkdir()
        times = record_and_kill(folder, LONGEST_S * moments.random() ** 2)
        for suffix, phase in PHASES.items():
            check_whole_until(
                f"round {round_}, {suffix}", json_calls(folder, suffix, phase), *times
            )
        calls += check_whole_until(f"round {round_}", perfetto_calls(folder), *times)
    assert calls > 100 * KILLS  # they were killed while they wrote
