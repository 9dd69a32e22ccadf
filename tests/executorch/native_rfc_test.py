"""The RFC's tests of the native runner, each under its own words.

TensorRT and CUDA are those of tests/fakes, behind the same adapter and the same device code as the
real ones: the device's memory is the host's, and its streams are threads.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import native
import numpy as np
import pytest
import torch
from executorch.devtools import Inspector
from fake_plan import make_fake_plan

import trtscope
import trtscope.executorch
from trtscope.builders import PlanBuilder

PLAN = {
    "io": [
        {
            "name": "x",
            "mode": "input",
            "dtype": "float32",
            "shape": [-1, 8],
            "profiles": [[[1, 8], [4, 8], [16, 8]]],
        },
        {"name": "y", "mode": "output", "dtype": "float32", "shape": [-1, 8], "from": "x"},
    ],
    "layers": ["first", "second"],
}
STEPS = ("input_binding", "shape_inference", "output_binding", "enqueue_host")
FAKES = Path(os.environ["TRTSCOPE_FAKES"]).resolve()


class Double(torch.nn.Module):
    """What the fake plan computes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2.0


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One TensorRT engine and nothing else, with its memory planned on the GPU."""
    folder = tmp_path_factory.mktemp("native")
    exported = torch.export.export(
        Double(),
        (torch.zeros(4, 8),),
        dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=16)},),
    )
    edge = trtscope.executorch.lower(
        exported,
        engine=PlanBuilder(make_fake_plan(PLAN, "10.16.1.11"), inputs=["x"], outputs=["y"]),
        min_block_size=1,
        target_device="cuda:0",
    )
    return trtscope.save(edge, folder / "double.pte")


def run(program: Path, out: Path, *arguments: object) -> tuple[str, list[str]]:
    """What the runner printed, and the names of the events of its trace."""
    result = native.run(
        "--model", program, "--etdump", out / "t.etdp", "--library-path", FAKES / "trt10",
        *arguments,
        TRTSCOPE_CUDA=os.fspath(FAKES / "cuda" / "libcuda.so.1"),
        TRTSCOPE_FAKE_CUDA_DEVICES="1",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    inspector = Inspector(etdump_path=os.fspath(out / "t.etdp"))
    events = [e for b in inspector.event_blocks for e in b.events]
    return result.stdout, [e.name for e in events for _ in e.perf_data.raw]


def test_a_tensorrt_only_pte_emits_delegate_and_phase_events_and_preserves_numerical_output(
    program: Path, tmp_path: Path
) -> None:
    x = np.linspace(-1, 1, 24, dtype="f4").reshape(3, 8)
    np.save(tmp_path / "x.npy", x)
    _, events = run(
        program, tmp_path, "--inputs", tmp_path / "x.npy", "--outputs", tmp_path,
        "--profile-level", "layers",
    )  # fmt: skip
    np.testing.assert_array_equal(np.load(tmp_path / "output_0.npy"), 2 * x)
    expected = {"DELEGATE_CALL", "torchtrt.delegate", "torchtrt.gpu", "torchtrt.synchronize"}
    expected |= {f"torchtrt.{step}" for step in STEPS}
    expected |= {"torchtrt.layer/first", "torchtrt.layer/second"}
    assert expected <= set(events)


@pytest.mark.parametrize(("arguments", "measured"), [((), 9), (("--sample-interval", 3), 3)])
def test_the_sample_interval_says_which_calls_are_measured_on_the_gpu(
    program: Path, tmp_path: Path, arguments: tuple[object, ...], measured: int
) -> None:
    _, events = run(program, tmp_path, "--iterations", 9, "--profile-level", "phases", *arguments)
    counts = Counter(events)
    assert counts["torchtrt.delegate"] == 9
    assert counts["torchtrt.gpu"] == measured


def test_the_native_reference_runner_links_event_tracer_and_etdump_without_libtorch() -> None:
    result = native.run(LD_TRACE_LOADED_OBJECTS="1")
    assert result.returncode == 0, result.stderr
    libraries = {line.split()[0].rpartition("/")[2] for line in result.stdout.splitlines()}
    assert {"libexecutorch.so", "libexecutorch_etdump.so"} <= libraries
    assert not [name for name in libraries if name.startswith(("libtorch", "libc10"))]
