"""The bundle as it is copied to a target, run under qemu; what it writes is read here."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import programs
import pytest
import torch
from elftools.elf.elffile import ELFFile
from emulator import emulate
from programs import MIXED_INPUT, Mixed
from symbol_versions import asked, too_new

from trtscope.executorch import read_timeline

(BUNDLE,) = Path("executorch_backend").glob("trtscope-*-linux_aarch64.tar.gz")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    with tarfile.open(BUNDLE) as tar:
        tar.extractall(tmp_path, filter="data")
    return tmp_path / BUNDLE.name.removesuffix(".tar.gz")


def test_it_holds_what_it_says(bundle: Path) -> None:
    assert {p.name for p in (bundle / "lib").iterdir()} == {
        "libexecutorch.so",
        "libexecutorch_backend_xnnpack.so",
        "libexecutorch_etdump.so",
        "libexecutorch_kernels_optimized.so",
        "libexecutorch_threadpool.so",
        "libtrtscope_core.so",
        "libtrtscope_executorch.so",
        "libtrtscope_host.so",
    }
    # What it hands on of others has its licence beside it.
    assert (bundle / "LICENSE").read_text().strip()
    assert {p.parent.name for p in (bundle / "licenses").glob("*/LICENSE") if p.stat().st_size} == {
        "executorch",
        "nlohmann_json",
        "nvidia_nvtx",
    }
    targets = json.loads((bundle / "targets.json").read_text())
    assert targets["drive_os_6_aarch64"]["tensorrt"] == ["libnvinfer.so.8"]
    assert "linux_x86_64_cuda" not in targets


def test_it_asks_for_symbols_of_debian_11_alone(bundle: Path) -> None:
    ours = [bundle / "bin" / "runner", *(bundle / "lib").glob("libtrtscope_*.so")]
    for path in ours:
        with path.open("rb") as file:
            elf = ELFFile(file)
            assert elf.get_machine_arch() == "AArch64"
            assert any(version.startswith("GLIBC_2.") for version in asked(elf))
            assert too_new(elf) == set(), path.name


def test_its_script_says_how_it_is_used(bundle: Path) -> None:
    done = subprocess.run([bundle / "run"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "run MODEL.pte OUT" in done.stderr


def test_the_runner_needs_nothing_but_the_bundle_and_its_etdump_is_read_here(
    bundle: Path, tmp_path: Path
) -> None:
    mixed = programs.save_mixed(tmp_path)
    np.save(tmp_path / "x.npy", MIXED_INPUT.numpy())
    result = emulate(
        bundle / "bin" / "runner",
        *("--model", mixed, "--inputs", tmp_path / "x.npy", "--outputs", tmp_path),
        *("--iterations", 3, "--profile-level", "layers", "--etdump", tmp_path / "t.etdp"),
        *("--profile-format", "perfetto", "--profile-path", tmp_path / "traces"),
    )
    assert result.returncode == 0, result.stderr
    got = torch.from_numpy(np.load(tmp_path / "output_0.npy"))
    torch.testing.assert_close(got, Mixed()(MIXED_INPUT))

    timeline = read_timeline(tmp_path / "t.etdp", mixed.with_suffix(".etrecord"))
    assert len(timeline.method_ms) == 3
    assert {"TensorRTBackend", "XnnpackBackend", "cumsum.out"} <= {s.what for s in timeline.steps}
    for step in timeline.steps:
        if step.what == "TensorRTBackend":
            assert {"input_binding", "output_binding", "enqueue_host"} <= set(step.phases)
            assert step.layers
    assert len(list((tmp_path / "traces").glob("*_enqueue_profile.trace"))) == 2
