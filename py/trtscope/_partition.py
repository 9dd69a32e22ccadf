"""Chooses which nodes of an exported graph become engines."""

from __future__ import annotations

import difflib
import fnmatch
import operator
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from trtscope._builders.base import EngineBuilder
from trtscope._errors import CompileError
from trtscope._graph import is_symbolic, module_paths, operator_name


@dataclass(frozen=True)
class Group:
    """Nodes of one engine, in graph order."""

    name: str
    nodes: tuple[Node, ...]


class _Support(OperatorSupportBase):
    """The builder's answer, less what the caller keeps in torch; remembers every reason."""

    def __init__(self, builder: EngineBuilder, torch_executed_ops: Iterable[object]) -> None:
        self._builder = builder
        self._kept = kept_ops(torch_executed_ops)
        self._used: set[str] = set()
        self.reasons: dict[Node, str] = {}

    def reason(self, node: Node) -> str | None:
        if node.op != "call_function":
            return f"it is a {node.op} node"
        if node.target is operator.getitem:
            source = node.args[0]
            return self.reason(source) if isinstance(source, Node) else "it indexes no node"
        name = operator_name(node)
        for text in (name, name.rpartition(".")[0]):
            if text in self._kept:
                self._used.add(text)
                return "torch_executed_ops keeps it in torch"
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return "it is control flow or another higher-order operator"
        return self._builder.reason_unsupported(node)

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        if node.op != "call_function" or is_symbolic(node):
            return False
        reason = self.reason(node)
        if reason is not None:
            self.reasons[node] = reason
        return reason is None

    def check_all_used(self, nodes: Iterable[Node]) -> None:
        check_ops_used(self._kept, {operator_name(n) for n in nodes if n.op == "call_function"})


def check_ops_used(
    kept: Set[str], overloads: Set[str], why: str = "the model does not use"
) -> None:
    """An entry that no node has is probably misspelt.

    Raises:
        CompileError: a name of ``torch_executed_ops`` is of none of the model's operators.
    """
    names = overloads | {name.rpartition(".")[0] for name in overloads}
    for text in sorted(kept - names):
        near = difflib.get_close_matches(text, sorted(names), n=3)
        raise CompileError(
            f"torch_executed_ops names {text!r}, which {why}"
            + (f"; near: {', '.join(near)}" if near else "")
        )


def kept_ops(torch_executed_ops: Iterable[object]) -> frozenset[str]:
    """The operators by name; a text alone is one of them."""
    if isinstance(torch_executed_ops, str):
        torch_executed_ops = [torch_executed_ops]
    return frozenset(_op_text(op) for op in torch_executed_ops)


def _op_text(op: object) -> str:
    """``aten.relu.default`` or ``aten.relu``, from an operator or its name in any spelling."""
    if isinstance(op, torch._ops.OpOverload):
        return str(op)
    if isinstance(op, torch._ops.OpOverloadPacket):
        return str(op)
    return str(op).removeprefix("torch.ops.").replace("::", ".")


def check_min_block_size(value: object) -> None:
    """
    Raises:
        CompileError: it is no number of operators.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise CompileError(f"min_block_size is {value!r}; expected a whole number, 1 or more")


def by_capability(
    program: ExportedProgram,
    builder: EngineBuilder,
    torch_executed_ops: Sequence[object],
    min_block_size: int,
) -> list[Group]:
    """The largest groups of supported nodes, those of ``min_block_size`` operators or more.

    Raises:
        CompileError: no group is left; the message says which operators were in the way.
    """
    support = _Support(builder, torch_executed_ops)
    nodes = list(program.graph.nodes)
    support.check_all_used(nodes)
    partitioner = CapabilityBasedPartitioner(
        program.graph_module, support, allows_single_node_partition=True
    )
    order = {node: i for i, node in enumerate(nodes)}
    groups = []
    largest = 0
    for partition in partitioner.propose_partitions():
        members = sorted(partition.nodes, key=order.__getitem__)
        size = sum(n.target is not operator.getitem for n in members)
        if not takes_tensor(program, members):
            continue
        largest = max(largest, size)
        if size >= min_block_size:
            groups.append(members)
    if not groups:
        raise CompileError(_nothing_lowered(builder, support, largest, min_block_size))
    groups.sort(key=lambda members: order[members[0]])
    return [Group(f"_run_on_acc_{i}_engine", tuple(m)) for i, m in enumerate(groups)]


def _nothing_lowered(
    builder: EngineBuilder, support: _Support, largest: int, min_block_size: int
) -> str:
    if largest:
        return (
            f"no part of the model became a {builder.name} engine: the largest group has {largest} "
            f"operators and min_block_size is {min_block_size}"
        )
    seen: dict[str, str] = {}
    for node, reason in support.reasons.items():
        seen.setdefault(operator_name(node), reason)
    listed = "; ".join(f"{name}: {reason}" for name, reason in list(seen.items())[:8])
    more = f"; and {len(seen) - 8} more" if len(seen) > 8 else ""
    return f"no operator of the model can be in a {builder.name} engine" + (
        f" ({listed}{more})" if listed else ": it has none that takes a tensor"
    )


def by_modules(
    program: ExportedProgram,
    builder: EngineBuilder,
    torch_executed_ops: Sequence[object],
    globs: Sequence[str],
) -> list[Group]:
    """One group for each call of a module whose path matches a glob (the outermost that does).

    Raises:
        CompileError: a glob matches nothing, a module holds something that cannot be in an
            engine, or what is outside the module takes part in its middle.
    """
    support = _Support(builder, torch_executed_ops)
    nodes = list(program.graph.nodes)
    support.check_all_used(nodes)
    members: dict[str, list[Node]] = {}
    known: dict[str, None] = {}
    matched: set[str] = set()
    for node in nodes:
        if node.op != "call_function" or is_symbolic(node):
            continue
        paths = module_paths(node)
        known.update(dict.fromkeys(paths))
        owner = None
        for path in paths:
            hits = [g for g in globs if fnmatch.fnmatchcase(path.partition("@")[0], g)]
            matched.update(hits)
            owner = owner or (path if hits else None)
        if owner is not None:
            members.setdefault(owner, []).append(node)
    for glob in globs:
        if glob not in matched:
            raise CompileError(_no_match(glob, list(known)))
    groups = []
    for path, group in members.items():
        for node in group:
            reason = support.reason(node)
            if reason is not None:
                raise CompileError(
                    f"module {path!r} cannot become one {builder.name} engine: "
                    f"{operator_name(node)} ({node.name}) cannot be in it: {reason}"
                )
        if not takes_tensor(program, group):
            raise CompileError(
                f"module {path!r} cannot become an engine: it takes no tensor that a call brings"
            )
        _check_convex(path, nodes, set(group))
        groups.append(Group(path, tuple(group)))
    return groups


def _no_match(glob: str, known: list[str]) -> str:
    near = difflib.get_close_matches(glob, known, n=5, cutoff=0.4) or known[:5]
    listed = ", ".join(near) if near else "none: the model has no submodules"
    return f"engine_modules: {glob!r} matches no module that the model calls; near: {listed}"


def _check_convex(path: str, nodes: Sequence[Node], group: set[Node]) -> None:
    after: set[Node] = set()  # outside, but depends on the group
    for node in nodes:
        sources = node.all_input_nodes
        if node in group:
            back = next((s for s in sources if s in after), None)
            if back is not None:
                raise CompileError(
                    f"module {path!r} cannot become one engine: {operator_name(node)} "
                    f"({node.name}) in it needs {back.name}, which is outside and needs the module"
                )
        elif any(s in group or s in after for s in sources):
            after.add(node)


_BAKED = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def baked_inputs(program: ExportedProgram) -> dict[str, str]:
    """Placeholders whose value is fixed (parameters, constants, buffers that no call changes),
    with the key of each one's value in ``state_dict`` or ``constants``."""
    signature = program.graph_signature
    mutated = set(signature.buffers_to_mutate.values())
    return {
        spec.arg.name: spec.target
        for spec in signature.input_specs
        if spec.kind in _BAKED and spec.target is not None and spec.target not in mutated
    }


def takes_tensor(program: ExportedProgram, group: Sequence[Node]) -> bool:
    baked = baked_inputs(program)
    inside = set(group)
    return any(
        source not in inside and not is_symbolic(source) and source.name not in baked
        for node in group
        for source in node.all_input_nodes
    )
