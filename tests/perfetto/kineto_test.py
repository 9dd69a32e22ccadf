"""torch.profiler's trace and the process's own, of the same calls: both say the same times.

Kineto converts its clock to real time; ours is CLOCK_MONOTONIC, with snapshots of the real one.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
import timeline
import torch
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

import trtscope

CALLS = 60
#: Two clocks converted on the way cost a microsecond; the median, because a thread that is put
#: aside between the two readings is no error of either trace.
BOUND_NS = 50_000


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 256), torch.nn.Linear(256, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.second(torch.relu(self.first(x))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both traces of one process: a model of one host engine, called under both profilers."""
    path = tmp_path_factory.mktemp("traces")
    inputs = (torch.randn(32, 64),)
    model = trtscope.compile(torch.export.export(Model().eval(), inputs), min_block_size=1).module()
    model(*inputs)
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with (
        trtscope.profile(level="phases", dir=path),
        torch.profiler.profile(activities=cpu) as theirs,
    ):
        for _ in range(CALLS):
            model(*inputs)
    theirs.export_chrome_trace(str(path / "kineto.json"))
    return path


def in_real_time(trace: timeline.Timeline, ns: int) -> int:
    clocks = trace.clocks[0]
    return ns - clocks[timeline.MONOTONIC] + clocks[pb.BUILTIN_CLOCK_REALTIME]


def kineto_ranges(folder: Path, prefix: str) -> list[tuple[int, int]]:
    """Begin and end in real time, of each range whose name begins so."""
    trace: dict[str, Any] = json.loads((folder / "kineto.json").read_text())
    base = trace["baseTimeNanoseconds"]
    found = [
        (base + round(event["ts"] * 1000), base + round((event["ts"] + event["dur"]) * 1000))
        for event in trace["traceEvents"]
        if event.get("ph") == "X" and event["name"].startswith(prefix)
    ]
    return sorted(found)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("torchtrt.delegate", "trtscope "),
        ("torchtrt.enqueue_host", "torchtrt.enqueue_host"),
    ],
)
def test_the_same_call_lies_at_the_same_time(folder: Path, ours: str, theirs: str) -> None:
    (path,) = folder.glob("*.perfetto-trace")
    trace = timeline.read(path.read_bytes())
    mine = sorted(
        (in_real_time(trace, s.start), in_real_time(trace, s.end or 0)) for s in trace.named(ours)
    )
    kineto = kineto_ranges(folder, theirs)
    assert len(mine) == len(kineto) == CALLS
    for side in (0, 1):
        apart = [abs(a[side] - b[side]) for a, b in zip(mine, kineto, strict=True)]
        assert statistics.median(apart) < BOUND_NS
    # And call by call: one's range overlaps its partner and none of the others.
    for i, (begin, end) in enumerate(mine):
        overlapping = [k for k, (b, e) in enumerate(kineto) if b < end and begin < e]
        assert overlapping == [i]
