from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, ExportedProgram

import trtscope
from trtscope._metadata import Metadata
from trtscope.builders import EngineBuilder, HostBuilder, get_builder, register_builder


class Block(nn.Module):
    shift: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.register_buffer("shift", torch.randn(8))

    def forward(self, x: torch.Tensor) -> Any:
        return torch.relu(self.linear(x)) + self.shift


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x: torch.Tensor) -> Any:
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return x


BATCH = {0: Dim("batch", min=1, max=16)}


def export(model: nn.Module, *args: torch.Tensor, shapes: Any = None) -> ExportedProgram:
    return torch.export.export(model.eval(), args, dynamic_shapes=shapes)


def calls(program: ExportedProgram) -> list[torch.fx.Node]:
    target = torch.ops.tensorrt.execute_engine.default
    return [n for n in program.graph.nodes if n.target is target]


def states(program: ExportedProgram) -> list[trtscope.EngineState]:
    return [
        trtscope.Engine(obj).state()
        for obj in program.constants.values()
        if isinstance(obj, torch.ScriptObject)
    ]


def check_same(compiled: ExportedProgram, model: nn.Module, *inputs: torch.Tensor) -> None:
    with torch.no_grad():
        got, expected = compiled.module()(*inputs), model(*inputs)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


def test_the_whole_model_becomes_one_engine() -> None:
    model = Model()
    compiled = trtscope.compile(export(model, torch.randn(3, 8), shapes=(BATCH,)))
    assert len(calls(compiled)) == 1
    (state,) = states(compiled)
    assert state.name == "_run_on_acc_0_engine"
    # All parameters are in the plan.
    assert compiled.state_dict == {}
    for rows in (1, 3, 16):
        check_same(compiled, model, torch.randn(rows, 8))


def test_modules_become_engines_and_the_rest_stays() -> None:
    model = Model()
    program = export(model, torch.randn(3, 8), shapes=(BATCH,))
    compiled = trtscope.compile(program, engine_modules=["blocks.*"])
    assert [s.name for s in states(compiled)] == ["blocks.0", "blocks.1"]
    assert set(compiled.state_dict) == {"first.weight", "first.bias"}
    check_same(compiled, model, torch.randn(5, 8))
    # The given program is as it was.
    assert "blocks.0.linear.weight" in program.state_dict
    assert not calls(program)


def test_metadata_keeps_dimensions_symbolic() -> None:
    compiled = trtscope.compile(export(Model(), torch.randn(3, 8), shapes=(BATCH,)))
    metadata = Metadata.from_json(states(compiled)[0].metadata)
    assert metadata is not None
    (bounds,) = metadata.symbols.values()
    assert bounds == (1, 16)
    assert metadata.builder == "host"
    assert metadata.builder_version.startswith("executorch ")
    item = next(n for n in compiled.graph.nodes if n.target is operator.getitem)
    assert isinstance(item.meta["val"].shape[0], torch.SymInt)


def test_inputs_outside_their_bounds_are_refused_by_name() -> None:
    compiled = trtscope.compile(export(Model(), torch.randn(3, 8), shapes=(BATCH,)))
    (obj,) = (o for o in compiled.constants.values() if isinstance(o, torch.ScriptObject))
    with pytest.raises(RuntimeError, match=r"_run_on_acc_0_engine.*17"):
        trtscope.Engine(obj)(torch.randn(17, 8))


def test_in_place_operators_are_made_functional() -> None:
    class InPlace(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            y = x * 2
            y += 1
            y.relu_()
            return y

    model = InPlace()
    compiled = trtscope.compile(export(model, torch.randn(3, 8)), min_block_size=1)
    check_same(compiled, model, torch.randn(3, 8))


def test_several_inputs_outputs_and_dtypes() -> None:
    class Many(nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor, b: torch.Tensor) -> Any:
            return x.half() + 1, i * 2, torch.where(b, x, -x), x.transpose(0, 1) * 2, i.float()

    model = Many()
    inputs = (torch.randn(3, 4), torch.arange(3), torch.rand(3, 4) > 0.5)
    compiled = trtscope.compile(export(model, *inputs), min_block_size=1)
    assert calls(compiled)
    check_same(compiled, model, *inputs)


def test_outputs_that_are_views_and_repeats() -> None:
    class Views(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            y = x + 1
            return y, y.view(-1), y.transpose(0, 1), x.view(4, 6)

    model = Views()
    compiled = trtscope.compile(export(model, torch.randn(6, 4)), min_block_size=1)
    check_same(compiled, model, torch.randn(6, 4))


def test_state_that_calls_change_stays_in_torch() -> None:
    class Counter(nn.Module):
        count: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(8))

        def forward(self, x: torch.Tensor) -> Any:
            self.count += 1
            return (x * 2 + self.count).relu()

    model = Counter()
    compiled = trtscope.compile(export(model, torch.randn(3, 8)), min_block_size=1)
    module = compiled.module()
    x = torch.randn(3, 8)
    torch.testing.assert_close(module(x), (x * 2 + 1).relu())
    torch.testing.assert_close(module(x), (x * 2 + 2).relu())


def test_keyword_inputs_and_structured_outputs() -> None:
    class Structured(nn.Module):
        def forward(self, x: torch.Tensor, *, scale: torch.Tensor) -> Any:
            return {"y": [x * scale, (x + scale,)]}

    model = Structured()
    x, scale = torch.randn(3, 8), torch.randn(8)
    program = torch.export.export(model, (x,), {"scale": scale})
    compiled = trtscope.compile(program, min_block_size=1)
    got, expected = compiled.module()(x, scale=scale), model(x, scale=scale)
    torch.testing.assert_close(got["y"][0], expected["y"][0])
    torch.testing.assert_close(got["y"][1][0], expected["y"][1][0])


def test_a_compiled_program_can_be_exported_again() -> None:
    model = Model()
    compiled = trtscope.compile(
        export(model, torch.randn(3, 8), shapes=(BATCH,)), engine_modules=["blocks.*"]
    )
    again = torch.export.export(
        compiled.module(), (torch.randn(4, 8),), dynamic_shapes=(BATCH,), strict=False
    )
    assert len(calls(again)) == 2
    check_same(again, model, torch.randn(9, 8))


def test_a_compiled_program_is_saved_and_loaded_by_torch(tmp_path: Path) -> None:
    model = Model()
    compiled = trtscope.compile(
        export(model, torch.randn(3, 8), shapes=(BATCH,)), engine_modules=["blocks.*"]
    )
    path = tmp_path / "program.pt2"
    torch.export.save(compiled, path)
    package = trtscope.read_package(path)
    assert package.kind == "export"
    assert [e.state.name for e in package.engines if e.state] == ["blocks.0", "blocks.1"]
    with pytest.raises(trtscope.PackageError, match="an exported program, not a compiled one"):
        trtscope.load(path)
    check_same(torch.export.load(path), model, torch.randn(9, 8))


def test_control_flow_stays_in_torch() -> None:
    class Choice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Block()

        def forward(self, x: torch.Tensor) -> Any:
            y = self.block(x)
            y = torch.cond(y.sum() > 4, lambda t: t + 1, lambda t: t * 2, (y,))
            return self.block(y)

    model = Choice()
    compiled = trtscope.compile(export(model, torch.randn(3, 8)), min_block_size=3)
    assert len(calls(compiled)) == 2
    for scale in (0.01, 10.0):
        check_same(compiled, model, torch.randn(3, 8) * scale)


def test_a_parameter_in_torch_and_in_an_engine_is_in_both() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Block()

        def forward(self, x: torch.Tensor) -> Any:
            return self.block(x) @ self.block.linear.weight

    model = Shared()
    compiled = trtscope.compile(export(model, torch.randn(3, 8)), engine_modules=["block"])
    assert set(compiled.state_dict) == {"block.linear.weight"}
    check_same(compiled, model, torch.randn(3, 8))


def test_names_of_builtins_are_kept() -> None:
    class Builtins(nn.Module):
        def forward(self, input: torch.Tensor, id: torch.Tensor) -> Any:
            return torch.relu(input + id), input.sum(0), id

    model = Builtins()
    program = export(model, torch.randn(3, 8), torch.randn(3, 8))
    compiled = trtscope.compile(program, min_block_size=2, torch_executed_ops=["aten.sum"])
    assert list(compiled.graph_signature.user_inputs) == ["input", "id"]
    check_same(compiled, model, torch.randn(3, 8), torch.randn(3, 8))


def test_compiling_twice_adds_engines() -> None:
    model = Model()
    program = export(model, torch.randn(3, 8), shapes=(BATCH,))
    once = trtscope.compile(program, engine_modules=["blocks.0"])
    twice = trtscope.compile(once, engine_modules=["blocks.1"])
    assert [s.name for s in states(twice)] == ["blocks.0", "blocks.1"]
    assert set(twice.state_dict) == {"first.weight", "first.bias"}
    for rows in (1, 7):
        check_same(twice, model, torch.randn(rows, 8))


def test_xnnpack() -> None:
    model = Model()
    program = export(model, torch.randn(3, 8), shapes=(BATCH,))
    compiled = trtscope.compile(program, engine=HostBuilder(xnnpack=True))
    for rows in (1, 16):
        check_same(compiled, model, torch.randn(rows, 8))


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda x: torch.fft.fft(x.cumsum(0)).abs().angle(), "dtype complex64 is not supported"),
        (lambda x: torch.bernoulli(x), "it is random"),
    ],
)
def test_what_cannot_be_lowered_is_named(model: Any, reason: str) -> None:
    class Wrapped(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return model(x)

    with pytest.raises(trtscope.CompileError, match=reason):
        trtscope.compile(
            export(Wrapped(), torch.rand(3, 8)),
            min_block_size=1,
            torch_executed_ops=["aten.cumsum", "aten.abs", "aten.angle"]
            if "complex" in reason
            else [],
        )


def test_a_dimension_without_upper_bound_is_refused() -> None:
    program = export(Model(), torch.randn(3, 8), shapes=({0: Dim("batch")},))
    with pytest.raises(trtscope.CompileError, match=r"no upper bound.*max=N"):
        trtscope.compile(program)


def test_wrong_arguments_are_named() -> None:
    program = export(Model(), torch.randn(3, 8))
    with pytest.raises(trtscope.CompileError, match="no engine builder 'cloud'; known: host"):
        trtscope.compile(program, engine="cloud")
    with pytest.raises(trtscope.CompileError, match="not a Model"):
        trtscope.compile(Model())  # type: ignore[arg-type]
    with pytest.raises(trtscope.CompileError, match="min_block_size is 0"):
        trtscope.compile(program, min_block_size=0)


def test_builders_plug_in_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from trtscope._builders import registry

    monkeypatch.setattr(registry, "_registered", {})

    @register_builder
    class Mine(HostBuilder):
        name = "mine"

    compiled = trtscope.compile(export(Model(), torch.randn(3, 8)), engine="mine")
    metadata = Metadata.from_json(states(compiled)[0].metadata)
    assert metadata is not None
    assert metadata.builder == "mine"
    assert isinstance(get_builder("host"), EngineBuilder)
