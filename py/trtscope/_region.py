"""Takes a group of nodes out of an exported program as a program of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.export import Dim, ExportedProgram
from torch.fx import Graph, GraphModule, Node

from trtscope._errors import CompileError
from trtscope._graph import dim_text, expression, expression_text, is_symbolic, value_of
from trtscope._inputs import dtype_text
from trtscope._metadata import Arithmetic, Metadata, TensorSpec, evaluate
from trtscope._metadata import Dim as Dimension
from trtscope._partition import Group, baked_inputs


@dataclass(frozen=True)
class Region:
    """A group with its borders.

    ``inputs`` are nodes outside whose tensors a call brings, ``outputs`` nodes inside whose
    tensors are used outside; ``metadata`` describes both in the same order.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    metadata: Metadata


def describe(program: ExportedProgram, group: Group) -> Region:
    """Finds the group's inputs, outputs and symbols.

    Raises:
        CompileError: a dimension depends on data, or on a symbol that no input tensor has.
    """
    inside = set(group.nodes)
    baked = baked_inputs(program)
    inputs: dict[Node, None] = {}
    needed: set[Any] = set()
    for node in group.nodes:
        for source in node.all_input_nodes:
            if source in inside or source.name in baked:
                continue
            if is_symbolic(source):
                needed |= expression(value_of(source)).free_symbols
            else:
                inputs[source] = None
    outputs = [
        n
        for n in group.nodes
        if isinstance(value_of(n), torch.Tensor) and any(u not in inside for u in n.users)
    ]
    if not outputs:
        raise CompileError(f"engine {group.name!r}: nothing that it computes is used")
    for node in (*inputs, *outputs):
        for size in value_of(node).shape:
            needed |= expression(size).free_symbols

    # Every symbol must be a dimension, alone, of an input.  One that is not takes along the
    # model's own input that has it, for its shape only.
    bound = {s for node in inputs for s in _lone_symbols(node)}
    for symbol in sorted(needed - bound, key=str):
        inputs[_provider(program, symbol, group.name)] = None

    bounds = {}
    for symbol in sorted(needed, key=str):
        low, high = _bounds(program, symbol)
        bounds[str(symbol)] = (low, high)
    return Region(
        group.name,
        group.nodes,
        tuple(inputs),
        tuple(outputs),
        Metadata(
            inputs=tuple(_spec(f"in_{node.name}", node) for node in inputs),
            outputs=tuple(_spec(f"out_{node.name}", node) for node in outputs),
            symbols=bounds,
        ),
    )


def _lone_symbols(node: Node) -> set[Any]:
    value = value_of(node)
    if not isinstance(value, torch.Tensor):
        return set()
    return {e for size in value.shape if (e := expression(size)).is_symbol}


def _symbols(node: Node) -> set[Any]:
    value = value_of(node)
    if not isinstance(value, torch.Tensor):
        return set()
    return {s for size in value.shape for s in expression(size).free_symbols}


def _provider(program: ExportedProgram, symbol: Any, name: str) -> Node:
    users = set(program.graph_signature.user_inputs)
    nodes: list[Node] = list(program.graph.nodes)
    for node in nodes:
        if node.op == "placeholder" and node.name in users and symbol in _lone_symbols(node):
            return node
    for node in nodes:
        if node.op == "placeholder" and node.name in users and symbol in _symbols(node):
            shape = [dim_text(d) for d in value_of(node).shape]
            raise CompileError(
                f"engine {name!r}: the size {symbol} is no dimension of an input, only part of "
                f"one's: {node.name!r} is {shape}; an engine needs it as a dimension by itself: "
                "leave the operators that use it in torch, or export with such an input"
            )
    raise CompileError(
        f"engine {name!r}: the size {symbol} depends on values, not on inputs' shapes, which an "
        "engine cannot know before it runs; leave the operator that makes it in torch"
    )


def _bounds(program: ExportedProgram, symbol: Any) -> tuple[int, int | None]:
    found = program.range_constraints.get(symbol)
    if found is None:
        return 0, None
    low = int(found.lower) if found.lower.is_finite else 0
    return low, int(found.upper) if found.upper.is_finite and found.upper.is_Integer else None


def _spec(name: str, node: Node) -> TensorSpec:
    value = value_of(node)
    return TensorSpec(name, dtype_text(value.dtype), tuple(dim_text(d) for d in value.shape))


def extract(program: ExportedProgram, region: Region) -> ExportedProgram:
    """The region as a program: parameters inside, tensor inputs in the region's order.

    Raises:
        CompileError: torch.export refuses it, or a dynamic dimension did not stay dynamic.
    """
    module = _module(program, region)
    values = _sample_values(region)
    args = tuple(
        torch.zeros(
            [evaluate(str(d), values) for d in spec.shape],
            dtype=getattr(torch, spec.dtype),
            device=value_of(node).device,
        )
        for spec, node in zip(region.metadata.inputs, region.inputs, strict=True)
    )
    dynamic = tuple(
        {
            i: _dim(d, region.metadata.symbols)
            for i, d in enumerate(spec.shape)
            if isinstance(d, str)
        }
        for spec in region.metadata.inputs
    )
    try:
        # A GraphModule's forward takes its placeholders by name; *args keeps one level of tuple.
        return torch.export.export(
            module, args, dynamic_shapes=_by_name(module, dynamic), strict=False
        )
    except Exception as error:
        raise CompileError(
            f"engine {region.name!r} cannot be exported by itself: {error}"
        ) from error


def _by_name(module: GraphModule, dynamic: tuple[Any, ...]) -> dict[str, Any]:
    names = [n.target for n in module.graph.nodes if n.op == "placeholder"]
    return dict(zip(names, dynamic, strict=True))


def _dim(text: str, symbols: Mapping[str, tuple[int, int | None]]) -> Any:
    low, high = expression_bounds(text, symbols)
    return Dim.DYNAMIC(min=max(low, 0), max=high)


def dimension_bounds(
    dim: Dimension, symbols: Mapping[str, tuple[int, int | None]]
) -> tuple[int, int | None]:
    """Inclusive bounds of a dimension of any kind."""
    if isinstance(dim, str):
        return expression_bounds(dim, symbols)
    return (0, None) if dim is None else (dim, dim)


def expression_bounds(
    text: str, symbols: Mapping[str, tuple[int, int | None]]
) -> tuple[int, int | None]:
    """Inclusive bounds of a dimension's expression; an upper bound of None is no bound."""
    import sympy
    from torch.utils._sympy.functions import FloorDiv, Max, Min, PythonMod
    from torch.utils._sympy.numbers import int_oo
    from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

    names = {name: sympy.Symbol(name, integer=True, nonnegative=True) for name in symbols}
    ranges = {
        names[name]: ValueRanges(low, int_oo if high is None else high)
        for name, (low, high) in symbols.items()
    }
    found = bound_sympy(evaluate(text, names, Arithmetic(FloorDiv, PythonMod, Max, Min)), ranges)
    low, high = found.lower, found.upper
    return (
        int(low) if low.is_finite else 0,
        int(high) if high.is_finite and high.is_Integer else None,
    )


def _sample_values(region: Region) -> dict[str, int]:
    """A size for each symbol: the one the model was exported with, or one within its bounds."""
    values: dict[str, int] = {}
    for node in region.inputs:
        for size in value_of(node).shape:
            if not isinstance(size, torch.SymInt):
                continue
            expr = expression(size)
            if expr.is_symbol and size.node.has_hint():
                values.setdefault(str(expr), int(size.node.hint))
    for name, (low, high) in region.metadata.symbols.items():
        value = values.get(name, max(low, 2))
        # 0 and 1 would be taken for constants.
        value = max(value, 2)
        values[name] = value if high is None else min(value, high)
    return values


def _module(program: ExportedProgram, region: Region) -> GraphModule:
    root = torch.nn.Module()
    graph = Graph()
    env: dict[Node, Any] = {}
    placeholders = []
    for spec, node in zip(region.metadata.inputs, region.inputs, strict=True):
        env[node] = graph.placeholder(spec.name)
        placeholders.append(env[node])

    symbols: dict[str, Any] = {}
    for spec, placeholder in zip(region.metadata.inputs, placeholders, strict=True):
        for i, dim in enumerate(spec.shape):
            if isinstance(dim, str) and dim in region.metadata.symbols and dim not in symbols:
                size = graph.call_function(torch.ops.aten.sym_size.int, (placeholder, i))
                symbols[dim] = torch.fx.Proxy(size)

    baked = baked_inputs(program)

    def load(node: Node) -> Any:
        if node not in env:
            if node.name in baked:
                tensor = _fixed_value(program, baked[node.name])
                root.register_buffer(node.name, tensor.detach())
                env[node] = graph.get_attr(node.name)
            elif is_symbolic(node):
                value = evaluate(expression_text(expression(value_of(node))), symbols)
                env[node] = value.node if isinstance(value, torch.fx.Proxy) else value
            else:
                raise AssertionError(f"{node.name} is neither inside nor an input")
        return env[node]

    for node in region.nodes:
        env[node] = graph.node_copy(node, load)
    graph.output(tuple(env[node] for node in region.outputs))
    graph.eliminate_dead_code()
    return GraphModule(root, graph)


def _fixed_value(program: ExportedProgram, target: str) -> torch.Tensor:
    value = program.state_dict.get(target)
    if value is None:
        value = program.constants[target]
    if not isinstance(value, torch.Tensor):
        raise CompileError(f"constant {target!r} is a {type(value).__name__}, not a tensor")
    return value


def renamed(metadata: Metadata, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Metadata:
    """The same tensors under a plan's own names for them."""
    return replace(
        metadata,
        inputs=tuple(
            replace(t, name=name) for t, name in zip(metadata.inputs, inputs, strict=True)
        ),
        outputs=tuple(
            replace(t, name=name) for t, name in zip(metadata.outputs, outputs, strict=True)
        ),
    )
