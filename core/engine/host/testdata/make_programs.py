"""Writes the programs that the host engine's tests run, with inputs and what PyTorch makes of them.

    make_programs.py FOLDER

For each program NAME.pte, and in cases.json a list of calls under NAME: inputs and outputs, each
{"dtype", "shape", "data"}.
"""

from __future__ import annotations

import json
import logging
import struct
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

import torch
from torch.export import Dim, export

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

from executorch.backends.xnnpack.partition.xnnpack_partitioner import (  # noqa: E402
    XnnpackPartitioner,
)
from executorch.exir import (  # noqa: E402
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge_transform_and_lower,
)
from executorch.exir.passes import MemoryPlanningPass  # noqa: E402


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Linear(8, 32)
        self.b = torch.nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(torch.relu(self.a(x)))


class Mix(torch.nn.Module):
    """Many kinds of operators, and shapes that are arithmetic over the input's."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(16)
        self.qkv = torch.nn.Linear(16, 48)
        self.conv = torch.nn.Conv1d(16, 8, 3, padding=1)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        q, k, v = self.qkv(self.norm(x)).split(16, dim=-1)
        scores = torch.softmax((q @ k.transpose(-1, -2)) / 4.0, dim=-1)
        scores = torch.where(mask.unsqueeze(1), scores, torch.zeros_like(scores))
        y = torch.nn.functional.gelu(scores @ v) + x
        z = self.conv(y.transpose(1, 2))
        return torch.cat([y, y], dim=1), z.flatten(1), mask.sum(-1), y.argmax(-1)


class Ties(torch.nn.Module):
    """Outputs that are inputs, constants, views, and one another."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("constant", torch.arange(6, dtype=torch.int64))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        total = x + y
        return total, x, total.view(-1), total * 2, self.constant, total, x.view(8, 4)


class Nonzero(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.nonzero(x), x + 1


class Counter(torch.nn.Module):
    """Adds up over calls."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("sum", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.sum.add_(x)
        return self.sum + 0


class Scalar(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum()


def binding(
    name: str, tensor: torch.Tensor, dims: list[Any] | None, **ranges: Any
) -> dict[str, Any]:
    dims = list(tensor.shape) if dims is None else dims
    return {
        "name": name,
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": [-1 if isinstance(d, str) else d for d in dims],
        **({} if "?" in dims else {"dims": dims}),
        **ranges,
    }


def as_json(tensor: torch.Tensor) -> dict[str, Any]:
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "data": tensor.reshape(-1).to(torch.float64).tolist(),
    }


def lower(
    module: torch.nn.Module,
    example: tuple[torch.Tensor, ...],
    *,
    dynamic: Any = None,
    bindings: dict[str, Any] | None = None,
    xnnpack: bool = False,
    planned: bool = False,
    checksum: bool = False,
) -> bytes:
    exported = export(module.eval(), example, dynamic_shapes=dynamic, strict=False)
    edge = to_edge_transform_and_lower(
        exported,
        partitioner=[XnnpackPartitioner()] if xnnpack else [],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
        constant_methods={"trtscope_bindings": json.dumps(bindings)} if bindings else None,
    )
    planning = MemoryPlanningPass(alloc_graph_input=planned, alloc_graph_output=planned)
    config = ExecutorchBackendConfig(memory_planning_pass=planning)
    program = bytes(edge.to_executorch(config).buffer)
    # core/base/checksum.h
    trailer = struct.pack("<4sIQ", b"TSCK", zlib.crc32(program), len(program))
    return program + trailer if checksum else program


def main(folder: Path) -> None:
    torch.manual_seed(7)
    cases: dict[str, list[dict[str, Any]]] = {}

    def add(
        name: str, module: torch.nn.Module, calls: list[tuple[Any, ...]], **options: Any
    ) -> None:
        (folder / f"{name}.pte").write_bytes(lower(module, calls[0], **options))
        cases[name] = []
        for inputs in calls:
            with torch.no_grad():
                outputs = module(*inputs)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            cases[name].append(
                {"inputs": [as_json(t) for t in inputs], "outputs": [as_json(t) for t in outputs]}
            )

    mlp, batch = Mlp().eval(), Dim("batch", min=1, max=16)
    calls = [(torch.randn(n, 8),) for n in (4, 1, 16, 4, 7)]
    bindings = {
        "version": 1,
        "inputs": [binding("x", calls[0][0], ["b", 8], min=[1, 8], opt=[4, 8], max=[16, 8])],
        "outputs": [binding("y", torch.empty(4, 4), ["b", 4])],
    }
    dynamic = {"x": {0: batch}}
    add("mlp", mlp, calls, dynamic=dynamic, bindings=bindings)
    add("mlp_checked", mlp, calls, dynamic=dynamic, bindings=bindings, checksum=True)
    add("mlp_planned", mlp, calls, dynamic=dynamic, bindings=bindings, planned=True)
    add("mlp_xnnpack", mlp, calls, dynamic=dynamic, bindings=bindings, xnnpack=True)
    add("mlp_no_bindings", mlp, [(torch.randn(16, 8),)], dynamic=dynamic)
    # What the bindings promise is less than what the program gives.
    small = {**bindings, "outputs": [binding("y", torch.empty(4, 4), ["b // 2", 4])]}
    add("mlp_wrong_bindings", mlp, calls, dynamic=dynamic, bindings=small)
    untold = {**bindings, "outputs": [binding("y", torch.empty(4, 4), ["?", 4])]}
    add("mlp_untold", mlp, calls, dynamic=dynamic, bindings=untold)

    mix, length = Mix().eval(), Dim("length", min=2, max=12)
    calls = [(torch.randn(2, n, 16), torch.rand(2, n) > 0.3) for n in (5, 12, 2)]
    add(
        "mix",
        mix,
        calls,
        dynamic={"x": {1: length}, "mask": {1: length}},
        bindings={
            "inputs": [
                binding("x", calls[0][0], [2, "n", 16], min=[2, 2, 16], max=[2, 12, 16]),
                binding("mask", calls[0][1], [2, "n"], min=[2, 2], max=[2, 12]),
            ],
            "outputs": [
                binding("twice", torch.empty(0), [2, "2*n", 16]),
                binding("flat", torch.empty(0), [2, "8*n"]),
                binding("sum", torch.empty(0, dtype=torch.int64), [2]),
                binding("best", torch.empty(0, dtype=torch.int64), [2, "n"]),
            ],
        },
    )

    calls = [(torch.randn(4, 8), torch.randn(4, 8)) for _ in range(2)]
    add("ties", Ties(), calls)
    add("ties_planned", Ties(), calls, planned=True)
    add("nonzero", Nonzero(), [((torch.rand(4, 8) > p).float(),) for p in (0.5, 1.0, 0.0)])
    add("nonzero_planned", Nonzero(), [((torch.rand(4, 8) > 0.5).float(),)], planned=True)
    add("counter", Counter(), [(torch.randn(3),) for _ in range(3)])
    add("scalar", Scalar(), [(torch.randn(5, 3),)])
    (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
