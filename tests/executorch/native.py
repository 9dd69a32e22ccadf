"""The native runner as a process of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def runner() -> Path:
    return Path(os.environ["TRTSCOPE_RUNNER"])


def run(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """The runner with these arguments and variables besides."""
    return subprocess.run(
        [runner(), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | more,
    )
