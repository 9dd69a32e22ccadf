"""Engine calls of each runtime as NVTX ranges, with no profiling on, for a tool that the
environment names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import native
import programs
import pytest
import torch

TOOL = Path(os.environ["FAKE_NVTX"]).absolute()

_TORCH = """
import trtscope
from trtscope._testing import null_engine
engine, inputs = null_engine("encoder")
for _ in range(3):
    engine(*inputs)
print(engine.id)
"""

_PTE = """
import sys, trtscope, torch
runner = trtscope.load(sys.argv[1])
inputs = torch.load(sys.argv[2])
for _ in range(3):
    runner(*inputs)
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return programs.save_small(tmp_path_factory.mktemp("programs"))


def heard(log: Path) -> list[tuple[str, list[str]]]:
    """Each call's range with the ranges in it.  Fails where one does not end, or lies deeper."""
    calls: list[tuple[str, list[str]]] = []
    depth = 0
    for line in log.read_text().splitlines():
        _, domain, event, *text = line.split(" ", 3)
        assert domain == "trtscope"
        if event == "pop":
            depth -= 1
        elif depth == 0:
            calls.append((text[0], []))
            depth = 1
        else:
            assert depth == 1, line
            calls[-1][1].append(text[0].removeprefix("torchtrt."))
            depth = 2
    assert depth == 0
    return calls


def tool(folder: Path, path: Path = TOOL) -> dict[str, str]:
    return {"NVTX_INJECTION64_PATH": str(path), "FAKE_NVTX_LOG": str(folder / "log")}


def python(script: str, *arguments: object, **variables: str) -> str:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_libtorch_runtime(tmp_path: Path) -> None:
    engine = python(_TORCH, **tool(tmp_path))
    first, *others = heard(tmp_path / "log")
    assert first[0] == engine
    assert set(first[1]) >= {"input_binding", "shape_inference", "output_binding", "enqueue_host"}
    assert len(others) == 2
    for name, phases in others:
        assert name == engine
        assert [p for i, p in enumerate(phases) if phases[:i][-1:] != [p]] == [
            "input_binding",
            "output_binding",
            "enqueue_host",
        ]


def test_the_executorch_delegate_in_python(tmp_path: Path, small: Path) -> None:
    torch.save(programs.SMALL_INPUTS, tmp_path / "inputs.pt")
    python(_PTE, small, tmp_path / "inputs.pt", **tool(tmp_path))
    check_delegate(heard(tmp_path / "log"))


def test_the_executorch_delegate_in_the_native_runner(tmp_path: Path, small: Path) -> None:
    done = native.run("--model", small, "--iterations", 3, **tool(tmp_path))
    assert done.returncode == 0, done.stderr
    check_delegate(heard(tmp_path / "log"))


def check_delegate(calls: list[tuple[str, list[str]]]) -> None:
    assert len(calls) == 3
    assert len({name for name, _ in calls}) == 1
    for _, phases in calls:
        assert {"input_binding", "output_binding", "enqueue_host"} <= set(phases)


def test_without_a_tool_and_with_one_that_is_not_there_calls_go_on(tmp_path: Path) -> None:
    assert python(_TORCH).startswith("encoder-")
    assert python(_TORCH, **tool(tmp_path, tmp_path / "no_tool.so")).startswith("encoder-")
    assert not (tmp_path / "log").exists()
