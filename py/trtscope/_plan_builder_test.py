from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import trtscope
from trtscope._builders.base import BuildRequest
from trtscope._builders.plan import PlanBuilder

NULL_PLAN = (
    b"null"
    + json.dumps(
        {
            "inputs": [{"name": "in", "dtype": "float32", "shape": [-1, 8]}],
            "outputs": [{"name": "out", "dtype": "float32", "shape": [-1, 8], "like": 0}],
            "layers": 2,
        }
    ).encode()
)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> Any:
        return self.second(torch.relu(self.first(x)))


def exported() -> Any:
    return torch.export.export(Model().eval(), (torch.randn(2, 8),))


def builder(**changes: Any) -> PlanBuilder:
    return PlanBuilder(
        changes.pop("plan", NULL_PLAN), **{"inputs": ["in"], "outputs": ["out"]} | changes
    )


def test_a_module_becomes_the_given_plan(tmp_path: Path) -> None:
    file = tmp_path / "first.plan"
    file.write_bytes(NULL_PLAN)
    program = trtscope.compile(exported(), engine=builder(plan=file), engine_modules=["first"])
    (engine,) = [o for o in program.constants.values() if isinstance(o, torch.ScriptObject)]
    state = trtscope.Engine(engine).state()
    assert state.plan == NULL_PLAN
    assert (state.input_names, state.output_names) == (("in",), ("out",))
    trtscope.save(program, tmp_path / "m.pt2")
    runner = trtscope.load(tmp_path / "m.pt2")
    with trtscope.profile(dir=tmp_path / "traces") as profile:
        assert runner(torch.randn(2, 8)).shape == (2, 8)
    assert [row["calls"] for row in profile.timing()] == [1]


def test_a_plan_in_a_pte(tmp_path: Path) -> None:
    import trtscope.executorch

    edge = trtscope.executorch.lower(exported(), engine=builder(), min_block_size=1)
    path = tmp_path / "m.pte"
    trtscope.save(edge, path)
    assert NULL_PLAN in path.read_bytes()
    assert trtscope.load(path)(torch.randn(2, 8)).shape == (2, 8)


@pytest.mark.parametrize(
    ("changes", "modules", "message"),
    [
        ({"inputs": ["in", "in"]}, ["first"], r"2 inputs \(in, in\), the region has 1: .*float32"),
        ({"outputs": []}, ["first"], r"0 outputs \(\), the region has 1"),
        ({}, ["first", "second"], "one plan stands for one region"),
        ({"region": "decoder*"}, ["first"], r"plan is for 'decoder\*'"),
    ],
)
def test_what_does_not_fit_is_said(
    changes: dict[str, Any], modules: list[str], message: str
) -> None:
    with pytest.raises(trtscope.CompileError, match=message):
        trtscope.compile(exported(), engine=builder(**changes), engine_modules=modules)


@pytest.mark.parametrize("what", ["inputs", "outputs"])
def test_names_are_a_list_of_strings(what: str) -> None:
    for names in ("in", [1]):
        with pytest.raises(trtscope.CompileError, match=f"{what}=.*: expected a list of names"):
            builder(**{what: names})


def test_names_that_the_plan_does_not_have_are_refused() -> None:
    with pytest.raises(trtscope.CompileError, match=r"plan has no inputs 'in_x'; it has 'in'"):
        builder(inputs=["in_x"])
    with pytest.raises(trtscope.CompileError, match=r"plan has no outputs 'y'; it has 'out'"):
        builder(outputs=["y"])


def test_names_of_a_host_plan_are_checked_as_well() -> None:
    from trtscope.builders import HostBuilder

    program = trtscope.compile(exported(), engine=HostBuilder(), engine_modules=["first"])
    (engine,) = [o for o in program.constants.values() if isinstance(o, torch.ScriptObject)]
    state = trtscope.Engine(engine).state()
    PlanBuilder(state.plan, inputs=state.input_names, outputs=state.output_names)
    with pytest.raises(trtscope.CompileError, match=r"plan has no inputs 'other'"):
        PlanBuilder(state.plan, inputs=["other"], outputs=state.output_names)


def test_files_that_are_no_plans(tmp_path: Path) -> None:
    with pytest.raises(trtscope.CompileError, match=r"cannot read plan .*none.plan"):
        builder(plan=tmp_path / "none.plan")
    with pytest.raises(trtscope.CompileError, match="plan: "):
        builder(plan=b"nothing that is a plan")


def test_a_tensorrt_plan_that_is_cut_short_says_what_was_expected() -> None:
    plan = b"ftrt" + bytes(20) + bytes([8, 6, 0, 12]) + bytes(36)
    with pytest.raises(trtscope.CompileError, match=r"it has 64 octets; its header .* takes 136"):
        builder(plan=plan)


def test_the_device_of_a_tensorrt_plan() -> None:
    plan = bytearray(b"ftrt" + bytes(20) + bytes([8, 6, 0, 12]) + bytes(108))
    struct.pack_into("<i", plan, 124, 9)
    struct.pack_into("<i", plan, 132, 0)
    module = nn.Linear(8, 8)
    program = torch.export.export(module, (torch.randn(2, 8),))
    from trtscope._metadata import Metadata, TensorSpec

    spec = TensorSpec("x", "float32", (2, 8))
    built = builder(plan=bytes(plan)).build(
        BuildRequest("e", program, Metadata(inputs=(spec,), outputs=(spec,)))
    )
    assert built.device == "0%9%0%0%SM 9.0"
    assert built.builder_version == "tensorrt 8.6.0.12"
