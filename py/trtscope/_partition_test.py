from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, ExportedProgram

from trtscope._builders.base import BuildRequest, BuiltEngine, EngineBuilder
from trtscope._compile import _functional
from trtscope._errors import CompileError
from trtscope._graph import operator_name
from trtscope._partition import Group, by_capability, by_modules
from trtscope._region import describe, expression_bounds, extract


class Arithmetic(EngineBuilder):
    """Supports a few operators and builds nothing."""

    name = "arithmetic"
    known: tuple[str, ...] = (
        "aten.linear",
        "aten.relu",
        "aten.add",
        "aten.mul",
        "aten.view",
        "aten.split",
    )

    def reason_unsupported(self, node: torch.fx.Node) -> str | None:
        base = operator_name(node).rpartition(".")[0]
        return None if base in self.known else "it is not arithmetic"

    def build(self, request: BuildRequest) -> BuiltEngine:
        raise AssertionError("partitioning builds nothing")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.relu(self.linear(x)) + 1


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x: torch.Tensor) -> Any:
        x = self.blocks[0](x)
        x = x.cumsum(1)  # nothing that Arithmetic knows
        return self.blocks[1](x) * 2


def export(model: nn.Module, *args: torch.Tensor, **shapes: Any) -> ExportedProgram:
    return _functional(torch.export.export(model.eval(), args, **shapes))


def batch_of(model: nn.Module, rows: int = 3) -> ExportedProgram:
    dims = {0: Dim("batch", min=1, max=16)}
    return export(model, torch.randn(rows, 8), dynamic_shapes=(dims,))


def operators(group: Group) -> list[str]:
    return [operator_name(n) for n in group.nodes]


def test_capability_splits_at_what_stays_in_torch() -> None:
    groups = by_capability(batch_of(Model()), Arithmetic(), (), 1)
    assert [g.name for g in groups] == ["_run_on_acc_0_engine", "_run_on_acc_1_engine"]
    assert operators(groups[0]) == ["aten.linear.default", "aten.relu.default", "aten.add.Tensor"]
    assert operators(groups[1])[-1] == "aten.mul.Tensor"


def test_small_groups_stay_in_torch() -> None:
    groups = by_capability(batch_of(Model()), Arithmetic(), (), 4)
    assert [len(g.nodes) for g in groups] == [4]
    with pytest.raises(CompileError, match="largest group has 4 operators and min_block_size is 5"):
        by_capability(batch_of(Model()), Arithmetic(), (), 5)


@pytest.mark.parametrize(
    "kept", ["aten.relu", "torch.ops.aten.relu.default", "aten::relu", torch.ops.aten.relu]
)
def test_operators_can_be_kept_in_torch(kept: Any) -> None:
    groups = by_capability(batch_of(Model()), Arithmetic(), (kept,), 1)
    assert all("aten.relu.default" not in operators(g) for g in groups)
    assert len(groups) == 4


def test_a_kept_operator_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(
        CompileError, match=r"'aten.rleu', which the model does not use; near: .*relu"
    ):
        by_capability(batch_of(Model()), Arithmetic(), ("aten.rleu",), 1)


def test_nothing_supported_lists_the_reasons() -> None:
    class Sums(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x.cumsum(1).sin()

    with pytest.raises(CompileError) as error:
        by_capability(batch_of(Sums()), Arithmetic(), (), 1)
    assert "aten.cumsum.default: it is not arithmetic" in str(error.value)
    assert "aten.sin.default" in str(error.value)


def test_each_matching_module_is_one_group() -> None:
    groups = by_modules(batch_of(Model()), Arithmetic(), (), ["blocks.*"])
    assert [g.name for g in groups] == ["blocks.0", "blocks.1"]
    assert operators(groups[0]) == ["aten.linear.default", "aten.relu.default", "aten.add.Tensor"]


def test_the_outermost_match_wins() -> None:
    groups = by_modules(batch_of(Model()), Arithmetic(), (), ["blocks.*", "blocks.*.linear"])
    assert [g.name for g in groups] == ["blocks.0", "blocks.1"]


def test_a_glob_that_matches_nothing_lists_near_names() -> None:
    with pytest.raises(CompileError, match=r"'block.0' matches no module .* near: blocks.0"):
        by_modules(batch_of(Model()), Arithmetic(), (), ["block.0"])


def test_calls_of_one_module_are_groups_of_their_own() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Block()

        def forward(self, x: torch.Tensor) -> Any:
            return self.block(self.block(x).cumsum(1))

    groups = by_modules(batch_of(Twice()), Arithmetic(), (), ["block"])
    assert [g.name for g in groups] == ["block", "block@1"]


def test_a_module_with_an_unsupported_operator_names_it() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = Model()

        def forward(self, x: torch.Tensor) -> Any:
            return self.model(x)

    with pytest.raises(
        CompileError, match=r"module 'model' cannot become one .*aten.cumsum.default"
    ):
        by_modules(batch_of(Outer()), Arithmetic(), (), ["model"])


def test_control_flow_in_a_module_is_named() -> None:
    class Choice(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t * 2, (x,))

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.choice = Choice()

        def forward(self, x: torch.Tensor) -> Any:
            return self.choice(x) + 1

    builder = Arithmetic()
    builder.known = (*builder.known, "aten.sum", "aten.gt")
    with pytest.raises(CompileError, match=r"module 'choice' .*control flow"):
        by_modules(batch_of(Outer()), builder, (), ["choice"])
    groups = by_capability(batch_of(Outer()), builder, (), 1)
    assert all("cond" not in n.name for g in groups for n in g.nodes)


def test_a_module_interrupted_from_outside_is_refused() -> None:
    class Hooked(nn.Module):
        def forward(self, x: torch.Tensor, outside: Any) -> Any:
            return torch.relu(outside(x + 1)) + 1

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hooked = Hooked()
            self.middle = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> Any:
            return self.hooked(x, lambda t: t * 3)

    program = batch_of(Outer())
    # As if the multiplication were another module's.
    for node in program.graph.nodes:
        if operator_name(node) == "aten.mul.Tensor":
            node.meta["nn_module_stack"] = {}
    with pytest.raises(CompileError, match="which is outside and needs the module"):
        by_modules(program, Arithmetic(), (), ["hooked"])


def test_dynamic_sizes_reach_the_region() -> None:
    class Fold(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.relu(x.view(x.shape[0] * 2, 4)) + 1

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fold = Fold()

        def forward(self, x: torch.Tensor) -> Any:
            return self.fold(x).cumsum(1)

    program = batch_of(Outer())
    (group,) = by_modules(program, Arithmetic(), (), ["fold"])
    region = describe(program, group)
    (symbol,) = region.metadata.symbols
    assert region.metadata.symbols[symbol] == (1, 16)
    assert region.metadata.inputs[0].shape == (symbol, 8)
    assert region.metadata.output_shapes([(5, 8)]) == [[10, 4]]
    alone = extract(program, region)
    x = torch.randn(7, 8)
    torch.testing.assert_close(alone.module()(x)[0], torch.relu(x.view(14, 4)) + 1)


def test_a_size_of_no_input_brings_its_owner_along() -> None:
    class Spread(nn.Module):
        def forward(self, row: torch.Tensor, rows: int) -> Any:
            return row.expand(rows, 8) + 1

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.spread = Spread()

        def forward(self, x: torch.Tensor, row: torch.Tensor) -> Any:
            return self.spread(row, x.shape[0]).cumsum(1)

    builder = Arithmetic()
    builder.known = (*builder.known, "aten.expand")
    program = export(
        Outer(),
        torch.randn(3, 8),
        torch.randn(1, 8),
        dynamic_shapes=({0: Dim("batch", min=1, max=16)}, None),
    )
    (group,) = by_modules(program, builder, (), ["spread"])
    region = describe(program, group)
    assert [n.name for n in region.inputs] == ["row", "x"]
    result = extract(program, region).module()(torch.ones(1, 8), torch.zeros(5, 8))[0]
    torch.testing.assert_close(result, torch.full((5, 8), 2.0))


def test_sizes_that_depend_on_values_are_refused() -> None:
    class Spread(nn.Module):
        def forward(self, row: torch.Tensor, rows: int) -> Any:
            return row.expand(rows, 8) + 1

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.spread = Spread()

        def forward(self, row: torch.Tensor, count: torch.Tensor) -> Any:
            rows = count.item()
            torch._check(rows >= 2)
            torch._check(rows <= 9)
            return self.spread(row, rows).cumsum(1)

    builder = Arithmetic()
    builder.known = (*builder.known, "aten.expand")
    program = export(Outer(), torch.randn(1, 8), torch.tensor(4))
    (group,) = by_modules(program, builder, (), ["spread"])
    with pytest.raises(CompileError, match="depends on values, not on inputs' shapes"):
        describe(program, group)


def test_bounds_of_expressions() -> None:
    symbols = {"s0": (1, 16), "s1": (0, None)}
    assert expression_bounds("2*s0 + 1", symbols) == (3, 33)
    assert expression_bounds("(s0 + 1) // 2", symbols) == (1, 8)
    assert expression_bounds("max(4, s0)", symbols) == (4, 16)
    assert expression_bounds("s1 + s0", symbols) == (1, None)
