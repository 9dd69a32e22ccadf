from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import trtscope
from trtscope import _libraries
from trtscope._fake import execute_engine_fake
from trtscope._graph import expression


@pytest.fixture(scope="module")
def engine() -> trtscope.Engine:
    """y = relu(x) + 1 of x [1..16, 8], and the rows of x doubled."""

    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.relu(x) + 1, torch.cat([x, x]).to(torch.float64)

    program = torch.export.export(
        Model(), (torch.randn(3, 8),), dynamic_shapes=({0: Dim("batch", min=1, max=16)},)
    )
    compiled = trtscope.compile(program, min_block_size=1)
    (obj,) = (o for o in compiled.constants.values() if isinstance(o, torch.ScriptObject))
    return trtscope.Engine(obj)


def test_fake_gives_shapes_and_dtypes_without_running(engine: trtscope.Engine) -> None:
    with FakeTensorMode():
        y, z = torch.ops.tensorrt.execute_engine([torch.empty(5, 8)], engine.script_object)
    assert (tuple(y.shape), y.dtype) == ((5, 8), torch.float32)
    assert (tuple(z.shape), z.dtype) == ((10, 8), torch.float64)


def test_fake_agrees_with_the_real_operator(engine: trtscope.Engine) -> None:
    x = torch.randn(7, 8)
    real = engine(x)
    with FakeTensorMode() as mode:
        fake = execute_engine_fake([mode.from_tensor(x)], engine.script_object)
    assert [(t.shape, t.dtype, t.stride()) for t in real] == [
        (t.shape, t.dtype, t.stride()) for t in fake
    ]
    torch.testing.assert_close(real[0], torch.relu(x) + 1)


def test_symbols_flow_through(engine: trtscope.Engine) -> None:
    from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

    mode = FakeTensorMode(shape_env=ShapeEnv())
    context: Any = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.STATIC])
    x = mode.from_tensor(torch.randn(3, 8), symbolic_context=context)
    with mode:
        y, z = execute_engine_fake([x], engine.script_object)
    assert y.shape[0] == x.shape[0]
    assert expression(z.shape[0]) == 2 * expression(x.shape[0])


def test_wrong_inputs_name_the_engine(engine: trtscope.Engine) -> None:
    with pytest.raises(trtscope.TrtscopeError, match=r"_run_on_acc_0_engine.*got 2 inputs"):
        execute_engine_fake([torch.empty(3, 8), torch.empty(1)], engine.script_object)


def test_engines_of_other_exporters_say_so(engine: trtscope.Engine) -> None:
    foreign = trtscope.Engine.from_state(
        dataclasses.replace(engine.state(), metadata="gASVDAAAA", name="theirs")
    )
    with pytest.raises(trtscope.TrtscopeError, match="engine 'theirs' was exported by another"):
        execute_engine_fake([torch.empty(3, 8)], foreign.script_object)
    torch.testing.assert_close(foreign(torch.zeros(2, 8))[0], torch.ones(2, 8))


def test_registering_twice_is_harmless() -> None:
    assert _libraries.load_torch() is _libraries.load_torch()
