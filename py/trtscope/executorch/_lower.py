"""Lowers parts of a program to engines: a partitioner and a backend for ExecuTorch's exir."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence, Set
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import torch
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import DelegateMappingBuilder
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.tensor import dim_order_from_stride
from torch.export import ExportedProgram
from torch.fx import Graph, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from trtscope._builders import get_builder
from trtscope._builders.base import BuildRequest, EngineBuilder
from trtscope._compile import DEFAULT_MIN_BLOCK_SIZE
from trtscope._errors import CompileError, TrtscopeError, one_line
from trtscope._graph import LINEAR, is_matrix_linear, is_symbolic, tensors_of
from trtscope._metadata import TensorSpec
from trtscope._partition import (
    Group,
    baked_inputs,
    check_min_block_size,
    check_ops_used,
    kept_ops,
    takes_tensor,
)
from trtscope._profile import names
from trtscope._region import describe, extract, renamed
from trtscope.executorch._blob import write_blob
from trtscope.executorch._library import OPTION_KEYS, option_texts

if TYPE_CHECKING:
    from executorch.exir import EdgeProgramManager

_ENGINE_SPEC = "trtscope_engine"
_CHANNELS_LAST = (0, 2, 3, 1)

# Builders of partitions that wait for preprocess, by their engine's spec: a spec holds only bytes.
_waiting: dict[bytes, EngineBuilder] = {}


class TensorRTBackend(BackendDetails):  # type: ignore[misc]  # ExecuTorch is not typed
    """Makes a delegate blob of one partition.  Its name is the backend's in the ``.pte``."""

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        spec = next((s.value for s in compile_specs if s.key == _ENGINE_SPEC), b"host/engine")
        builder_name, _, name = spec.decode().partition("/")
        builder = _waiting.get(spec) or get_builder(builder_name)
        return PreprocessResult(
            processed_bytes=_build(edge_program, name, builder),
            debug_handle_map=_debug_handles(edge_program),
        )


def _build(edge_program: ExportedProgram, name: str, builder: EngineBuilder) -> bytes:
    program = _aten(edge_program)
    nodes = tuple(n for n in program.graph.nodes if n.op == "call_function")
    region = describe(program, Group(name, nodes))
    built = builder.build(BuildRequest(name, extract(program, region), region.metadata))
    metadata = renamed(region.metadata, built.input_names, built.output_names)
    inputs = _in_order(
        name, "input", edge_program.graph_signature.user_inputs, region.inputs, metadata.inputs
    )
    results = next(n for n in program.graph.nodes if n.op == "output").args[0]
    outputs = _in_order(name, "output", [n.name for n in results], region.outputs, metadata.outputs)
    return write_blob(
        built.plan,
        name=name,
        inputs=inputs,
        outputs=outputs,
        aliased_io=built.aliased_io,
        hardware_compatible=built.hardware_compatible,
        device_id=int(built.device.split("%")[0] or 0),
        metadata=metadata.to_json(),
    )


def _in_order(
    engine: str,
    what: str,
    arguments: Sequence[Any],
    nodes: Sequence[Node],
    specs: Sequence[TensorSpec],
) -> list[TensorSpec]:
    """The engine's tensors in the order of the delegate's arguments."""
    known = {node.name: spec for node, spec in zip(nodes, specs, strict=True)}
    names = [str(a) for a in arguments]
    if sorted(names) != sorted(known):
        raise CompileError(
            f"engine {engine!r}: its partition's {what}s are {', '.join(names)}, the engine's "
            f"{', '.join(known)}"
        )
    return [known[n] for n in names]


def _aten(edge_program: ExportedProgram) -> ExportedProgram:
    """What ``describe`` and ``extract`` read of a program, with ATen operators."""
    graph = Graph()
    result = graph.graph_copy(edge_program.graph, {})
    graph.output(result)
    for node in graph.nodes:
        node.target = _operator(node)
    return cast(
        ExportedProgram,
        SimpleNamespace(
            graph=graph,
            graph_signature=edge_program.graph_signature,
            range_constraints={
                symbol: _from_one(bounds)
                for symbol, bounds in edge_program.range_constraints.items()
            },
            state_dict=edge_program.state_dict,
            constants=edge_program.constants,
        ),
    )


def _from_one(bounds: Any) -> Any:
    """Lowering traces programs anew, which takes sizes of 1 for constants and so leaves 2 as the
    smallest of every dimension that moves; the program itself admits 1."""
    from torch.utils._sympy.value_ranges import ValueRanges

    return ValueRanges(1, bounds.upper) if bounds.lower == 2 else bounds


def _operator(node: Node) -> Any:
    """The ATen operator, or the one behind an operator of the edge dialect."""
    return node.target._op if isinstance(node.target, EdgeOpOverload) else node.target


def _debug_handles(edge_program: ExportedProgram) -> Any:
    """Maps each event of a delegate call to the nodes of its partition.

    Layers are not in it: which nodes a layer came from is not recorded by any builder, and its
    name alone does not say.
    """
    nodes = [
        n
        for n in edge_program.graph.nodes
        if n.op == "call_function" and n.meta.get("debug_handle") is not None
    ]
    if not nodes:
        return None
    mapping = DelegateMappingBuilder(generated_identifiers=False)
    for phase in names()["phases"]:
        mapping.insert_delegate_mapping_entry(nodes=nodes, identifier=phase["event"])
    return mapping.get_delegate_mapping()


def _operator_names(program: ExportedProgram) -> set[str]:
    return {str(_operator(n)) for n in program.graph.nodes if n.op == "call_function"}


class _AtenNode:
    """A node of the edge dialect as a builder expects it."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.target = _operator(node)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)


class _Support(OperatorSupportBase):
    def __init__(self, builder: EngineBuilder, kept: frozenset[str]) -> None:
        self._builder, self._kept = builder, kept

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        if node.op != "call_function" or is_symbolic(node) or "delegation_tag" in node.meta:
            return False
        return self._reason(node) is None

    def _reason(self, node: Node) -> str | None:
        if node.target is operator.getitem:
            source = node.args[0]
            return self._reason(source) if isinstance(source, Node) else "it indexes no node"
        name = str(_operator(node))
        if name in self._kept or name.rpartition(".")[0] in self._kept:
            return "torch_executed_ops keeps it out"
        if any(_out_of_order(t) for n in (node, *node.all_input_nodes) for t in tensors_of(n)):
            return "a tensor's dimensions are not in order in memory (channels last, transposed)"
        # A delegate's arguments are tensors: sizes that a call computes stay outside.
        if any(is_symbolic(source) for source in node.all_input_nodes):
            return "it takes a size that is computed by the program"
        return self._builder.reason_unsupported(cast(Node, _AtenNode(node)))


def _out_of_order(tensor: torch.Tensor) -> bool:
    """Engines take tensors whose dimensions lie in order, outermost first."""
    return _dim_order(tensor) != tuple(range(tensor.dim()))


def _dim_order(tensor: torch.Tensor) -> tuple[int, ...]:
    return tuple(int(d) for d in dim_order_from_stride(tensor.stride()))


def _tag_constants(program: ExportedProgram) -> None:
    """Constants go into the engine that alone uses them; of several users each takes it as an
    input.  ExecuTorch's ``tag_constant_data`` overlooks users outside all engines."""
    baked = baked_inputs(program)
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in baked:
            tags = {user.meta.get("delegation_tag") for user in node.users}
            if len(tags) == 1 and None not in tags:
                node.meta["delegation_tag"] = tags.pop()


# Where tensors are planned when nothing is said; said, ExecuTorch copies from the CPU to the CPU,
# which its kernel for copies refuses.
_ON_THE_CPU = frozenset((OPTION_KEYS["target_device"], name) for name in ("cpu", "host"))


class TrtscopePartitioner(Partitioner):  # type: ignore[misc]  # ExecuTorch is not typed
    """Gives ``to_edge_transform_and_lower`` the parts that become engines.

    Args:
        engine: a builder, or the name of one (``trtscope.builders``).
        min_block_size: the fewest operators that are worth an engine of their own.
        torch_executed_ops: operators to leave to other backends, such as ``"aten.relu"``.
        options: defaults for the method, embedded in the program (``profile_level="phases"``);
            options at load time win over them.

    Raises:
        TrtscopeError: there is no such builder, or an option or its value is not known.
    """

    def __init__(
        self,
        engine: str | EngineBuilder = "host",
        *,
        min_block_size: int = DEFAULT_MIN_BLOCK_SIZE,
        torch_executed_ops: Sequence[object] = (),
        **options: object,
    ) -> None:
        super().__init__()
        check_min_block_size(min_block_size)
        self._builder = get_builder(engine)
        self._min_block_size = min_block_size
        self._kept = kept_ops(torch_executed_ops)
        self._specs = [
            CompileSpec(key, os.fsencode(text))
            for key, text in option_texts(options).items()
            if (key, text) not in _ON_THE_CPU
        ]
        self._count = 0
        self._decomposed: set[str] = set()

    def ops_to_not_decompose(self, ep: ExportedProgram) -> tuple[list[Any], Any]:
        # Linears stay whole for engines, and for the backends that are asked next.  About one that
        # none of them took, ExecuTorch asks again at the end: it is no mistake, its optimized
        # kernels have aten.linear.
        return [LINEAR], is_matrix_linear

    def check_ops_used(self, exported: Set[str]) -> None:
        """To be called once all methods are lowered, with the operators that they had before.

        Raises:
            CompileError: a name of ``torch_executed_ops`` is of none of their operators.
        """
        check_ops_used(self._kept, exported | self._decomposed)
        why = "ExecuTorch decomposes before engines are made: name what it becomes"
        check_ops_used(self._kept, self._decomposed, why)

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        support = _Support(self._builder, self._kept)
        self._decomposed |= _operator_names(exported_program)
        partitioner = CapabilityBasedPartitioner(
            exported_program.graph_module, support, allows_single_node_partition=True
        )
        order = {n: i for i, n in enumerate(exported_program.graph.nodes)}
        groups = []
        for partition in partitioner.propose_partitions():
            nodes = sorted(partition.nodes, key=order.__getitem__)
            size = sum(n.target is not operator.getitem for n in nodes)
            if size >= self._min_block_size and takes_tensor(exported_program, nodes):
                groups.append(nodes)
        tags = {}
        for nodes in sorted(groups, key=lambda g: order[g[0]]):
            name = f"_run_on_acc_{self._count}_engine"
            self._count += 1
            spec = f"{self._builder.name}/{name}".encode()
            _waiting[spec] = self._builder
            tag = f"trtscope_{name}"
            for node in nodes:
                node.meta["delegation_tag"] = tag
            tags[tag] = DelegationSpec(
                TensorRTBackend.__name__, [CompileSpec(_ENGINE_SPEC, spec), *self._specs]
            )
        _tag_constants(exported_program)
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)


def lower(
    program: ExportedProgram | dict[str, ExportedProgram],
    *,
    engine: str | EngineBuilder = "host",
    min_block_size: int = DEFAULT_MIN_BLOCK_SIZE,
    torch_executed_ops: Sequence[object] = (),
    partitioners: Sequence[Any] = (),
    etrecord: bool = True,
    **options: object,
) -> EdgeProgramManager:
    """Lowers a program, or several methods by name: engines first, the rest to ``partitioners``,
    what is left to ExecuTorch's own kernels.

    Args:
        program: of ``torch.export.export``.
        partitioners: of other backends, such as XNNPACK's, in the order they are asked.
        etrecord: keep what the Inspector needs to name nodes and source lines.
        engine, min_block_size, torch_executed_ops, options: as ``TrtscopePartitioner`` takes them.

    Raises:
        TrtscopeError: an argument is not of these, or an engine could not be built.
    """
    from executorch import exir

    from trtscope._progress import quiet

    methods = program if isinstance(program, dict) else {"forward": program}
    _check_methods(methods)
    if isinstance(partitioners, Partitioner):
        partitioners = [partitioners]
    for other in partitioners:
        if not isinstance(other, Partitioner):
            raise CompileError(
                f"partitioners: expected ExecuTorch's Partitioner, got a {type(other).__name__}"
            )
    own = TrtscopePartitioner(
        engine, min_block_size=min_block_size, torch_executed_ops=torch_executed_ops, **options
    )
    exported = set().union(*map(_operator_names, methods.values()))
    try:
        with quiet():
            lowered = exir.to_edge_transform_and_lower(
                program,
                partitioner=[own, *partitioners],
                compile_config=exir.EdgeCompileConfig(_check_ir_validity=False),
                generate_etrecord=etrecord,
            )
    except TrtscopeError:
        raise
    except Exception as error:
        raise CompileError(f"ExecuTorch cannot lower the model: {one_line(error)}") from error
    own.check_ops_used(exported)
    return lowered


def _check_methods(methods: Mapping[Any, Any]) -> None:
    if not methods:
        raise CompileError("lower got no method; expected one or more, by name")
    for name, method in methods.items():
        if not isinstance(name, str) or not name:
            raise CompileError(f"lower got a method named {name!r}; expected text")
        if not isinstance(method, ExportedProgram):
            raise CompileError(
                "lower takes the result of torch.export.export, or a dict of them by method name, "
                f"not a {type(method).__name__}"
            )
        for node in method.graph.nodes:
            if node.op == "placeholder" and node.name in method.graph_signature.user_inputs:
                _check_memory_format(name, node)


def _check_memory_format(method: str, node: Node) -> None:
    for tensor in tensors_of(node):
        if _out_of_order(tensor) and _dim_order(tensor) != _CHANNELS_LAST:
            raise CompileError(
                f"method {method!r}: the example of input {node.name!r} has its dimensions in "
                f"memory in the order {_dim_order(tensor)}; ExecuTorch takes contiguous and "
                "channels-last tensors alone: export with a contiguous example; calls may bring any"
            )
