"""Runs programs of aarch64 under qemu-user, over the sysroot that they were built against."""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

ELF_AARCH64 = 183
# Bazel's words to the test that it runs, which is that one and not the program.
_OURS = ("TESTBRIDGE_TEST_ONLY", "XML_OUTPUT_FILE")


def emulate(program: Path, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a program with more variables."""
    (machine,) = struct.unpack_from("<H", program.read_bytes()[:20], 18)
    assert machine == ELF_AARCH64, f"{program} is of ELF machine {machine}, expected {ELF_AARCH64}"
    qemu = os.environ.get("QEMU_AARCH64") or shutil.which("qemu-aarch64-static")
    assert qemu, "qemu-aarch64-static is not on PATH: apt-get install qemu-user-static"
    sysroot = Path(os.environ["AARCH64_SYSROOT"]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        # Programs that run themselves again do so by their own name: it is this script's, since the
        # kernel knows their format only where it was told to.
        again = Path(folder) / program.name
        command = [qemu, "-L", os.fspath(sysroot), "-0", os.fspath(again), os.fspath(program)]
        again.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        again.chmod(0o755)
        return subprocess.run(
            [again, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=900,
            env={k: v for k, v in os.environ.items() if k not in _OURS} | more,
        )
