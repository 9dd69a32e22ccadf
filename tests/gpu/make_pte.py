"""make_pte.py ENGINES OUT: .pte programs that hold TensorRT plans, for run.sh pte.

Each has a part that is not an engine (ExecuTorch's own kernels), so that one ETDump holds both.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import trtscope
import trtscope.executorch
from trtscope.builders import PlanBuilder


class Mlp(nn.Module):
    """What the plan computes does not matter here, its shapes do: [batch, 256] to [batch, 64]."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(256, 64)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.cumsum(self.layer(x), 1)


class TwoIo(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
        s, d = a + b, a - b
        return torch.cumsum(s, 1), d


def main() -> int:
    engines, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    batch = torch.export.Dim("batch", min=1, max=64)
    cases: list[tuple[str, nn.Module, list[str], list[str]]] = [
        ("mlp_fp16", Mlp(), ["x"], ["y"]),
        ("two_io", TwoIo(), ["a", "b"], ["s", "d"]),
    ]
    for plan, model, inputs, outputs in cases:
        data = np.load(engines / f"{plan.removesuffix('_fp16')}.npz")
        tensors = tuple(torch.from_numpy(data[name]) for name in inputs)
        program = torch.export.export(
            model.eval(), tensors, dynamic_shapes=tuple({0: batch} for _ in tensors)
        )
        edge = trtscope.executorch.lower(
            program,
            engine=PlanBuilder(engines / f"{plan}.plan", inputs=inputs, outputs=outputs),
            min_block_size=1,
            torch_executed_ops=["aten.cumsum"],
            target_device="cuda:0",
        )
        trtscope.save(edge, out / f"{plan}.pte")
        print(out / f"{plan}.pte")
    return 0


if __name__ == "__main__":
    sys.exit(main())
