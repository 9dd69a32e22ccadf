from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trtscope._errors import PackageError
from trtscope._metadata import Metadata, TensorSpec, evaluate

METADATA = Metadata(
    inputs=(TensorSpec("x", "float32", ("s0", 8)), TensorSpec("y", "int64", ("s0", "s1"))),
    outputs=(TensorSpec("z", "float32", ("2*s0 + s1", 4, "s1 // 2")),),
    symbols={"s0": (1, 16), "s1": (0, None)},
    builder="host",
    builder_version="executorch 1.5.1",
)


def test_json_reads_back() -> None:
    assert Metadata.from_json(METADATA.to_json()) == METADATA


def test_output_shapes_follow_inputs() -> None:
    assert METADATA.output_shapes([(3, 8), (3, 5)]) == [[11, 4, 2]]


def test_dimensions_that_only_running_tells() -> None:
    metadata = Metadata(
        inputs=METADATA.inputs,
        outputs=(TensorSpec("z", "int64", (None, 4, "s0")),),
        symbols=METADATA.symbols,
    )
    assert Metadata.from_json(metadata.to_json()) == metadata
    assert metadata.output_shapes([(3, 8), (3, 5)], lambda: "?") == [["?", 4, 3]]


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(PackageError, match="got 1 inputs, expected 2"):
        METADATA.output_shapes([(3, 8)])
    with pytest.raises(PackageError, match="input 'y' has 3 dimensions, expected 2"):
        METADATA.output_shapes([(3, 8), (3, 5, 1)])


@pytest.mark.parametrize("text", ["", "gASVAAAA", "[1]", '{"inout_symexprs": {}}', "null"])
def test_metadata_of_other_exporters_is_none(text: str) -> None:
    assert Metadata.from_json(text) is None


@pytest.mark.parametrize(
    "change",
    [
        {"trtscope": 2},
        {"inputs": 3},
        {"symbols": {"s0": [1]}},
        {"outputs": [{"name": "z", "dtype": "float32", "shape": [1.5]}]},
        {"outputs": [{"name": "z"}]},
    ],
)
def test_malformed_metadata_of_ours_is_an_error(change: dict[str, Any]) -> None:
    data = json.loads(METADATA.to_json()) | change
    with pytest.raises(PackageError):
        Metadata.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("s0", 7),
        ("2*s0 - 3", 11),
        ("(s0 + 1) // 2", 4),
        ("s0 % 4", 3),
        ("s0**2", 49),
        ("max(4, s0)", 7),
        ("min(s0, s1, 5)", 3),
        ("(-1)*s0 + 10", 3),
        ("-s0", -7),
    ],
)
def test_arithmetic(text: str, value: int) -> None:
    assert evaluate(text, {"s0": 7, "s1": 3}) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "s0.real",
        "[s0]",
        "s0 if s0 else 1",
        "9**9**9**9",
        "s0**s0",
        "1.5*s0",
        "missing + 1",
        "max()",
        "abs(s0)",
        "s0 +",
        "(" * 500,
        "\0",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(PackageError):
        evaluate(text, {"s0": 7})


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        Metadata.from_json(text)
        evaluate(text, {"s0": 3})
    except PackageError:
        pass
