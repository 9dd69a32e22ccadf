from __future__ import annotations

import copy
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import trtscope
from trtscope._state import FIELD_NAMES, EngineState
from trtscope._testing import foreign_state


@pytest.fixture(scope="module")
def state() -> EngineState:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.relu(x) + 1

    program = torch.export.export(
        Model(), (torch.randn(3, 8),), dynamic_shapes=({0: Dim("batch", min=1, max=16)},)
    )
    compiled = trtscope.compile(program, min_block_size=1)
    (obj,) = (o for o in compiled.constants.values() if isinstance(o, torch.ScriptObject))
    return trtscope.Engine(obj).state()


def test_state_reads_back_and_runs(state: EngineState) -> None:
    engine = trtscope.Engine.from_state(state)
    assert engine.state() == state
    assert engine.name == "_run_on_acc_0_engine"
    assert engine.id.startswith("_run_on_acc_0_engine-")
    torch.testing.assert_close(engine(-torch.ones(2, 8))[0], torch.ones(2, 8))


def test_ids_are_stable_and_count_copies(state: EngineState) -> None:
    named = dataclasses.replace(state, name="copies")
    first, second = (trtscope.Engine.from_state(named) for _ in range(2))
    stem = first.id.removesuffix("-0")
    assert first.id == f"{stem}-0"
    assert second.id == f"{stem}-1"


def test_engines_copy_and_compare(state: EngineState) -> None:
    engine = trtscope.Engine.from_state(state)
    twin = trtscope.Engine(copy.deepcopy(engine.script_object))
    assert twin.state() == engine.state()
    torch.testing.assert_close(twin(torch.ones(1, 8)), engine(torch.ones(1, 8)))


def test_plan_file_becomes_an_engine(state: EngineState, tmp_path: Path) -> None:
    path = tmp_path / "relu.pte"
    path.write_bytes(state.plan)
    engine = trtscope.Engine.from_plan(path)
    assert engine.name == "relu"
    torch.testing.assert_close(engine(torch.ones(4, 8))[0], torch.full((4, 8), 2.0))

    class Wrapper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.engine = engine.script_object

        def forward(self, x: torch.Tensor) -> Any:
            return torch.ops.tensorrt.execute_engine([x], self.engine)[0] * 2

    program = torch.export.export(
        Wrapper(),
        (torch.ones(4, 8),),
        dynamic_shapes=({0: Dim("batch", min=1, max=16)},),
        strict=False,
    )
    torch.testing.assert_close(program.module()(torch.ones(9, 8)), torch.full((9, 8), 4.0))


def test_plans_with_data_dependent_outputs_can_be_exported() -> None:
    plan = {
        "inputs": [{"name": "x", "shape": [-1, 8], "min": [1, 8], "max": [16, 8]}],
        "outputs": [{"name": "z", "shape": [-1, 2], "data_dependent": [5, 2]}],
    }
    engine = trtscope.Engine.from_plan(b"null" + json.dumps(plan).encode(), name="picks")
    assert engine.state().output_allocator
    assert engine(torch.ones(3, 8))[0].shape == (5, 2)

    class Wrapper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.engine = engine.script_object

        def forward(self, x: torch.Tensor) -> Any:
            return torch.ops.tensorrt.execute_engine([x], self.engine)[0].new_ones(3)

    program = torch.export.export(Wrapper(), (torch.ones(4, 8),), strict=False)
    call = next(n for n in program.graph.nodes if "execute_engine" in str(n.target))
    assert str(call.meta["val"][0].shape[0]).startswith("u")
    torch.testing.assert_close(program.module()(torch.ones(4, 8)), torch.ones(3))


def test_octets_become_an_engine(state: EngineState) -> None:
    engine = trtscope.Engine.from_plan(state.plan, name="octets")
    assert engine.name == "octets"


def test_a_missing_or_foreign_plan_says_so(tmp_path: Path) -> None:
    with pytest.raises(trtscope.TrtscopeError, match=r"cannot read plan .*No such file"):
        trtscope.Engine.from_plan(tmp_path / "none.plan")
    with pytest.raises(trtscope.TrtscopeError, match="'junk'"):
        trtscope.Engine.from_plan(b"nothing that is a plan", name="junk")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"target_platform": "windows_x86_64"}, "windows_x86_64"),
        ({"plan": b"no plan at all, but long enough"}, "theirs"),
        ({"plan": b""}, "plan"),
        ({"output_names": ()}, "output"),
        ({"device": "cuda"}, "device"),
    ],
)
def test_states_that_cannot_load_name_engine_and_field(
    state: EngineState, change: dict[str, Any], expected: str
) -> None:
    with pytest.raises(trtscope.TrtscopeError) as error:
        trtscope.Engine.from_state(dataclasses.replace(state, name="theirs", **change))
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([1, 2], "item 0 is of type int; expected a string"),
        (["10", None], "item 1 is of type NoneType; expected a string"),
        ("10", "is of type str; expected an EngineState or a list of strings"),
        (None, "is of type NoneType; expected an EngineState or a list of strings"),
    ],
)
def test_what_is_no_list_of_strings_is_no_state(fields: Any, expected: str) -> None:
    with pytest.raises(trtscope.TrtscopeError, match=expected):
        trtscope.Engine.from_state(fields)


def test_torch_sees_the_fields_of_an_engine_by_name(state: EngineState) -> None:
    engine = trtscope.Engine.from_state(state)
    flat = engine.script_object.__obj_flatten__()
    # What torch's tracing hashes and compares: all of the state, named as _state.py names it.
    assert flat == list(zip(FIELD_NAMES, state.to_list(), strict=True))
    other = trtscope.Engine.from_state(dataclasses.replace(state, name="other"))
    assert [a for a, b in zip(flat, other.script_object.__obj_flatten__(), strict=True) if a != b]


def test_outputs_allocated_ahead_are_right_and_nobody_elses(state: EngineState) -> None:
    engine = trtscope.Engine.from_state(state)
    assert engine.script_object.use_pre_allocated_outputs is False
    engine.script_object.use_pre_allocated_outputs = True
    assert engine.script_object.use_pre_allocated_outputs is True
    # Each call allocates for the next one: by the second, a tensor waits; by the fourth, one that
    # has the wrong shape and must not be used.
    kept = [engine(torch.full((rows, 8), float(i)))[0] for i, rows in enumerate((2, 2, 2, 5, 5))]
    assert len({tensor.data_ptr() for tensor in kept}) == len(kept)
    for i, (tensor, rows) in enumerate(zip(kept, (2, 2, 2, 5, 5), strict=True)):
        torch.testing.assert_close(tensor, torch.full((rows, 8), float(i) + 1))
    with pytest.raises(RuntimeError, match=r"expected a shape from \[1, 8\] to \[16, 8\]"):
        engine(torch.ones(17, 8))
    engine.script_object.use_pre_allocated_outputs = False
    torch.testing.assert_close(engine(torch.ones(5, 8))[0], torch.full((5, 8), 2.0))


def test_an_engine_of_another_machine_is_refused() -> None:
    with pytest.raises(trtscope.TrtscopeError, match="linux_aarch64"):
        trtscope.Engine.from_state(foreign_state())


CLASH = """
import torch
library = torch.library.Library("tensorrt", "DEF")
library.define("execute_engine(Tensor[] inputs, int engine) -> Tensor[]")
import trtscope
try:
    trtscope.load_torch = trtscope._libraries.load_torch()
except ImportError as error:
    print("refused:", error)
"""


def test_another_library_with_these_names_is_one_clear_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import trtscope._libraries\n" + CLASH],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("refused: trtscope cannot be loaded into this process")
    assert done.stdout.count("\n") == 1


def test_the_other_library_after_ours_is_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / "torch_tensorrt").mkdir()
    (tmp_path / "torch_tensorrt" / "__init__.py").write_text("raise SystemExit(7)\n")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import trtscope
trtscope.load_library()
try:
    import torch_tensorrt
except ImportError as error:
    print("refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "refused: torch_tensorrt cannot be imported into this process: trtscope has already "
        "registered torch.ops.tensorrt; load one of the two\n"
    )
