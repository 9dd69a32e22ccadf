"""What the command, the operators, the runner and the metrics offer, asked of themselves."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator

import torch

import trtscope
import trtscope.metrics
from trtscope.cli import build_parser

Rows = list[list[str]]


def commands() -> Iterator[tuple[str, str, Rows]]:
    """Name, purpose, and a row for each argument: as it is written, and what it means."""
    (found,) = [a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction)]
    purposes = {choice.dest: choice.help or "" for choice in found._choices_actions}
    for name, parser in found.choices.items():
        rows = [
            [_written(action), action.help or ""]
            for action in parser._actions
            if not isinstance(action, argparse._HelpAction)
        ]
        yield name, purposes[name], rows


def _written(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    if not action.option_strings:
        return f"[{value}]" if action.nargs == "?" else str(value)
    names = ", ".join(action.option_strings)
    return f"{names} {value}".rstrip() if action.nargs != 0 else names


def python_names() -> Rows:
    """The package's public names, with the first sentence of what each says of itself."""
    return [[name, _first_sentence(getattr(trtscope, name))] for name in trtscope.__all__]


def _first_sentence(named: object) -> str:
    text = inspect.cleandoc(named.__doc__ or "").partition("\n\n")[0]
    return re.split(r"(?<=\.) ", " ".join(text.replace("``", "`").split()), maxsplit=1)[0]


def operators() -> list[str]:
    """Schemas of torch.ops.tensorrt."""
    trtscope.load_library()
    schemas = [s for s in torch._C._jit_get_all_schemas() if s.name.startswith("tensorrt::")]
    return sorted(str(s).removeprefix("tensorrt::") for s in schemas)


def runner_options(header: str) -> Rows:
    """Of the native runner's usage text, as its source holds it."""
    lines = re.findall(r'^ +"  (--.+?)\\n"', header, re.MULTILINE)
    return [[*re.split(r" {2,}", line, maxsplit=1), ""][:2] for line in lines]


def backend_option_keys(header: str) -> list[str]:
    """Of executorch_backend/options.h."""
    return re.findall(r'constexpr char k\w+Key\[\] = "(\w+)";', header)


def metrics() -> Rows:
    """Name, kind, labels and meaning."""
    return [
        [metric.name, metric.type, ", ".join(metric._labelnames), metric.documentation]
        for metric in trtscope.metrics.EngineCollector().collect()
    ]
