"""The programs that these tests run."""

from __future__ import annotations

from pathlib import Path

import torch

import trtscope
import trtscope.executorch

BATCH = torch.export.Dim("batch", min=1, max=16)


class Mixed(torch.nn.Module):
    """Parts for three kinds of code: ours, XNNPACK's, ExecuTorch's own kernels."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 16)
        self.last = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.sigmoid(torch.relu(self.first(x)))
        y = torch.cumsum(y, 1)
        y = torch.tanh(self.second(y))
        return torch.relu(self.last(torch.exp(y)))


class Small(torch.nn.Module):
    """One engine, whole."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.layer = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        z = torch.relu(self.layer(x))
        return z * y, torch.sigmoid(z)


MIXED_INPUT = torch.linspace(-1, 1, 24).reshape(3, 8)
SMALL_INPUTS = (torch.linspace(-1, 1, 16).reshape(2, 8), torch.full((2, 4), 3.0))


def exported(model: torch.nn.Module, *inputs: torch.Tensor) -> torch.export.ExportedProgram:
    dynamic = tuple({0: BATCH} for _ in inputs)
    return torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic)


def save_mixed(folder: Path, **options: object) -> Path:
    """Engines for what comes before the cumsum and after the exp, XNNPACK for the middle."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    edge = trtscope.executorch.lower(
        exported(Mixed(), MIXED_INPUT),
        min_block_size=2,
        torch_executed_ops=["aten.cumsum", "aten.tanh", "aten.exp"],
        partitioners=[XnnpackPartitioner()],
        **options,
    )
    return trtscope.save(edge, folder / "mixed.pte", etrecord=True)


def save_methods(folder: Path, *names: str) -> Path:
    """One engine for each method, with weights of its own: ``Small(i)`` is method number i."""
    methods = {name: exported(Small(i), *SMALL_INPUTS) for i, name in enumerate(names)}
    edge = trtscope.executorch.lower(methods, min_block_size=1)
    return trtscope.save(edge, folder / f"{'_'.join(names)}.pte", etrecord=True)


def save_engineless(folder: Path) -> Path:
    """ExecuTorch's own kernels alone."""
    from executorch.exir import to_edge_transform_and_lower

    return trtscope.save(
        to_edge_transform_and_lower(exported(Small(), *SMALL_INPUTS)), folder / "engineless.pte"
    )


def save_small(folder: Path, name: str = "small", seed: int = 1, **options: object) -> Path:
    edge = trtscope.executorch.lower(
        exported(Small(seed), *SMALL_INPUTS), min_block_size=1, **options
    )
    return trtscope.save(edge, folder / f"{name}.pte", etrecord=True)
