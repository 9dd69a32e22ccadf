"""Puts engines in the place of regions: builds the exported program that calls them."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    CustomObjArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
)
from torch.fx import Graph, Node

from trtscope._graph import value_of
from trtscope._region import Region

_CLASS = "__torch__.torch.classes.tensorrt.Engine"


class _Emitter:
    """Copies a graph, one call in the place of each region, in an order that suits both.

    A region's call can come only after all its inputs and before all its users; the old graph may
    have them interleaved, so nodes are emitted when what they need is there.
    """

    def __init__(
        self, regions: Sequence[Region], engines: Mapping[str, Node], taken: set[str]
    ) -> None:
        self.graph = Graph()
        self.env: dict[Node, Node] = {}
        self._engines = engines
        self._owner = {node: region for region in regions for node in region.nodes}
        self._done: set[str] = set()
        self._taken = taken

    def copy(self, node: Node) -> Node:
        """The node in the new graph, under the very name that the signature knows it by: a new
        graph would rename one called like a Python builtin, such as ``input``."""
        copied = self.graph.node_copy(node, self.env.__getitem__)
        copied.name = node.name
        self.env[node] = copied
        return copied

    def emit(self, root: Node) -> None:
        stack = [root]
        while stack:
            node = stack[-1]
            region = self._owner.get(node)
            if node in self.env or (region is not None and region.name in self._done):
                stack.pop()
                continue
            needs = region.inputs if region is not None else node.all_input_nodes
            missing = [n for n in needs if n not in self.env]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if region is None:
                self.copy(node)
            else:
                self._emit_call(region)

    def _emit_call(self, region: Region) -> None:
        call = self.graph.create_node(
            "call_function",
            torch.ops.tensorrt.execute_engine.default,
            ([self.env[n] for n in region.inputs], self._engines[region.name]),
            name=attribute_name("execute_engine", self._taken),
        )
        # The engine's outputs are dense, whatever the strides of what they stand for.
        values = [_dense(value_of(n)) for n in region.outputs]
        call.meta["val"] = values
        for key in ("nn_module_stack", "stack_trace"):
            if key in region.outputs[-1].meta:
                call.meta[key] = region.outputs[-1].meta[key]
        for i, (node, value) in enumerate(zip(region.outputs, values, strict=True)):
            item = self.graph.create_node("call_function", operator.getitem, (call, i))
            item.name = node.name
            item.meta = {k: v for k, v in node.meta.items() if k != "tensor_meta"}
            item.meta["val"] = value
            self.env[node] = item
        self._done.add(region.name)


def _dense(value: torch.Tensor) -> torch.Tensor:
    mode = getattr(value, "fake_mode", None)
    if mode is None or value.is_contiguous():
        return value
    with mode:
        return torch.empty(value.shape, dtype=value.dtype, device=value.device)


def attribute_name(engine: str, taken: set[str]) -> str:
    """A Python identifier for an engine's name, other than those taken; it is then taken."""
    base = re.sub(r"\W", "_", engine) or "engine"
    if base[0].isdigit():
        base = "_" + base
    name, i = base, 1
    while name in taken:
        name, i = f"{base}_{i}", i + 1
    taken.add(name)
    return name


def replace_regions(
    program: ExportedProgram, regions: Sequence[Region], engines: Mapping[str, Any]
) -> ExportedProgram:
    """The program with each region replaced by a call of its engine (by region name).

    Parameters that only engines used are gone from it: they are in the plans.
    """
    signature = program.graph_signature
    specs = {spec.arg.name: spec for spec in signature.input_specs}
    nodes = list(program.graph.nodes)
    inside = {n for region in regions for n in region.nodes}
    used = {source for node in nodes if node not in inside for source in node.all_input_nodes} | {
        n for region in regions for n in region.inputs
    }
    kept_targets = set(signature.buffers_to_mutate.values())
    named_outputs = {spec.arg.name for spec in signature.output_specs if hasattr(spec.arg, "name")}

    input_specs: list[InputSpec] = []
    constants = dict(program.constants)
    # An attribute must not be called like a module that holds a parameter.
    held = {spec.target.split(".")[0] for spec in signature.input_specs if spec.target}
    taken = {n.name for n in nodes} | set(constants) | held
    emitter_engines: dict[str, Node] = {}
    emitter = _Emitter(regions, emitter_engines, taken)
    graph = emitter.graph

    def add_engines() -> None:
        for region in regions:
            target = attribute_name(region.name, taken)
            name = attribute_name(f"obj_{target}", taken)
            node = graph.placeholder(name)
            node.name = name
            argument = CustomObjArgument(name=node.name, class_fqn=_CLASS)
            node.meta["val"] = argument
            emitter_engines[region.name] = node
            input_specs.append(InputSpec(InputKind.CUSTOM_OBJ, argument, target))
            constants[target] = engines[region.name]

    added = False
    for node in nodes:
        if node.op != "placeholder":
            break
        spec = specs[node.name]
        if not added and spec.kind == InputKind.USER_INPUT:
            add_engines()
            added = True
        if (
            spec.kind == InputKind.USER_INPUT
            or node in used
            or spec.target in kept_targets
            or node.name in named_outputs
        ):
            emitter.copy(node)
            input_specs.append(spec)
        elif spec.target in constants:
            del constants[spec.target]
    if not added:
        add_engines()
    for node in nodes:
        if node.op != "placeholder":
            emitter.emit(node)

    kept = {spec.target for spec in input_specs}
    state = {k: v for k, v in program.state_dict.items() if k in kept}
    result = ExportedProgram(
        root=program.graph_module,
        graph=graph,
        graph_signature=ExportGraphSignature(input_specs, list(signature.output_specs)),
        state_dict=state,
        range_constraints=dict(program.range_constraints),
        module_call_graph=[e for e in program.module_call_graph if e.fqn == ""],
        example_inputs=program.example_inputs,
        constants=constants,
        verifiers=program.verifiers,
    )
    return result
