from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import trtscope
from trtscope import _libraries
from trtscope._fake import execute_engine_fake
from trtscope._graph import expression
from trtscope._metadata import Metadata, TensorSpec
from trtscope._state import EngineState


@pytest.fixture(scope="module")
def engine() -> trtscope.Engine:
    """Of x [1..16, 8]: y, of the same shape, and z, of twice the rows.  It does nothing."""
    plan = {
        "inputs": [{"name": "x", "shape": [-1, 8], "min": [1, 8], "max": [16, 8]}],
        "outputs": [
            {"name": "y", "like": 0},
            {"name": "z", "shape": [-1, 8], "data_dependent": [10, 8], "dtype": "float64"},
        ],
    }
    metadata = Metadata(
        inputs=(TensorSpec("x", "float32", ("s0", 8)),),
        outputs=(
            TensorSpec("y", "float32", ("s0", 8)),
            TensorSpec("z", "float64", ("2*s0", 8)),
        ),
        symbols={"s0": (1, 16)},
    )
    return trtscope.Engine.from_state(
        EngineState(
            name="nothing",
            plan=b"null" + json.dumps(plan).encode(),
            input_names=("x",),
            output_names=("y", "z"),
            metadata=metadata.to_json(),
            output_allocator=True,
        )
    )


def test_fake_gives_shapes_and_dtypes_without_running(engine: trtscope.Engine) -> None:
    with FakeTensorMode():
        y, z = torch.ops.tensorrt.execute_engine([torch.empty(5, 8)], engine.script_object)
    assert (tuple(y.shape), y.dtype) == ((5, 8), torch.float32)
    assert (tuple(z.shape), z.dtype) == ((10, 8), torch.float64)


def test_fake_agrees_with_the_real_operator(engine: trtscope.Engine) -> None:
    x = torch.randn(5, 8)
    real = engine(x)
    with FakeTensorMode() as mode:
        fake = execute_engine_fake([mode.from_tensor(x)], engine.script_object)
    assert [(t.shape, t.dtype, t.stride()) for t in real] == [
        (t.shape, t.dtype, t.stride()) for t in fake
    ]


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
    with pytest.raises(trtscope.TrtscopeError, match="engine 'nothing': got 2 inputs"):
        execute_engine_fake([torch.empty(3, 8), torch.empty(1)], engine.script_object)


def test_engines_of_other_exporters_say_so(engine: trtscope.Engine) -> None:
    foreign = trtscope.Engine.from_state(
        dataclasses.replace(engine.state(), metadata="gASVDAAAA", name="theirs")
    )
    with pytest.raises(trtscope.TrtscopeError, match="engine 'theirs' was exported by another"):
        execute_engine_fake([torch.empty(3, 8)], foreign.script_object)
    assert foreign(torch.zeros(2, 8))[0].shape == (2, 8)


def test_registering_twice_is_harmless() -> None:
    assert _libraries.load_torch() is _libraries.load_torch()
