"""The native runner as a process of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from trtscope import _libraries
from trtscope.executorch._library import executorch_folder


def runner() -> Path:
    return Path(os.environ["TRTSCOPE_RUNNER"])


def environment(**more: str) -> dict[str, str]:
    """With the libraries of this Python's ExecuTorch, and the host engine."""
    libraries = os.fspath(executorch_folder() / "lib")
    plugin = _libraries.find(_libraries.HOST).path
    assert plugin is not None
    return {
        **os.environ,
        "LD_LIBRARY_PATH": libraries,
        "TRTSCOPE_EXECUTORCH_LIB": libraries,
        "TRTSCOPE_PLUGIN_DIR": os.fspath(plugin.parent),
        **more,
    }


def run(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """The runner with these arguments, in an environment with these variables."""
    return subprocess.run(
        [runner(), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(**more),
    )
