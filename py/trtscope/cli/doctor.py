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
from trtscope._needs import NEEDS, is_installed, sentence
from trtscope.cli._text import printable, table

# Distributions whose versions matter.
_PACKAGES = ("torch", "executorch", "tensorrt", "tensorrt-cu13", "tensorrt-lean-cu13")


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "doctor",
        help="say what is installed and what it can run",
        description="Lists versions and libraries, loads what this package brings, and says which "
        "optional packages are missing and what brings them. Exit code 1: something that is there "
        "does not work.",
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
        for line in _gpu_lines(report["cuda"], report["tensorrt"]):
            print(line)
        print()
        print("runtime libraries are looked for in:")
        for folder in report["runtime_folders"] or ["(no folder: no runtime package is installed)"]:
            print(f"  {folder}")
        for missing in report["missing"]:
            print(f"missing: {missing}")
        for problem in report["problems"]:
            print(f"problem: {problem}")
    return 1 if report["problems"] else 0


def _gpu_lines(cuda: dict[str, Any], tensorrt: list[dict[str, Any]]) -> list[str]:
    """CUDA and TensorRT as text; that a machine has neither is no problem."""
    driver = cuda.get("driver", {})
    if "error" in driver:
        reason = printable(" ".join(driver["error"].split()))
        lines = [f"CUDA driver: none, so TensorRT plans cannot run here ({reason})"]
    else:
        lines = [f"CUDA driver: {driver.get('version')}, {driver.get('path')}"]
    for device in cuda.get("devices", []):
        what = device.get("error") or f"{device['name']}, SM {device['sm']}"
        lines.append(f"  cuda:{device['index']}: {what}")
    if not tensorrt:
        return [
            *lines,
            "TensorRT: no library found (docs/5-tensorrt.md says where it is looked for)",
        ]
    rows = [
        (
            f"{entry.get('version', '?')} {entry['flavour']}",
            entry["path"],
            entry.get("runs") or entry.get("error", ""),
        )
        for entry in tensorrt
    ]
    return [*lines, table(("TensorRT", "library", "runs"), rows)]


def examine() -> dict[str, Any]:
    """Versions, libraries and problems, as ``doctor --json`` prints them."""
    problems = _libraries.folders_not_there()
    versions = {"trtscope": trtscope.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    halves = [_libraries.half_of(minor) for minor in _libraries.torch_minors()]
    libraries = {}
    for name in (_libraries.CORE, *halves, _libraries.HOST, _libraries.EXECUTORCH):
        found = _libraries.find(name)
        libraries[name] = str(found.path) if found.path else "not found"
    gpu: dict[str, Any] = {}
    try:
        versions["core library"] = _libraries.core().version()
        gpu = _libraries.devices_and_tensorrt()
    except TrtscopeError as error:
        problems.append(str(error))
    else:
        if is_installed("torch"):
            try:
                _libraries.load_torch()
            except (TrtscopeError, ImportError) as error:
                problems.append(str(error))
    return {
        "versions": versions,
        "libraries": libraries,
        "runtime_folders": [str(f) for f in _libraries.runtime_folders()],
        "platform": f"{platform.system()} {platform.machine()}",
        "cuda": gpu.get("cuda", {}),
        "tensorrt": gpu.get("tensorrt", []),
        # What is optional and not there.
        "missing": _missing(has_tensorrt=bool(gpu.get("tensorrt"))),
        "problems": problems + ([gpu["error"]] if "error" in gpu else []),
    }


def _missing(*, has_tensorrt: bool) -> list[str]:
    """A sentence for each optional package that is not there, with the extra that brings it.

    TensorRT may also come from elsewhere: its package counts as missing where there is none at all.
    """
    return [
        sentence(package)
        for package in NEEDS
        if not is_installed(package) and not (package == "tensorrt" and has_tensorrt)
    ]
