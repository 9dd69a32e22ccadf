from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import trtscope
from trtscope._profile import engine_rows, layer_rows
from trtscope._testing import null_engine


@pytest.fixture(scope="module")
def engine() -> trtscope.Engine:
    """Does nothing, in three layers."""
    return null_engine("nothing", layers=3)[0]


def row_of(p: trtscope.profile, engine: trtscope.Engine) -> dict[str, Any]:
    (row,) = (r for r in p.timing() if r["engine"] == engine.id)
    return row


def test_calls_phases_and_layers_are_counted(engine: trtscope.Engine, tmp_path: Path) -> None:
    x = torch.randn(3, 8)
    engine(x)  # before: not counted
    with trtscope.profile(level="layers", dir=tmp_path) as p:
        for _ in range(5):
            engine(x)
        assert row_of(p, engine)["calls"] == 5
    engine(x)  # after: not counted
    row = row_of(p, engine)
    assert (row["calls"], row["errors"]) == (5, 0)
    assert 0 < row["enqueue_ms"] <= row["total_ms"]
    assert 0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"] * 1.02
    layers = [r for r in p.layers() if r["engine"] == engine.id]
    assert len(layers) == 3
    assert [r["position"] for r in layers] == list(range(len(layers)))
    assert {r["count"] for r in layers} == {5}
    assert engine.id in p.table()
    assert p.files()
    assert all(f.parent == tmp_path and f.is_file() for f in p.files())


def test_phases_leave_layers_out(engine: trtscope.Engine, tmp_path: Path) -> None:
    with trtscope.profile(level="phases", dir=tmp_path) as p:
        engine(torch.randn(3, 8))
    assert row_of(p, engine)["enqueue_ms"] > 0
    assert not [r for r in p.layers() if r["engine"] == engine.id]


def test_settings_are_as_before(engine: trtscope.Engine, tmp_path: Path) -> None:
    trtscope.set_profile_path_prefix(tmp_path / "before")
    trtscope.set_profile_filter("before*")
    before = trtscope.profile_config()
    error = ValueError("from inside")

    def fail() -> None:
        with trtscope.profile(level="layers", dir=tmp_path / "in", format="trex", filter="x*"):
            inside = trtscope.profile_config()
            assert inside["level"] == "layers"
            assert inside["format"] == "trex"
            assert inside["filter"] == "x*"
            assert inside["path_prefix"] == str(tmp_path / "in")
            raise error

    try:
        with pytest.raises(ValueError, match="from inside"):
            fail()
        after = trtscope.profile_config()
        assert after.pop("generation") > before.pop("generation")
        assert after == before
    finally:
        trtscope.set_profile_filter("*")


def test_a_setting_that_is_refused_changes_nothing() -> None:
    before = trtscope.profile_config()
    changes: list[dict[str, Any]] = [
        {"level": "everything"},
        {"format": "svg"},
        {"filter": ""},
        {"filter": "a\0b"},  # must not become "a"
        {"level": "layers\0"},
        {"dir": "/tmp/a\0b"},
    ]
    for change in changes:
        with (
            pytest.raises(trtscope.TrtscopeError),
            trtscope.profile(**change),
        ):
            pytest.fail("the block ran")
    after = trtscope.profile_config()
    for config in (before, after):
        del config["generation"]
    assert after == before


def test_filter_narrows(engine: trtscope.Engine, tmp_path: Path) -> None:
    with trtscope.profile(level="phases", dir=tmp_path, filter="no_such_engine*") as p:
        engine(torch.randn(3, 8))
    assert not [r for r in p.timing() if r["engine"] == engine.id and r["calls"]]


def test_an_engines_own_setting_wins(engine: trtscope.Engine, tmp_path: Path) -> None:
    engine.disable_profiling()
    try:
        with trtscope.profile(level="phases", dir=tmp_path) as p:
            engine(torch.randn(3, 8))
            assert not [r for r in p.timing() if r["engine"] == engine.id and r["calls"]]
            engine.reset_profiling()
            engine(torch.randn(3, 8))
        assert row_of(p, engine)["calls"] == 1
    finally:
        engine.reset_profiling()


def test_failed_calls_are_counted_as_errors(engine: trtscope.Engine, tmp_path: Path) -> None:
    with trtscope.profile(level="phases", dir=tmp_path) as p:
        engine(torch.randn(3, 8))
        with pytest.raises(RuntimeError, match=r"nothing.*x.*9"):
            engine(torch.randn(3, 9))
    row = row_of(p, engine)
    assert row["errors"] == 1


def test_a_block_cannot_be_entered_twice_at_once(tmp_path: Path) -> None:
    with (
        trtscope.profile(level="delegate", dir=tmp_path) as p,
        pytest.raises(RuntimeError, match="active already"),
        p,
    ):
        pytest.fail("the block ran")


def test_operators_and_functions_are_one_configuration() -> None:
    ops = torch.ops.tensorrt
    before = trtscope.get_profile_level()
    try:
        ops.set_profile_level("delegate")
        assert trtscope.get_profile_level() == "delegate"
        trtscope.set_profile_level("off")
        assert ops.get_profile_level() == "off"
        assert ops.get_profile_execution() is False
        trtscope.set_profile_execution(True)
        assert ops.get_profile_level() == "layers"
        assert trtscope.get_profile_execution() is True
        trtscope.set_profile_level("phases")
        trtscope.set_profile_execution(True)
        assert ops.get_profile_level() == "phases"
        trtscope.set_profile_execution(False)
        assert ops.get_profile_level() == "off"
        assert json.loads(ops.engine_timing())["config"]["level"] == "off"
    finally:
        trtscope.set_profile_level(before)


SUMMARY = {
    "count": 4,
    "total_ns": 8_000_000,
    "min_ns": 1_000_000,
    "max_ns": 3_000_000,
    "p50_ns": 2_000_000,
    "p90_ns": 2_500_000,
    "p99_ns": 3_000_000,
}
TIMING = {
    "engines": [
        {
            "id": "e-0-0",
            "name": "e",
            "implementation": "host",
            "runtime": "torch",
            "calls": 4,
            "errors": 0,
            "phases": {"total": SUMMARY, "inputs": SUMMARY},
            "layers": [{"name": "same", **SUMMARY}, {"name": "same", **SUMMARY}],
        }
    ]
}


def test_rows_are_flat_and_in_milliseconds() -> None:
    assert engine_rows(TIMING) == [
        {
            "engine": "e-0-0",
            "name": "e",
            "implementation": "host",
            "runtime": "torch",
            "calls": 4,
            "errors": 0,
            "total_ms": 8.0,
            "mean_ms": 2.0,
            "p50_ms": 2.0,
            "p99_ms": 3.0,
            "min_ms": 1.0,
            "max_ms": 3.0,
            "inputs_ms": 8.0,
            "inputs_p50_ms": 2.0,
            "inputs_p99_ms": 3.0,
        }
    ]
    rows = layer_rows(TIMING)
    assert [(r["position"], r["layer"], r["count"]) for r in rows] == [
        (0, "same", 4),
        (1, "same", 4),
    ]
    import pandas

    assert pandas.DataFrame(rows)["total_ms"].sum() == 16.0


def test_an_empty_folder_is_refused() -> None:
    with pytest.raises(trtscope.TrtscopeError, match="dir is empty"):
        trtscope.profile(dir="")


@pytest.mark.parametrize("calls", [2**31, -(2**31) - 1, 10**23, 1_000_001, -1])
def test_sample_intervals_that_are_none_are_refused(calls: int) -> None:
    before = trtscope.get_profile_sample_interval()
    with pytest.raises(trtscope.TrtscopeError, match=f"sample interval {calls} "):
        trtscope.set_profile_sample_interval(calls)
    assert trtscope.get_profile_sample_interval() == before
