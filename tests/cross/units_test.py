"""The C++ tests, as built for aarch64, run under qemu."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from emulator import emulate

TESTS = [Path(p) for p in os.environ["AARCH64_FILES"].split()]
HOST = Path("core/engine/host")


@pytest.mark.parametrize("test", TESTS, ids=str)
def test_units(test: Path, tmp_path: Path) -> None:
    result = emulate(
        test,
        TRTSCOPE_PLUGIN_DIR=os.fspath(HOST / "lib"),
        TRTSCOPE_TEST_PROGRAMS=os.fspath(HOST / "programs"),
        TEST_TMPDIR=os.fspath(tmp_path),
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "[  PASSED  ]" in result.stdout
