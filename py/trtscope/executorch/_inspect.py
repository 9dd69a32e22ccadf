"""``trtscope inspect MODEL.pte``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from trtscope import _libraries
from trtscope._errors import TrtscopeError
from trtscope.cli._text import name, octets, printable, table
from trtscope.cli.inspect import bindings_text, engine_id
from trtscope.executorch._blob import read_blob
from trtscope.executorch._library import BACKEND, OPTION_KEYS
from trtscope.executorch._program import Delegate, Method, read_program


def describe(path: Path) -> dict[str, Any]:
    """What ``inspect --json`` prints of a ``.pte``.

    Raises:
        PackageError: the file is no whole program.
    """
    ordinals: Counter[tuple[str, int]] = Counter()
    return {
        "package": str(path),
        "kind": "executorch",
        "methods": [_method(m, ordinals) for m in read_program(path).methods],
    }


def _method(method: Method, ordinals: Counter[tuple[str, int]]) -> dict[str, Any]:
    engines = [
        _engine(delegate, method.name, ordinals)
        for delegate in method.delegates
        if delegate.backend == BACKEND
    ]
    others = Counter(d.backend for d in method.delegates if d.backend != BACKEND)
    return {
        "name": method.name,
        "engines": engines,
        "other_delegates": dict(others),
        "operators": sorted(set(method.operators)),
    }


def _engine(delegate: Delegate, method: str, ordinals: Counter[tuple[str, int]]) -> dict[str, Any]:
    keys = {key: option for option, key in OPTION_KEYS.items()}
    described: dict[str, Any] = {
        "options": {
            keys[key]: value.rstrip(b"\0").decode("utf-8", "replace")
            for key, value in delegate.specs.items()
            if key in keys
        }
    }
    try:
        metadata, plan = read_blob(delegate.blob)
        info = _libraries.core().plan_info(bytes(plan))
    except TrtscopeError as error:
        return {**described, "size": len(delegate.blob), "error": str(error)}
    # The delegate's own words where the blob has no name (delegate.cc).
    engine = metadata.get("name") or method
    bindings = metadata.get("io_bindings") or []
    return described | {
        "id": engine_id(engine, int(info["hash"]), ordinals),
        "name": engine,
        "kind": info["kind"],
        "builder_version": info["builder_version"],
        "size": info["size"],
        "target_platform": metadata.get("target_platform") or "",
        "hardware_compatible": bool(metadata.get("hardware_compatible")),
        "aliased_io": metadata.get("aliased_io") or [],
        "inputs": [b for b in bindings if b.get("is_input")],
        "outputs": [b for b in bindings if not b.get("is_input")],
    }


def text(described: dict[str, Any]) -> str:
    """``describe`` for people."""
    methods = described["methods"]
    engines = [(m, e) for m in methods for e in m["engines"]]
    lines = [
        f"{printable(described['package'])}: ExecuTorch program, "
        f"{_count(len(methods), 'method')}, {_count(len(engines), 'engine')}"
    ]
    readable = [(m, e) for m, e in engines if "id" in e]
    if readable:
        lines += [
            "",
            table(
                ("id", "method", "kind", "builder", "size", "platform", "options"),
                [
                    (
                        name(e["id"]),
                        name(m["name"]),
                        e["kind"],
                        e["builder_version"],
                        octets(e["size"]),
                        e["target_platform"],
                        printable(" ".join(f"{k}={v}" for k, v in e["options"].items())),
                    )
                    for m, e in readable
                ],
            ),
        ]
    for _, engine in readable:
        lines += bindings_text(engine)
    for method, engine in engines:
        if "error" in engine:
            lines += ["", f"method {name(method['name'])}: {printable(engine['error'])}"]
    for method in methods:
        others = [f"{b} ({n})" for b, n in sorted(method["other_delegates"].items())]
        beside = [*others, *method["operators"]]
        if beside:
            lines += ["", f"method {name(method['name'])} also runs " + name(", ".join(beside))]
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
