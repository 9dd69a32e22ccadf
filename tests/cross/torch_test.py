"""The LibTorch half, as built for aarch64, in a process with that platform's torch."""

from __future__ import annotations

import os
from pathlib import Path

from emulator import emulate

(LOAD,) = (Path(p) for p in os.environ["AARCH64_FILES"].split())


def test_it_loads_and_registers(tmp_path: Path) -> None:
    (half,) = Path("core/runtime").glob("torch_*/libtrtscope_torch.so")
    (core,) = Path().glob("core/libtrtscope_core.so")
    (torch,) = Path("..").glob("*torch_*_aarch64/torch/lib")
    (cuda,) = Path("..").glob("*cuda_runtime_aarch64/nvidia/*/lib")
    result = emulate(
        LOAD,
        core.absolute(),
        torch / "libtorch_cpu.so",
        half.absolute(),
        LD_LIBRARY_PATH=":".join(os.fspath(folder.absolute()) for folder in (torch, cuda)),
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "registered: yes\n"
