"""ETRecords: what became of a program's graph, kept beside it.  Read here are the graph nodes that
became each instruction, and where in the source they come from.

An ETRecord is a zip file of maps from instructions to debug handles, a map for each method, and of
the methods' graphs, whose nodes have those handles.  The graphs are read as the JSON that they are
kept as: their weights, and the operators of the model, are not needed to name nodes.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trtscope._errors import PackageError, TrtscopeError, one_line

_MAGIC = "ETRECORD_V0"
_HANDLES, _DELEGATES = "debug_handle_map", "delegate_map"
_GRAPH = "edge_dialect_exported_program"
_BESIDE_GRAPHS = ("_state_dict", "_constants", "_example_inputs")

# What stands before an operator's own name in a graph.
_PREFIXES = ("executorch.exir.dialects.edge.ops.", "torch.ops.higher_order.", "torch.ops.")
_NO_OPERATORS = ("_operator.getitem", "executorch.exir.memory.alloc")


@dataclass(frozen=True)
class Instruction:
    """``nodes`` are operators of the graph, in its words; ``source`` is ``file:line``, empty where
    it is not known; ``backend`` is that of a delegate's call, empty for an operator's."""

    nodes: tuple[str, ...]
    source: str
    backend: str


MethodRecord = dict[int, Instruction]


@dataclass(frozen=True)
class _Node:
    operator: str
    stack_trace: str


def etrecord_octets(record: Any, path: Path) -> bytes:
    """What the file of an ``ETRecord`` of ExecuTorch's holds; ``path`` is for messages.

    Raises:
        TrtscopeError: ExecuTorch has no form for a part of the graph.
    """
    octets = io.BytesIO()
    try:
        record.save(octets)
    except Exception as error:  # one of its serializer's own, and whatever that came upon
        reason: BaseException = error
        while reason.__cause__ is not None:
            reason = reason.__cause__
        raise TrtscopeError(
            f"{path} cannot be made: ExecuTorch has no form for a part of the program's graph: "
            f"{one_line(error, longest=120)}: {one_line(reason)}; the program itself can be saved, "
            "with etrecord=False"
        ) from error
    return octets.getvalue()


def read_etrecord(path: Path) -> dict[str, MethodRecord]:
    """The instructions of each method that have graph nodes, by their numbers.

    Raises:
        PackageError: the file is no ETRecord, or is damaged.
    """
    try:
        with zipfile.ZipFile(path) as record:
            names = record.namelist()
            if _MAGIC not in names:
                raise PackageError(f"{path} is no ETRecord: it has no entry {_MAGIC}")
            handles = json.loads(record.read(_HANDLES))
            delegates = json.loads(record.read(_DELEGATES)) if _DELEGATES in names else {}
            graphs = {
                name.removeprefix(_GRAPH).removeprefix("/"): _nodes(json.loads(record.read(name)))
                for name in names
                if name.startswith(_GRAPH) and not name.endswith(_BESIDE_GRAPHS)
            }
        # The graph of an only method is called forward, whatever the method's name.
        only = next(iter(graphs.values())) if len(graphs) == 1 else {}
        return {
            method: _method(of, delegates.get(method, {}), graphs.get(method, only))
            for method, of in handles.items()
        }
    # A damaged entry may ask for a compression that zipfile does not have.
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise PackageError(f"{path} is no ETRecord, or is damaged: {one_line(error)}") from error
    except (
        OSError,
        EOFError,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        zlib.error,
    ) as error:
        raise PackageError(
            f"{path} is damaged: {type(error).__name__}: {one_line(error)}"
        ) from error


def _method(
    handles: dict[str, int | list[int]],
    delegates: dict[str, dict[str, Any]],
    graph: dict[int, list[_Node]],
) -> MethodRecord:
    method = {}
    for instruction, of in handles.items():
        nodes = [n for h in (of if isinstance(of, list) else [of]) for n in graph.get(h, ())]
        method[int(instruction)] = Instruction(
            tuple(n.operator for n in nodes),
            _source([n.stack_trace for n in nodes]),
            str(delegates.get(instruction, {}).get("name", "")),
        )
    return method


def _nodes(program: dict[str, Any]) -> dict[int, list[_Node]]:
    """The nodes of a graph by their debug handles."""
    nodes: dict[int, list[_Node]] = {}
    for node in program["graph_module"]["graph"]["nodes"]:
        metadata = node["metadata"]
        handle, target = metadata.get("debug_handle", ""), node["target"]
        if not handle.isdecimal() or target in _NO_OPERATORS:
            continue
        found = _Node(_operator(target), metadata.get("stack_trace", ""))
        nodes.setdefault(int(handle), []).append(found)
    return nodes


def _operator(target: str) -> str:
    for prefix in _PREFIXES:
        if target.startswith(prefix):
            return target.removeprefix(prefix)
    return target


def _source(traces: list[str]) -> str:
    """``file:line`` of the first trace that has one, the model's own code before torch's."""
    lines = [line for trace in traces for line in _lines(trace)]
    own = [line for line in lines if f"{os.sep}torch{os.sep}" not in line[0]] or lines
    return f"{Path(own[0][0]).name}:{own[0][1]}" if own else ""


def _lines(trace: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r'File "([^"]+)", line (\d+)', trace):
        yield match[1], match[2]
