"""The ``host`` builder: plans that run on any CPU.

A plan is an ExecuTorch program with one method, ``forward``, and one constant method,
``trtscope_bindings``, which gives a string: JSON that describes the inputs and outputs, since a
program alone knows neither their names nor how far their dimensions may move::

    {"inputs":  [{"name": "x", "dtype": "float32", "shape": [-1, 8], "dims": ["s77", 8],
                  "min": [1, 8], "opt": [3, 8], "max": [16, 8]}],
     "outputs": [{"name": "y", "dtype": "float32", "shape": [-1, 4], "dims": ["s77", 4]}]}

"dims" are the shapes as ``_metadata`` spells them: from them the engine knows an output's shape
before it runs.  An output with -1 and no "dims" has a shape that depends on data.
core/engine/host/bindings.h reads it.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from trtscope._builders.base import BuildRequest, BuiltEngine, EngineBuilder
from trtscope._checksum import with_checksum
from trtscope._errors import CompileError, one_line
from trtscope._graph import LINEAR, check_bounded, is_matrix_linear, tensors_of, value_of
from trtscope._metadata import TensorSpec
from trtscope._progress import quiet
from trtscope._region import dimension_bounds
from trtscope._state import HOST_DEVICE

BINDINGS_METHOD = "trtscope_bindings"

_DTYPES = frozenset(
    {
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.int8,
        torch.uint8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.bool,
    }
)


@cache
def _kernel_names() -> frozenset[str]:
    """Names (``aten.add``) of the operators that the wheel's kernels compute."""
    spec = find_spec("executorch")
    roots = list(spec.submodule_search_locations or []) if spec else []
    if not roots:
        raise CompileError(
            "the host builder needs the package executorch, which is not installed here: "
            "pip install executorch"
        )
    listing = Path(roots[0]) / "kernels" / "portable" / "functions.yaml"
    ops = re.findall(r"^- op: ([\w]+)", listing.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(f"aten.{op}" for op in ops) | {"aten.linear"}


@cache
def _decomposable() -> frozenset[Any]:
    return frozenset(torch.export.default_decompositions())


def _floors(base: str, node: torch.fx.Node) -> bool:
    """Whether the node, of the operator ``base``, divides and rounds down, or gives what that
    leaves."""
    if base in ("aten.floor_divide", "aten.remainder"):
        return True
    return base == "aten.div" and node.kwargs.get("rounding_mode") == "floor"


class HostBuilder(EngineBuilder):
    """Lowers with ExecuTorch to its portable and optimized CPU kernels.

    Args:
        xnnpack: hand what XNNPACK can run to it: faster, but it is one opaque step in the layer
            profile for each of its partitions.
    """

    name = "host"

    def __init__(self, *, xnnpack: bool = False) -> None:
        self._xnnpack = xnnpack

    def reason_unsupported(self, node: torch.fx.Node) -> str | None:
        target = node.target
        if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
            return "only ATen operators can"
        if target._schema.is_mutable:
            return "it changes its input"
        tags = target.tags
        if torch.Tag.nondeterministic_seeded in tags:
            return "it is random"
        if torch.Tag.data_dependent_output in tags or torch.Tag.dynamic_output_shape in tags:
            return "its result's shape depends on values"
        for tensor in (
            *tensors_of(node),
            *(t for n in node.all_input_nodes for t in tensors_of(n)),
        ):
            if tensor.dtype not in _DTYPES:
                return f"dtype {str(tensor.dtype).removeprefix('torch.')} is not supported"
            if tensor.device.type != "cpu":
                return f"its tensors are on {tensor.device}, not on the CPU"
            if tensor.dim() > 8:
                return f"a tensor has {tensor.dim()} dimensions, more than 8"
        if not any(True for _ in tensors_of(node)):
            return "it gives no tensor"
        base = str(target).rpartition(".")[0]
        if _floors(base, node) and not value_of(node).is_floating_point():
            return "ExecuTorch's kernel for it is wrong for negative whole numbers"
        if base in _kernel_names() or f"{base}_copy" in _kernel_names():
            return None
        if target in _decomposable() or target._can_decompose():
            return None
        return "ExecuTorch's kernels do not have it"

    def build(self, request: BuildRequest) -> BuiltEngine:
        with quiet():
            return self._build(request)

    def _build(self, request: BuildRequest) -> BuiltEngine:
        from executorch import exir
        from executorch.exir.passes import MemoryPlanningPass

        metadata = request.metadata
        for symbol, (low, high) in metadata.symbols.items():
            check_bounded(symbol, low, high, request.name)
        bindings = {
            "inputs": [_binding(t, metadata.symbols, with_range=True) for t in metadata.inputs],
            "outputs": [_binding(t, metadata.symbols, with_range=False) for t in metadata.outputs],
        }
        partitioners = []
        linears = [n for n in request.program.graph.nodes if n.target is LINEAR]
        whole = not self._xnnpack and all(map(is_matrix_linear, linears))
        if self._xnnpack:
            from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
                XnnpackPartitioner,
            )

            partitioners.append(XnnpackPartitioner())
        config = exir.EdgeCompileConfig(
            _check_ir_validity=False,
            preserve_ops=[LINEAR] if whole else [],
        )
        try:
            edge = exir.to_edge_transform_and_lower(
                request.program,
                partitioner=partitioners,
                compile_config=config,
                constant_methods={BINDINGS_METHOD: json.dumps(bindings, separators=(",", ":"))},
            )
            self._check_kernels(request.name, edge.exported_program().graph)
            # Without places of their own in the plan's memory, inputs and outputs are used where
            # the caller has them, and nothing is copied.
            planning = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
            lowered = edge.to_executorch(
                exir.ExecutorchBackendConfig(memory_planning_pass=planning)
            )
            plan = with_checksum(bytes(lowered.buffer))
        except CompileError:
            raise
        except Exception as error:
            raise CompileError(
                f"engine {request.name!r}: ExecuTorch cannot lower it: {one_line(error)}"
            ) from error
        return BuiltEngine(
            plan=plan,
            input_names=tuple(t.name for t in metadata.inputs),
            output_names=tuple(t.name for t in metadata.outputs),
            builder_version=f"executorch {importlib.metadata.version('executorch')}",
            device=HOST_DEVICE,
        )

    @staticmethod
    def _check_kernels(name: str, graph: torch.fx.Graph) -> None:
        missing = set()
        for node in graph.nodes:
            op = str(node.target)
            if node.op == "call_function" and op.startswith("aten."):
                base = ".".join(op.split(".")[:2])
                if base not in _kernel_names() and not base.startswith("aten.sym_"):
                    missing.add(base)
        if missing:
            raise CompileError(
                f"engine {name!r}: ExecuTorch's kernels do not have {', '.join(sorted(missing))}, "
                "to which an operator of it decomposes; name that one in torch_executed_ops"
            )


def _binding(tensor: TensorSpec, symbols: Any, *, with_range: bool) -> dict[str, Any]:
    binding: dict[str, Any] = {
        "name": tensor.name,
        "dtype": tensor.dtype,
        "shape": [d if isinstance(d, int) else -1 for d in tensor.shape],
        "dims": list(tensor.shape),
    }
    if with_range:
        bounds = [dimension_bounds(d, symbols) for d in tensor.shape]
        binding["min"] = [max(low, 0) for low, _ in bounds]
        binding["opt"] = [high for _, high in bounds]
        binding["max"] = [high for _, high in bounds]
    return binding
