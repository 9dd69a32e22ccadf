"""Comparisons: of samples whose difference is known, of recordings, by the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import trtscope
from trtscope._compare import compare
from trtscope._recording import EngineRecording, Layer, Process, Recording
from trtscope._samples import change
from trtscope._testing import null_engine, spans
from trtscope.cli import FAILED, OK, main
from trtscope.cli.compare import SLOWER


def recording(seed: int, factor: float = 1.0, names: tuple[str, ...] = ("encoder",)) -> Recording:
    """Calls of 100 us with 5 % of noise, times ``factor``; one layer of half of that."""
    generator = np.random.default_rng(seed)
    engines = {}
    for name in names:
        times = 100_000 * factor * generator.lognormal(0, 0.05, 200)
        engine = EngineRecording(f"{name}-{seed:012x}-0")
        engine.phases["torchtrt.delegate"] = spans(times)
        engine.layers[0] = Layer("conv", spans(times / 2))
        engines[engine.id] = engine
    process = Process("host", 1, engines=engines)
    return Recording(Path(f"run{seed}"), [process], [])


def test_the_interval_holds_the_true_ratio_about_as_often_as_it_says() -> None:
    """40 pairs with a true ratio of 1.1: 95 % of the intervals should hold it."""
    held = 0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        a = (1e5 * generator.lognormal(0, 0.2, 150)).astype(np.int64)
        b = (1.1e5 * generator.lognormal(0, 0.2, 150)).astype(np.int64)
        found = change(a, b)
        assert found.low < found.ratio < found.high
        held += found.low <= 1.1 <= found.high
    assert 34 <= held <= 40


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "noise"), (1.1, "slower"), (0.9, "faster")])
def test_a_change_is_told_from_noise(factor: float, verdict: str) -> None:
    found = compare(recording(1), recording(2, factor))
    assert {row.what: row.change.verdict for row in found.rows} == {
        "total": verdict,
        "layer 0: conv": verdict,
    }
    assert found.rows[0].change.ratio == pytest.approx(factor, rel=0.02)
    assert bool(found.slower("total", 0.05)) == (factor == 1.1)
    assert not found.slower("total", 0.2)


def test_engines_without_a_partner_are_told() -> None:
    found = compare(recording(1, names=("a", "b")), recording(2, names=("b", "c")))
    assert (found.only_a, found.only_b) == (["a"], ["c"])
    assert {row.engine for row in found.rows} == {"b"}
    with pytest.raises(trtscope.TrtscopeError, match=r"no engine of run1 is in run2: .* a; .* c"):
        compare(recording(1, names=("a",)), recording(2, names=("c",)))


def test_engines_of_one_name_are_partners_by_their_order() -> None:
    def twice(seed: int, factor: float) -> Recording:
        first, second = recording(seed), recording(seed + 10, factor)
        first.processes[0].engines |= second.processes[0].engines
        return first

    rows = compare(twice(1, 2.0), twice(2, 4.0)).rows
    totals = {row.engine: row.change.ratio for row in rows if row.what == "total"}
    assert totals == {
        "encoder": pytest.approx(1, rel=0.02),
        "encoder (2)": pytest.approx(2, rel=0.02),
    }


def test_what_one_recording_alone_measured_is_told() -> None:
    phases = recording(2)
    for engine in phases.processes[0].engines.values():
        engine.layers.clear()
        engine.phases["torchtrt.enqueue_host"] = spans(np.full(9, 1e4))
    found = compare(recording(1), phases)
    assert (found.only_measured_a, found.only_measured_b) == (["layers"], ["enqueue"])
    assert {row.what for row in found.rows} == {"total"}


def test_too_few_calls_are_not_compared() -> None:
    few = recording(2)
    few.processes[0].engines.popitem()
    engine = EngineRecording("encoder-x-0")
    engine.phases["torchtrt.delegate"] = spans(np.full(4, 1e5))
    few.processes[0].engines[engine.id] = engine
    found = compare(recording(1), few)
    assert (found.rows, found.too_few) == ([], ["encoder"])


def record(folder: Path, layer_ns: int, calls: int = 40) -> str:
    engine, inputs = null_engine("encoder", layers=50, layer_ns=layer_ns)
    with trtscope.profile(level="layers", dir=folder):
        for _ in range(calls):
            engine(*inputs)
    return str(folder)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fast, again = record(tmp_path / "a", 1000), record(tmp_path / "b", 1000)
    slow = record(tmp_path / "c", 9000)
    assert main(["compare", fast, again, "--fail-above", "1000%"]) == OK
    assert "no engine's total is slower by more than 1000 %" in capsys.readouterr().out
    # The layers say ten times the time; the host's own time for them is the same.
    assert main(["compare", fast, slow, "--json"]) == OK
    report = json.loads(capsys.readouterr().out)
    layers = [row for row in report["rows"] if row["what"].startswith("layer ")]
    assert len(layers) == 50
    assert all(row["ratio"] == pytest.approx(9) and row["verdict"] == "slower" for row in layers)
    assert report["failed"] == []
    assert (report["unread_a"], report["unread_b"]) == ([], [])


def test_the_command_says_what_it_could_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = record(tmp_path / "a", 1000)
    old = tmp_path / "a" / "old_engine_execution_profile.trace.partial"
    old.write_bytes(b"")
    assert main(["compare", folder, folder, "--json"]) == OK
    said = capsys.readouterr()
    line = f"{old}: it is empty: left out"
    assert json.loads(said.out)["unread_b"] == [line]
    assert said.err == 2 * f"trtscope: warning: {line}\n"


def test_the_command_fails_what_became_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = record(tmp_path / "a", 1000)
    # Seven times the layers to report, and all 40 calls find room in a thread's ring of 16384.
    engine, inputs = null_engine("encoder", layers=350)
    with trtscope.profile(level="layers", dir=tmp_path / "b"):
        for _ in range(40):
            engine(*inputs)
    assert main(["compare", few, str(tmp_path / "b"), "--fail-above=5%"]) == SLOWER
    assert "SLOWER: encoder: total +" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric=gpu", "--fail-above=5"], "no engine has 'gpu' in both recordings"),
        (["--metric=speed"], "--metric 'speed' is none of total"),
    ],
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    folder = record(tmp_path / "a", 1000)
    assert main(["compare", folder, folder, *arguments]) == FAILED
    assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["compare", folder, folder, "--fail-above=much"])
    assert "expected a percentage of 0 or more, got 'much'" in capsys.readouterr().err
