"""Models that change their buffers and their inputs: what docs/limits.md says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

import trtscope
import trtscope.executorch

X = torch.arange(3.0)


class Counts(torch.nn.Module):
    """Adds how often it was called, from five."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.full((3,), 5.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(torch.ones_like(x))
        return torch.relu(x) + self.calls


class Writes(torch.nn.Module):
    """Changes its first input."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return torch.relu(x) * y


@pytest.mark.parametrize("engines", [True, False], ids=["engines", "no engine"])
def test_a_buffer_that_the_model_changes_starts_at_zero_and_is_kept(
    tmp_path: Path, engines: bool
) -> None:
    program = torch.export.export(Counts().eval(), (X,))
    edge = (
        trtscope.executorch.lower(program, min_block_size=1)
        if engines
        else to_edge_transform_and_lower(program)
    )
    runner = trtscope.load(trtscope.save(edge, tmp_path / "m.pte"))
    for call in (1, 2, 3):
        torch.testing.assert_close(runner(X), X + call)


def test_executorchs_pass_keeps_the_value_of_a_buffer(tmp_path: Path) -> None:
    edge = trtscope.executorch.lower(torch.export.export(Counts().eval(), (X,)), min_block_size=1)
    config = ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(["calls"])])
    runner = trtscope.load(trtscope.save(edge.to_executorch(config), tmp_path / "m.pte"))
    for call in (1, 2, 3):
        torch.testing.assert_close(runner(X), X + 5 + call)


@pytest.mark.parametrize("engines", [True, False], ids=["engines", "no engine"])
def test_an_input_that_the_model_changes_is_an_output_more(tmp_path: Path, engines: bool) -> None:
    program = torch.export.export(Writes().eval(), (X.clone(), X))
    edge = (
        trtscope.executorch.lower(program, min_block_size=1)
        if engines
        else to_edge_transform_and_lower(program)
    )
    runner = trtscope.load(trtscope.save(edge, tmp_path / "m.pte"))
    given = X.clone()
    changed, result = runner(given, X)
    torch.testing.assert_close(changed, X + 1)
    torch.testing.assert_close(result, (X + 1) * X)
    torch.testing.assert_close(given, X)
