"""``trtscope inspect``: the engines inside a package, read without loading any."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from trtscope import _libraries
from trtscope._errors import PackageError, TrtscopeError
from trtscope._metadata import Metadata
from trtscope._package import Package, PackagedEngine, read_package
from trtscope._state import EngineState
from trtscope.cli._text import name, octets, printable, shape, table


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "inspect",
        help="list the engines inside a package",
        description="Lists the engines inside a .pt2 or .pte package: name, id, kind, version of "
        "their builder, size, inputs and outputs. Loads none of them, so packages of other "
        "programs, platforms and devices are read too.",
    )
    parser.add_argument("package", metavar="MODEL", help="a .pt2 or .pte package")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if Path(arguments.package).suffix == ".pte":
        from trtscope.executorch import _inspect

        described = _inspect.describe(Path(arguments.package))
        print(json.dumps(described, indent=2) if arguments.json else _inspect.text(described))
        engines = [engine for method in described["methods"] for engine in method["engines"]]
        return 1 if any("error" in engine for engine in engines) else 0
    package = read_package(arguments.package)
    described = describe(package)
    print(json.dumps(described, indent=2) if arguments.json else _text(package, described))
    broken = package.missing or any("error" in engine for engine in described["engines"])
    return 1 if broken else 0


def describe(package: Package) -> dict[str, Any]:
    """What ``inspect --json`` prints."""
    ordinals: Counter[tuple[str, int]] = Counter()
    return {
        "package": str(package.path),
        "kind": package.kind,
        "models": list(package.models),
        "target": package.target,
        "inputs": package.inputs,
        "other_objects": package.other_objects,
        "missing": list(package.missing),
        "engines": [_engine(engine, ordinals) for engine in package.engines],
    }


def _engine(engine: PackagedEngine, ordinals: Counter[tuple[str, int]]) -> dict[str, Any]:
    described: dict[str, Any] = {"file": engine.file, "graph_names": list(engine.graph_names)}
    state = engine.state
    if state is None:
        return {**described, "error": engine.error}
    described |= {
        "name": state.name,
        "abi_version": state.abi_version,
        "device": state.device,
        "target_platform": state.target_platform,
        "hardware_compatible": state.hardware_compatible,
        "output_allocator": state.output_allocator,
        "aliased_io": [list(a) for a in state.aliased_io],
    }
    try:
        info = _libraries.core().plan_info(state.plan)
    except TrtscopeError as error:
        return {**described, "size": len(state.plan), "error": str(error)}
    described |= {
        "id": engine_id(state.name, int(info["hash"]), ordinals),
        "kind": info["kind"],
        "builder_version": info["builder_version"],
        "size": info["size"],
    }
    try:
        return {**described, **_bindings(state)}
    except PackageError as error:
        return {**described, "error": str(error)}


def engine_id(name: str, plan_hash: int, ordinals: Counter[tuple[str, int]]) -> str:
    """The next engine's id, as the runtime names the engines of a package that it loads alone."""
    key = (name, plan_hash)
    ordinals[key] += 1
    return f"{name}-{f'{plan_hash:016x}'[:12]}-{ordinals[key] - 1}"


def _bindings(state: EngineState) -> dict[str, Any]:
    """Inputs and outputs; names alone when the metadata is another exporter's."""
    metadata = Metadata.from_json(state.metadata)
    if metadata is None:
        return {
            "inputs": [{"name": n} for n in state.input_names],
            "outputs": [{"name": n} for n in state.output_names],
        }
    return {
        "inputs": [t.to_json() for t in metadata.inputs],
        "outputs": [t.to_json() for t in metadata.outputs],
        "symbols": {name: list(bounds) for name, bounds in metadata.symbols.items()},
        "built_with": metadata.builder_version,
    }


def _text(package: Package, described: dict[str, Any]) -> str:
    engines = described["engines"]
    what = "AOTInductor package" if package.kind == "aotinductor" else "exported program"
    lines = [
        f"{printable(str(package.path))}: {what}, {len(engines)} "
        f"engine{'' if len(engines) == 1 else 's'}"
        + (f", {package.other_objects} other custom objects" if package.other_objects else "")
    ]
    if package.target:
        target = ((k.removeprefix("AOTI_").lower(), v) for k, v in sorted(package.target.items()))
        lines.append("compiled for " + ", ".join(f"{k} {v}" for k, v in target if v))
    readable = [e for e in engines if "id" in e]
    if readable:
        lines += [
            "",
            table(
                ("id", "kind", "builder", "size", "platform", "state"),
                [
                    (
                        name(e["id"]),
                        e["kind"],
                        _builder(e),
                        octets(e["size"]),
                        e["target_platform"],
                        f"version {e['abi_version']}",
                    )
                    for e in readable
                ],
            ),
        ]
    for engine in readable:
        lines += bindings_text(engine)
        for symbol, (low, high) in engine.get("symbols", {}).items():
            lines.append(f"  {name(symbol)} = {low}..{'' if high is None else high}")
    for engine in engines:
        if "error" in engine:
            label = engine.get("name") or engine["file"]
            lines += ["", f"{name(label)}: {printable(engine['error'])}"]
    lines += [f"\nmissing: {printable(missing)}" for missing in package.missing]
    return "\n".join(lines)


def bindings_text(engine: dict[str, Any]) -> list[str]:
    """Lines of an engine's id and of its inputs and outputs, as far as they are known."""
    lines = ["", name(engine["id"])]
    for what in ("inputs", "outputs"):
        for tensor in engine.get(what, ()):
            lines.append(f"  {what[:-1]:6} {name(tensor['name'])}{_type(tensor)}")
    return lines


def _builder(engine: dict[str, Any]) -> str:
    """Who built the plan: a TensorRT plan says so itself, and what the metadata says of it may
    have been true of another; an ExecuTorch program names its format alone."""
    if engine["kind"].startswith("tensorrt"):
        return str(engine["builder_version"])
    return str(engine.get("built_with") or engine["builder_version"])


def _type(tensor: dict[str, Any]) -> str:
    known = {"dtype", "shape"} <= tensor.keys()
    return f"  {tensor['dtype']}{shape(tensor['shape'])}" if known else ""
