"""Models that change their buffers and their inputs: what docs/limits.md says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower

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


class Caches(torch.nn.Module):
    """Changes a buffer of zeros, as a cache is."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(1 << 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.cache.add_(1)
        return torch.relu(x) + self.cache[:3]


@pytest.mark.parametrize("engines", [True, False], ids=["engines", "no engine"])
def test_a_buffer_that_the_model_changes_starts_as_exported_and_is_kept(
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
        torch.testing.assert_close(runner(X), X + 5 + call)


def test_a_buffer_of_zeros_takes_no_place_in_the_file(tmp_path: Path) -> None:
    path = trtscope.save(torch.export.export(Caches().eval(), (X,)), tmp_path / "m.pte")
    runner = trtscope.load(path)
    for call in (1, 2, 3):
        torch.testing.assert_close(runner(X), X + call)
    assert path.stat().st_size < 1 << 16


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
