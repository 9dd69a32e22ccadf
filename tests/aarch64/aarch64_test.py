"""What is built for aarch64, run under qemu; its traces are read on this machine."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import programs
import pytest
import torch
from programs import MIXED_INPUT, Mixed

from trtscope.executorch import read_timeline

FILES = {Path(p).name: Path(p).absolute() for p in os.environ["AARCH64_FILES"].split()}
ELF_AARCH64 = 183


def emulate(program: Path, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    (machine,) = struct.unpack_from("<H", program.read_bytes()[:20], 18)
    assert machine == ELF_AARCH64, f"{program} is of ELF machine {machine}, expected {ELF_AARCH64}"
    qemu = os.environ.get("QEMU_AARCH64") or shutil.which("qemu-aarch64-static")
    assert qemu, "qemu-aarch64-static is not on PATH: apt-get install qemu-user-static"
    sysroot = os.environ.get("AARCH64_SYSROOT", "/usr/aarch64-linux-gnu")
    # Bazel's words to the test that it runs, which is this one and not the program.
    ours = ("XML_OUTPUT_FILE", "TESTBRIDGE_TEST_ONLY")
    return subprocess.run(
        [qemu, "-L", sysroot, program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        env={k: v for k, v in os.environ.items() if k not in ours} | more,
    )


def executorch_libraries(folder: Path) -> str:
    """Those of the wheel, which Bazel lays in a folder each, in one as in the wheel."""
    folder.mkdir()
    for library in Path("_solib_aarch64").glob("*/libexecutorch*.so"):
        shutil.copy(library, folder)
    return os.fspath(folder)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith("_test")])
def test_units(name: str) -> None:
    result = emulate(FILES[name])
    assert result.returncode == 0, result.stdout + result.stderr
    assert "[  PASSED  ]" in result.stdout


def test_the_native_runner_runs_a_mixed_program_and_its_etdump_is_read_here(
    tmp_path: Path,
) -> None:
    mixed = programs.save_mixed(tmp_path)
    np.save(tmp_path / "x.npy", MIXED_INPUT.numpy())
    result = emulate(
        FILES["runner"],
        *("--model", mixed, "--inputs", tmp_path / "x.npy", "--outputs", tmp_path),
        *("--iterations", 3, "--profile-level", "layers", "--etdump", tmp_path / "t.etdp"),
        *("--profile-format", "perfetto", "--profile-path", tmp_path / "traces"),
        LD_LIBRARY_PATH=executorch_libraries(tmp_path / "executorch"),
        TRTSCOPE_PLUGIN_DIR=os.fspath(FILES["libtrtscope_host.so"].parent),
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
