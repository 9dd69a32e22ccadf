from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import trtscope
from trtscope._inputs import InputCheck, describe_inputs

MISSING = object()


class Model(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, rows: torch.Tensor, *, scale: Any) -> Any:
        return (x + y.sum(0))[rows] * scale


def program(**changes: Any) -> Any:
    batch = Dim("batch", min=1, max=16)
    dims = {"x": {0: batch}, "y": {0: 2 * batch}, "rows": {0: Dim("n")}, "scale": None} | changes
    args = (torch.randn(3, 8), torch.randn(6, 8), torch.tensor([0, 2]))
    return torch.export.export(Model(), args, {"scale": torch.tensor(2.0)}, dynamic_shapes=dims)


@pytest.fixture(scope="module")
def record() -> list[dict[str, Any]]:
    made = describe_inputs(program(), None)
    assert made is not None
    return made


def call(**changes: Any) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that fit, but for the changed ones."""
    given = {
        "x": torch.zeros(4, 8),
        "y": torch.zeros(8, 8),
        "rows": torch.tensor([0, 1]),
        "scale": torch.tensor(1.0),
    } | changes
    given = {name: value for name, value in given.items() if value is not MISSING}
    return [given[n] for n in ("x", "y", "rows") if n in given], {
        k: v for k, v in given.items() if k not in ("x", "y", "rows")
    }


def test_the_record_says_what_the_code_takes(record: list[dict[str, Any]]) -> None:
    x, y, rows, scale = record
    assert x["bounds"] == [[1, 16], [8, 8]]
    assert y["dims"] == [f"2*{x['dims'][0]}", 8]
    assert (rows["dtype"], rows["bounds"], rows["values"]) == ("int64", [[0, None]], [0, 2])
    assert (scale["keyword"], scale["shape"], scale["device"]) == ("scale", [], "cpu")
    assert "values" not in x


def test_what_fits_passes(record: list[dict[str, Any]]) -> None:
    check = InputCheck("m.pt2", record)
    check(*call())
    check(*call(x=torch.zeros(1, 8), y=torch.zeros(2, 8)))
    check(*call(x=torch.zeros(16, 8), y=torch.zeros(32, 8)))
    # As a program with nested arguments is called.
    args, kwargs = call()
    check([tuple(args)], kwargs)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"x": torch.zeros(4, 8).double()},
            "input 'x' is float64[4, 8]; expected float32[1..16, 8]",
        ),
        ({"x": torch.zeros(8)}, "input 'x' is float32[8]; expected float32[1..16, 8]"),
        ({"x": torch.zeros(17, 8)}, "input 'x' is float32[17, 8]; expected float32[1..16, 8]"),
        ({"x": torch.zeros(0, 8)}, "input 'x' is float32[0, 8]; expected float32[1..16, 8]"),
        ({"x": torch.zeros(4, 9)}, "input 'x' is float32[4, 9]; expected float32[1..16, 8]"),
        ({"rows": 3}, "input 'rows' is of type int; expected a tensor, int64[0..]"),
        ({"rows": MISSING}, "got 2 inputs; expected 3: x, y, rows"),
        ({"scale": MISSING}, "got keywords none; expected 'scale'"),
        ({"other": torch.zeros(1)}, "got keywords 'scale', 'other'; expected 'scale'"),
        ({"scale": torch.zeros(1)}, "input 'scale' is float32[1]; expected float32[]"),
        ({"x": torch.zeros(4, 8, device="meta")}, "input 'x' is on meta; expected it on cpu"),
    ],
)
def test_what_does_not_fit_is_named(
    record: list[dict[str, Any]], changes: dict[str, Any], expected: str
) -> None:
    args, kwargs = call(**changes)
    with pytest.raises(trtscope.TrtscopeError) as error:
        InputCheck("m.pt2", record)(args, kwargs)
    assert str(error.value) == f"m.pt2: {expected}"


def test_a_call_like_an_accepted_one_is_still_told_from_others(
    record: list[dict[str, Any]],
) -> None:
    check = InputCheck("m.pt2", record)
    for _ in range(2):
        check(*call())
        for changes in (
            {"x": torch.zeros(4, 8).double()},
            {"x": torch.zeros(4, 9)},
            {"x": torch.zeros(4, 8, device="meta")},
            {"scale": MISSING},
            {"rows": MISSING},
            {"rows": None},
        ):
            with pytest.raises(trtscope.TrtscopeError):
                check(*call(**changes))
    # The same tensors, but one that has a keyword comes without it.
    args, kwargs = call()
    with pytest.raises(trtscope.TrtscopeError, match="got 4 inputs; expected 3"):
        check([*args, *kwargs.values()])


def test_sizes_that_depend_on_each_other_must_agree(record: list[dict[str, Any]]) -> None:
    symbol = record[0]["dims"][0]
    expected = f"'y' has size 7 in dimension 0; expected 8, which is 2*{symbol} with {symbol} = 4"
    with pytest.raises(trtscope.TrtscopeError) as error:
        InputCheck("m.pt2", record)(*call(y=torch.zeros(7, 8)))
    assert str(error.value) == f"m.pt2: input {expected}"
    same = copy.deepcopy(record)
    same[1]["dims"][0] = symbol
    with pytest.raises(trtscope.TrtscopeError) as error:
        InputCheck("m.pt2", same)(*call())
    assert str(error.value).endswith(
        "'y' has size 8 in dimension 0; expected 4, since it is the same size as dimension 0 of "
        "input 'x'"
    )


def test_a_size_that_export_left_open_may_be_one() -> None:
    class Double(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x * 2

    auto = torch.export.export(Double(), (torch.randn(3, 8),), dynamic_shapes=({0: Dim.AUTO},))
    made = describe_inputs(auto, None)
    assert made is not None
    assert made[0]["bounds"][0] == [2, None]
    InputCheck("m.pt2", made)([torch.zeros(1, 8)])


def test_records_of_earlier_releases_are_read(record: list[dict[str, Any]]) -> None:
    old = [{k: v for k, v in e.items() if k not in ("dims", "device")} for e in record]
    check = InputCheck("m.pt2", old)
    check(*call(y=torch.zeros(7, 8)))
    with pytest.raises(trtscope.TrtscopeError, match="input 'x' is float32"):
        check(*call(x=torch.zeros(17, 8)))


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "no_such_type"},
        {"dtype": "nn"},
        {"bounds": [[1, 2]]},
        {"bounds": 3},
        {"dims": ["a", "b", "c"]},
        {"values": []},
    ],
)
def test_malformed_records_are_refused(record: list[dict[str, Any]], change: Any) -> None:
    with pytest.raises(trtscope.PackageError, match="its record of inputs is malformed"):
        InputCheck("m.pt2", [{**record[0], **change}])


def test_unusual_values_are_a_sentence(record: list[dict[str, Any]]) -> None:
    check = InputCheck("m.pt2", record)
    assert check.unusual_values(*call(rows=torch.tensor([2, 0, 1]))) is None
    assert check.unusual_values(*call(rows=torch.zeros(0, dtype=torch.int64))) is None
    assert check.unusual_values(*call(rows=torch.tensor([-1, 3]))) == (
        "m.pt2: input 'rows' holds values from -1 to 3; those it was saved with are from 0 to 2"
    )
    with pytest.raises(trtscope.TrtscopeError, match="got 2 inputs"):
        check.unusual_values(*call(rows=MISSING))


def test_typical_inputs_keep_the_keywords_and_must_fit() -> None:
    args, kwargs = call()
    made = describe_inputs(program(), [*args, *kwargs.values()])
    assert made is not None
    assert [e["keyword"] for e in made] == [None, None, None, "scale"]
    assert made[0]["shape"] == [4, 8]
    wrong = [torch.zeros(17, 8), *args[1:], *kwargs.values()]
    with pytest.raises(trtscope.TrtscopeError, match="inputs for the record: input 'x' is float32"):
        describe_inputs(program(), wrong)


def test_a_loaded_package_refuses_before_its_code_runs(tmp_path: Path) -> None:
    class Linear(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> Any:
            return self.inner(x) * 2

    exported = torch.export.export(
        Linear().eval(),
        (torch.randn(3, 8),),
        dynamic_shapes=({0: Dim("batch", min=1, max=16)},),
    )
    compiled = trtscope.compile(exported, engine_modules=["inner"])
    runner = trtscope.load(trtscope.save(compiled, tmp_path / "m.pt2"))
    assert runner(torch.zeros(16, 8)).shape == (16, 8)
    for wrong in (torch.zeros(3, 8).half(), torch.zeros(8), torch.zeros(17, 8)):
        with pytest.raises(trtscope.TrtscopeError, match="input 'x' is float"):
            runner(wrong)
    with pytest.raises(trtscope.TrtscopeError, match="got 0 inputs; expected 1: x"):
        runner()


def test_saving_where_no_folder_can_be_made_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder, reason in ((tmp_path / "file", "it is a file"), (Path("/proc/zz"), "No such file")):
        with pytest.raises(trtscope.TrtscopeError, match=f"cannot make the folder .*{reason}"):
            trtscope.save(program(), folder / "x.pt2")
    (tmp_path / "x.pt2").mkdir()
    with pytest.raises(trtscope.TrtscopeError, match=r"x\.pt2 is a folder"):
        trtscope.save(program(), tmp_path / "x.pt2")
