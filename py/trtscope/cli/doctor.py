"""``trtscope doctor``: what is installed here and what it can run."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
from typing import Any

import trtscope
from trtscope import _libraries
from trtscope._errors import TrtscopeError
from trtscope.cli._text import table

# Distributions whose versions matter.
_PACKAGES = ("torch", "executorch", "tensorrt", "tensorrt-cu13", "tensorrt-lean-cu13")


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "doctor",
        help="say what is installed and what it can run",
        description="Lists versions and libraries, and loads what this package brings.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    report = examine()
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        print(table(("what", "version"), list(report["versions"].items())))
        print()
        print(table(("library", "state"), list(report["libraries"].items())))
        print()
        print("runtime libraries are looked for in:")
        for folder in report["runtime_folders"] or ["(no folder: no runtime package is installed)"]:
            print(f"  {folder}")
        for problem in report["problems"]:
            print(f"problem: {problem}")
    return 1 if report["problems"] else 0


def examine() -> dict[str, Any]:
    """Versions, libraries and problems, as ``doctor --json`` prints them."""
    problems: list[str] = []
    versions = {"trtscope": trtscope.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    libraries = {}
    for name in (_libraries.CORE, _libraries.TORCH, _libraries.HOST):
        found = _libraries.find(name)
        libraries[name] = str(found.path) if found.path else "not found"
    try:
        versions["core library"] = _libraries.core().version()
    except TrtscopeError as error:
        problems.append(str(error))
    else:
        if versions["torch"] == "not installed":
            problems.append("torch is not installed: packages cannot be loaded (pip install torch)")
        else:
            try:
                _libraries.load_torch()
            except (TrtscopeError, ImportError) as error:
                problems.append(str(error))
    if versions["executorch"] == "not installed":
        problems.append("executorch is not installed: host engines cannot run")
    return {
        "versions": versions,
        "libraries": libraries,
        "runtime_folders": [str(f) for f in _libraries.runtime_folders()],
        "platform": f"{platform.system()} {platform.machine()}",
        "problems": problems,
    }
