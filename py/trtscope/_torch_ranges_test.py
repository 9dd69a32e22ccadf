"""Engine calls in the traces of torch.profiler, without our profiling being on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import trtscope
from trtscope._testing import null_engine

PHASES = ["torchtrt.input_binding", "torchtrt.output_binding", "torchtrt.enqueue_host"]


def ranges(folder: Path, name: str) -> list[dict[str, Any]]:
    events = json.loads((folder / "kineto.json").read_text())["traceEvents"]
    found = [e for e in events if e.get("ph") == "X" and e["name"] == name]
    return sorted(found, key=lambda e: e["ts"])


def test_calls_and_phases_are_ranges(tmp_path: Path) -> None:
    assert trtscope.get_profile_level() == "off"
    engine, inputs = null_engine("encoder")
    engine(*inputs)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(3):
            engine(*inputs)
    engine(*inputs)  # nobody listens
    profiler.export_chrome_trace(str(tmp_path / "kineto.json"))
    calls = ranges(tmp_path, f"trtscope {engine.id}")
    assert len(calls) == 3
    for phase in PHASES:
        parts = ranges(tmp_path, phase)
        assert len(parts) == 3, phase
        for call, part in zip(calls, parts, strict=True):
            assert call["ts"] <= part["ts"]
            assert part["ts"] + part["dur"] <= call["ts"] + call["dur"] + 0.002  # rounding


def test_a_call_that_fails_ends_its_ranges(tmp_path: Path) -> None:
    engine, _ = null_engine("encoder")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        with pytest.raises(RuntimeError, match="expected"):
            engine(torch.zeros(2, 9))
        engine(torch.zeros(2, 8))
    profiler.export_chrome_trace(str(tmp_path / "kineto.json"))
    first, second = ranges(tmp_path, f"trtscope {engine.id}")
    assert first["ts"] + first["dur"] <= second["ts"]
