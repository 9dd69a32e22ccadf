"""What ``trtscope.executorch.lower`` makes of models, and what it says of those it cannot."""

from __future__ import annotations

from pathlib import Path

import programs
import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from programs import SMALL_INPUTS, Small
from torch.nn import Conv2d, Linear, ReLU, Sequential, Softmax, Tanh

import trtscope
import trtscope.executorch
from trtscope.builders import HostBuilder
from trtscope.executorch._program import read_program


def backends(path: Path) -> list[str]:
    return [d.backend for method in read_program(path).methods for d in method.delegates]


def lowered(path: Path, model: torch.nn.Module, *inputs: torch.Tensor, **options: object) -> Path:
    program = torch.export.export(model.eval(), inputs)
    saved = trtscope.save(trtscope.executorch.lower(program, etrecord=False, **options), path)
    torch.testing.assert_close(trtscope.load(saved)(*inputs), model(*inputs))
    return saved


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, []),
        ({"partitioners": [XnnpackPartitioner()]}, ["XnnpackBackend"]),
        ({"min_block_size": 2, "torch_executed_ops": ["aten.linear"]}, ["TensorRTBackend"]),
    ],
)
def test_linears_that_are_in_no_engine_run_elsewhere(
    tmp_path: Path, options: dict[str, object], expected: list[str]
) -> None:
    model = Sequential(Linear(8, 4), ReLU(), Softmax(1), Linear(4, 4))
    path = lowered(tmp_path / "m.pte", model, torch.randn(2, 8), **options)
    assert sorted(set(backends(path))) == expected


@pytest.mark.parametrize("min_block_size", [1, 100])
@pytest.mark.parametrize("engine", ["host", HostBuilder(xnnpack=True)])
def test_a_linear_of_a_vector_runs(tmp_path: Path, min_block_size: int, engine: object) -> None:
    model = Sequential(Linear(8, 4), ReLU())
    lowered(tmp_path / "m.pte", model, torch.randn(8), min_block_size=min_block_size, engine=engine)


@pytest.mark.parametrize("min_block_size", [1, 100])
def test_channels_last_examples_are_planned_so(tmp_path: Path, min_block_size: int) -> None:
    model = Sequential(Conv2d(3, 4, 3), ReLU())
    example = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    path = lowered(tmp_path / "m.pte", model, example, min_block_size=min_block_size)
    for value in (example.contiguous(), example):
        torch.testing.assert_close(trtscope.load(path)(value), model(value))


def test_a_program_for_the_cpu_runs(tmp_path: Path) -> None:
    model = Sequential(Linear(8, 4), ReLU())
    lowered(tmp_path / "m.pte", model, torch.randn(2, 8), min_block_size=1, target_device="cpu")


def test_names_and_backends_may_come_alone(tmp_path: Path) -> None:
    model = Sequential(Linear(8, 4), Tanh(), ReLU())
    path = lowered(
        tmp_path / "m.pte",
        model,
        torch.randn(2, 8),
        min_block_size=1,
        torch_executed_ops="aten.tanh",
        partitioners=XnnpackPartitioner(),
    )
    assert backends(path) == ["TensorRTBackend", "XnnpackBackend", "TensorRTBackend"]


def test_a_size_that_is_part_of_a_dimension_is_named(tmp_path: Path) -> None:
    class Rows(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x.view(-1, 4)) + 1

    rows = torch.export.Dim("rows", max=8)
    program = torch.export.export(Rows(), (torch.randn(8),), dynamic_shapes=({0: 4 * rows},))
    with pytest.raises(trtscope.CompileError, match=r"only part of one's: 'x' is \['4\*s"):
        trtscope.executorch.lower(program, min_block_size=1)


def test_mistakes_are_told() -> None:
    program = programs.exported(Small(), *SMALL_INPUTS)
    for arguments, message in (
        ({"profile_level": "zz"}, "'zz' is not one of: off, delegate"),
        ({"weight_streaming_budget": -1}, "expected octets, an integer of 0 or more, got '-1'"),
        ({"target_device": "tpu"}, "expected cuda:N or cpu, got 'tpu'"),
        ({"profile_levle": "off"}, "unknown option 'profile_levle'; known: profile_level"),
        ({"min_block_size": "a"}, "min_block_size is 'a'; expected a whole number"),
        ({"min_block_size": 0}, "min_block_size is 0; expected a whole number"),
        ({"partitioners": [3]}, "expected ExecuTorch's Partitioner, got a int"),
        ({"torch_executed_ops": ["aten.rellu"]}, "which the model does not use; near: aten.relu"),
    ):
        with pytest.raises(trtscope.TrtscopeError, match=message):
            trtscope.executorch.lower(program, **arguments)  # type: ignore[arg-type]
    with pytest.raises(trtscope.TrtscopeError, match="by method name, not a Small"):
        trtscope.executorch.lower(Small())  # type: ignore[arg-type]
    silu = torch.export.export(torch.nn.SiLU(), (torch.zeros(2),))
    with pytest.raises(trtscope.TrtscopeError, match=r"'aten\.silu', which ExecuTorch decomposes"):
        trtscope.executorch.lower(silu, torch_executed_ops=["aten.silu"])
    turned = torch.export.export(torch.nn.ReLU(), (torch.zeros(2, 3).t(),))
    with pytest.raises(
        trtscope.TrtscopeError, match=r"example of input 'input' .* in the order \(1, 0\)"
    ):
        trtscope.executorch.lower(turned)
    for methods, message in (({}, "no method"), ({1: program}, "a method named 1; expected text")):
        with pytest.raises(trtscope.TrtscopeError, match=message):
            trtscope.executorch.lower(methods)


def test_weights_that_are_used_outside_engines_too(tmp_path: Path) -> None:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.relu(self.layer(x))
            return torch.cond(x.sum() > 0, self.layer, lambda z: z + 1, (y,))

    model = Tied()
    path = lowered(tmp_path / "m.pte", model, torch.ones(2, 8), min_block_size=2)
    assert backends(path) == ["TensorRTBackend"]
    x = -torch.ones(2, 8)
    torch.testing.assert_close(trtscope.load(path)(x), model(x))


def test_parameters_that_ask_for_gradients_are_left_to_kernels(tmp_path: Path) -> None:
    model = Sequential(Linear(8, 4), ReLU())
    x = torch.randn(2, 8)
    edge = trtscope.executorch.lower(torch.export.export(model, (x,)))
    for name in ("m.pte", "again.pte"):
        path = trtscope.save(edge, tmp_path / name)
        assert backends(path) == []
        torch.testing.assert_close(trtscope.load(path)(x), model(x))


def test_an_operator_without_a_kernel_is_named(tmp_path: Path) -> None:
    class Shifts(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x << x)

    path = trtscope.save(
        torch.export.export(Shifts(), (torch.ones(2, dtype=torch.int64),)), tmp_path / "m.pte"
    )
    with pytest.raises(
        trtscope.PackageError,
        match=r"m\.pte: method 'forward' cannot be loaded: .* aten::__lshift__",
    ):
        trtscope.load(path)


def test_what_executorch_cannot_write_is_an_error_of_ours(tmp_path: Path) -> None:
    model = torch.nn.BatchNorm2d(3).train()
    program = torch.export.export(model, (torch.randn(2, 3, 4, 4),))
    with pytest.raises(trtscope.TrtscopeError, match=r"m\.pte: ExecuTorch cannot make a program"):
        trtscope.save(program, tmp_path / "m.pte")
    assert not list(tmp_path.iterdir())


def test_division_that_rounds_down_is_in_no_host_engine(tmp_path: Path) -> None:
    class Divides(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x) // 2 + x % 3 + torch.div(x, 2, rounding_mode="trunc")

    program = torch.export.export(Divides(), (torch.tensor([4, 5]),))
    edge = trtscope.executorch.lower(program, min_block_size=1, etrecord=False)
    path = trtscope.save(edge, tmp_path / "m.pte")
    (method,) = read_program(path).methods
    assert len(method.delegates) >= 1
    assert sum(op.startswith(("aten::floor_divide", "aten::div")) for op in method.operators) == 1
    assert sum(op.startswith("aten::remainder") for op in method.operators) == 1
