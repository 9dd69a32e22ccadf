"""``trtscope profile``: runs a package and says where its engines' time goes."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtscope._errors import PackageError, TrtscopeError, one_line
from trtscope._package import Package
from trtscope.cli._arguments import count, folder, positive
from trtscope.cli._text import name, octets, table

if TYPE_CHECKING:
    import torch

    from trtscope._profile import profile as Profile  # noqa: N812
    from trtscope._save import Runner

Arguments = tuple[list[Any], dict[str, Any]]

#: Calls without profiling, to compare with: more of them tell no more.
MOST_OFF = 1000

_SLOWEST = 10
_LISTED = 10


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "profile",
        help="run a package and show where the time goes",
        description="Loads a .pt2 or .pte package, runs it, and prints what each engine, phase and "
        "layer costs; writes trace files.",
    )
    parser.add_argument("package", metavar="MODEL", help="a .pt2 or .pte package")
    parser.add_argument(
        "--inputs",
        metavar="FILE.pt",
        help="inputs saved with torch.save: a tensor, a list or tuple of tensors, or a dict of "
        "keyword arguments; by default they are made up from what the package says of them",
    )
    parser.add_argument(
        "--any-values",
        action="store_true",
        help="run inputs whose whole numbers are outside of the range that the package was saved "
        "with: an index that is out of range ends the process",
    )
    parser.add_argument(
        "--level",
        default="layers",
        choices=("delegate", "phases", "layers"),
        help="how much (layers)",
    )
    parser.add_argument("--warmup", type=count, default=3, metavar="N", help="calls before (3)")
    parser.add_argument(
        "--iterations",
        type=positive,
        default=20,
        metavar="N",
        help=f"calls measured (20), after as many, {MOST_OFF} at most, without profiling",
    )
    parser.add_argument(
        "--out", type=folder, metavar="DIR", help="folder of the traces (MODEL-profile)"
    )
    parser.add_argument(
        "--format",
        default="perfetto",
        choices=("perfetto", "trex"),
        help="trex adds the files of TensorRT's explorer (perfetto)",
    )
    parser.add_argument(
        "--filter", default="*", metavar="GLOB", help="only engines whose id matches"
    )
    parser.add_argument(
        "--sample-interval",
        type=count,
        default=1,
        metavar="N",
        help="measure one call in N on the GPU (device time, layers); 0 chooses by cost; 1 is the "
        "default",
    )
    parser.add_argument(
        "--model",
        "--method",
        metavar="NAME",
        help="which model (of a .pte: method), if the package holds several",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    import trtscope
    from trtscope._save import load_pt2

    if Path(arguments.package).suffix == ".pte":
        from trtscope.executorch import _profile

        return _profile.run(arguments)
    runner = load_pt2(arguments.package, arguments.model)
    package = runner.package
    if not package.engines:
        raise PackageError(f"{package.path} holds no engine: there is nothing to profile")
    args, kwargs = _read_inputs(arguments.inputs) if arguments.inputs else _made_up_inputs(package)
    unusual = None if arguments.any_values else runner.unusual_values(args, kwargs)
    if unusual is not None:
        # Compiled code ends the process at an index that is out of range.
        raise TrtscopeError(f"{unusual}; --any-values runs it all the same")
    out = arguments.out or Path(f"{package.path.stem}-profile")
    off = _measure(runner, args, kwargs, arguments.warmup, min(arguments.iterations, MOST_OFF))
    with trtscope.profile(
        level=arguments.level,
        dir=out,
        format=arguments.format,
        filter=arguments.filter,
        sample_interval=arguments.sample_interval,
    ) as profile:
        on = _measure(runner, args, kwargs, 0, arguments.iterations)
    report = _report(package, profile, arguments, off, on)
    measured(report["engines"], package.path, arguments.filter, "the model")
    print(json.dumps(report, indent=2) if arguments.json else _text(report, profile.table()))
    return exit_code(report["problems"])


def measured(
    engines: list[dict[str, Any]], package: Path, pattern: str, caller: str
) -> list[dict[str, Any]]:
    """The rows of those that ``caller`` called.

    Raises:
        TrtscopeError: it called none, or the filter took them all out.
    """
    called = [row for row in engines if row["calls"]]
    if not called:
        raise TrtscopeError(
            f"no engine of {package} was measured: filter {pattern!r} matches none of their ids "
            f"(trtscope inspect lists them), or {caller} calls none"
        )
    return called


def exit_code(problems: list[str]) -> int:
    """1 when something went wrong beside the calls, such as a folder that cannot be written to:
    the core has said it on standard error, and the table repeats it."""
    return 1 if problems else 0


def _measure(
    runner: Runner, args: list[Any], kwargs: dict[str, Any], warmup: int, iterations: int
) -> dict[str, float]:
    """Wall time of whole calls in milliseconds."""
    import torch

    synchronize: Callable[[], None] = (
        torch.cuda.synchronize
        if any(isinstance(a, torch.Tensor) and a.is_cuda for a in (*args, *kwargs.values()))
        else lambda: None
    )
    times = []
    try:
        with torch.inference_mode():
            for i in range(warmup + iterations):
                start = time.perf_counter_ns()
                runner(*args, **kwargs)
                synchronize()
                if i >= warmup:
                    times.append((time.perf_counter_ns() - start) / 1e6)
    except (RuntimeError, TypeError, ValueError) as error:
        raise TrtscopeError(
            f"{runner.path} cannot run on these inputs: {one_line(error)}"
        ) from error
    return {
        "calls": len(times),
        "median_ms": statistics.median(times),
        "min_ms": min(times),
        "max_ms": max(times),
    }


def _read_inputs(path: str) -> Arguments:
    import torch

    try:
        value = torch.load(path, weights_only=True)
    except FileNotFoundError as error:
        raise TrtscopeError(f"inputs file {path} does not exist") from error
    except OSError as error:
        raise TrtscopeError(f"cannot read inputs file {path}: {error.strerror}") from error
    except Exception as error:  # any octets may come, and unpickling raises almost anything
        raise TrtscopeError(f"{path} {_why_no_inputs(path, str(error))}") from error
    if isinstance(value, torch.Tensor):
        return [value], {}
    if isinstance(value, (list, tuple)):
        return list(value), {}
    if isinstance(value, dict):
        return [], {str(k): v for k, v in value.items()}
    raise TrtscopeError(
        f"{path} holds a {type(value).__name__}; expected a tensor, a list or tuple of tensors, or "
        "a dict of keyword arguments"
    )


def _why_no_inputs(path: str, error: str) -> str:
    """torch's own explanation is several lines of advice that does not fit here."""
    if found := re.search(r"GLOBAL (\S+)", error):
        return f"holds a {found[1]}; expected tensors alone"
    with Path(path).open("rb") as file:
        first = file.read(8)
    return f"is not what torch.save writes: it begins {first.hex(' ') or 'with nothing'}"


def _made_up_inputs(package: Package) -> Arguments:
    """Random inputs like those that ``trtscope.save`` recorded."""
    if package.inputs is None:
        raise TrtscopeError(
            f"{package.path} does not say what its inputs are; save some with "
            "torch.save((x, ...), 'inputs.pt') and pass --inputs inputs.pt"
        )
    import torch

    generator = torch.Generator().manual_seed(0)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    try:
        for entry in package.inputs:
            tensor = _random(entry, generator).to(entry.get("device", "cpu"))
            if entry.get("keyword") is None:
                args.append(tensor)
            else:
                kwargs[str(entry["keyword"])] = tensor
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise PackageError(
            f"{package.path}: its record of inputs is malformed: {error!r}"
        ) from error
    return args, kwargs


def _random(entry: dict[str, Any], generator: torch.Generator) -> torch.Tensor:
    import torch

    dtype = getattr(torch, entry["dtype"])
    if dtype.is_floating_point:
        return torch.randn(entry["shape"], generator=generator).to(dtype)
    low, high = entry.get("values", (0, 0))
    return torch.randint(int(low), int(high) + 1, entry["shape"], generator=generator).to(dtype)


def _report(
    package: Package,
    profile: Profile,
    arguments: argparse.Namespace,
    off: dict[str, float],
    on: dict[str, float],
) -> dict[str, Any]:
    return {
        "package": str(package.path),
        "level": arguments.level,
        "wall_off": off,
        "wall_on": on,
        "inputs": "file" if arguments.inputs else "made up",
        "engines": profile.timing(),
        "layers": profile.layers(),
        "dropped_spans": profile.raw()["dropped_spans"],
        "problems": profile.raw()["errors"],
        "files": [str(f) for f in profile.files()],
    }


def _text(report: dict[str, Any], engine_table: str) -> str:
    off, on = report["wall_off"], report["wall_on"]
    lines = [
        f"{report['package']}: {int(off['calls'])} calls, median {off['median_ms']:.3f} ms; "
        f"profiled at level {report['level']}: {on['median_ms']:.3f} ms",
    ]
    if report["inputs"] != "file":
        lines.append("inputs are made up: pass --inputs for real ones")
    lines += ["", engine_table.rstrip("\n")]
    slowest = sorted(report["layers"], key=lambda row: -row["total_ms"])[:_SLOWEST]
    if slowest:
        total = sum(row["total_ms"] for row in report["layers"]) or 1.0
        lines += [
            "",
            f"Slowest {len(slowest)} of {len(report['layers'])} layers:",
            layer_table(slowest, total),
        ]
    if report["dropped_spans"]:
        lines += ["", f"{report['dropped_spans']} spans were dropped: traces are not whole"]
    lines += ["", files_text([Path(f) for f in report["files"]])]
    return "\n".join(lines)


def layer_table(rows: list[dict[str, Any]], total_ms: float) -> str:
    """Layers with each one's share of ``total_ms``."""
    return table(
        ("engine", "#", "layer", "calls", "total ms", "p50 ms", "share %"),
        [
            (
                name(row["engine"]),
                row["position"],
                name(row["layer"]),
                row["count"],
                row["total_ms"],
                row["p50_ms"],
                100 * row["total_ms"] / total_ms,
            )
            for row in rows
        ],
    )


def files_text(files: list[Path]) -> str:
    """Where the trace files are and how to open them."""
    if not files:
        return "No trace file was written."
    files = sorted(files, key=lambda f: f.suffix != ".perfetto-trace")  # the one for all first
    lines = [f"{len(files)} trace files in {files[0].parent.resolve()}:"]
    lines += [f"  {f.name} ({octets(f.stat().st_size)})" for f in files[:_LISTED] if f.is_file()]
    if len(files) > _LISTED:
        lines.append(f"  ... and {len(files) - _LISTED} more")
    lines.append(
        "Drop the .perfetto-trace file (all engines on one timeline) on ui.perfetto.dev, or an "
        "engine's .trace file there or in chrome://tracing; "
        ".engine.profile.json files are for TensorRT's engine explorer."
        if files[0].suffix == ".perfetto-trace"
        else "Drop the .trace file on ui.perfetto.dev, or open it in chrome://tracing."
    )
    return "\n".join(lines)
