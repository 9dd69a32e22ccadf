"""Traces of programs, put together with what the ETRecord knows: of several methods, of calls that
failed, of files that are damaged, and of many calls."""

from __future__ import annotations

import json
import random
import time
import zipfile
from contextlib import nullcontext
from pathlib import Path

import programs
import pytest
import torch
from programs import MIXED_INPUT, SMALL_INPUTS, Small

import trtscope
import trtscope.executorch
from trtscope.executorch import read_timeline


class Picks(torch.nn.Module):
    """Two engines and an operator between them, which fails where an index is out of range."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        y = torch.index_select(torch.relu(self.layer(x)), 0, index)
        return torch.tanh(y) * 2.0


@pytest.fixture(scope="module")
def picks(folder: Path) -> Path:
    program = torch.export.export(Picks().eval(), (torch.ones(4, 8), torch.tensor([1, 2])))
    edge = trtscope.executorch.lower(
        program, min_block_size=1, torch_executed_ops=["aten.index_select"]
    )
    return trtscope.save(edge, folder / "picks.pte", etrecord=True)


@pytest.fixture(scope="module")
def two(folder: Path) -> Path:
    return programs.save_methods(folder, "prefill", "decode")


@pytest.fixture(scope="module")
def whole(mixed: Path, folder: Path) -> Path:
    """A trace of the mixed program, level layers."""
    return trace(mixed, folder / "whole.etdp", calls=2)


def trace(path: Path, etdump: Path, *, calls: int, level: str = "layers") -> Path:
    runner = trtscope.load(path, etdump=True, profile_level=level)
    for _ in range(calls):
        runner(MIXED_INPUT)
    return runner.write_etdump(etdump)


def trace_two(two: Path, etdump: Path, level: str, *methods: str) -> Path:
    runner = trtscope.load(two, method=methods[0], etdump=True, profile_level=level)
    for method in methods:
        runner(*SMALL_INPUTS, method=method)
    return runner.write_etdump(etdump)


def refusal(*files: Path) -> str:
    """What is said against the files; empty where everything can be made of them."""
    try:
        timeline = read_timeline(*files)
    except trtscope.PackageError as error:
        return str(error)
    timeline.table()
    timeline.layer_rows()
    timeline.write_trace(files[0].with_suffix(".trace"))
    return ""


def test_each_methods_events_are_of_its_own_graph(tmp_path: Path) -> None:
    class Other(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x).sum() + torch.exp(y)

    programs_by_method = {
        "prefill": programs.exported(Small(), *SMALL_INPUTS),
        "decode": programs.exported(Other(), *SMALL_INPUTS),
    }
    edge = trtscope.executorch.lower(programs_by_method, min_block_size=1)
    path = trtscope.save(edge, tmp_path / "two.pte", etrecord=True)
    etdump = trace_two(path, tmp_path / "t.etdp", "phases", "prefill", "decode", "decode")
    timeline = read_timeline(etdump, path.with_suffix(".etrecord"))
    nodes = {m: [n for s in timeline.steps if s.method == m for n in s.nodes]
             for m in ("prefill", "decode")}  # fmt: skip
    assert "aten.linear.default" in nodes["prefill"]
    assert "aten.tanh.default" not in nodes["prefill"]
    assert "aten.tanh.default" in nodes["decode"]
    assert "aten.linear.default" not in nodes["decode"]
    assert timeline.methods == ["prefill", "decode", "decode"]
    assert {(s.method, len(s.host_ms)) for s in timeline.steps} == {("prefill", 1), ("decode", 2)}
    table = timeline.table()
    assert "method prefill: 1 calls" in table
    assert "method decode: 2 calls" in table


def test_methods_alike_are_told_apart_by_what_their_engines_say(two: Path, tmp_path: Path) -> None:
    record = two.with_suffix(".etrecord")
    etdump = trace_two(two, tmp_path / "t.etdp", "delegate", "decode", "prefill", "decode")
    assert read_timeline(etdump).methods == ["decode", "prefill", "decode"]
    timeline = read_timeline(etdump, record)
    assert timeline.methods == ["decode", "prefill", "decode"]
    assert len({s.engine for s in timeline.steps}) == 2
    assert read_timeline(etdump, record, method="decode").methods == ["decode"] * 2


def test_a_trace_that_does_not_say_the_method_asks_for_it(two: Path, tmp_path: Path) -> None:
    record = two.with_suffix(".etrecord")
    etdump = trace_two(two, tmp_path / "t.etdp", "off", "decode")
    with pytest.raises(trtscope.PackageError, match="call 1 was of decode or prefill: name the"):
        read_timeline(etdump, record)
    (step,) = read_timeline(etdump, record, method="decode").steps
    assert (step.method, step.what) == ("decode", "TensorRTBackend")
    assert "aten.linear.default" in step.nodes
    with pytest.raises(trtscope.PackageError, match="has no method 'x'; it has decode, prefill"):
        read_timeline(etdump, record, method="x")


def test_an_only_method_has_any_name(tmp_path: Path) -> None:
    path = programs.save_methods(tmp_path, "encode")
    etdump = trace_two(path, tmp_path / "t.etdp", "off", "encode")
    (step,) = read_timeline(etdump, path.with_suffix(".etrecord")).steps
    assert step.method == "encode"
    assert step.nodes[0] == "aten.linear.default"
    assert step.source.startswith("programs.py:")


def test_a_record_of_another_program_is_refused(whole: Path, two: Path) -> None:
    with pytest.raises(trtscope.PackageError, match=r"prefill_decode\.etrecord is not of the pro"):
        read_timeline(whole, two.with_suffix(".etrecord"))


def test_failed_calls_are_in_no_figure_and_are_said(picks: Path, tmp_path: Path) -> None:
    runner = trtscope.load(picks, etdump=True, profile_level="phases")
    x = torch.ones(4, 8)
    for index in ([1, 2], [1, 99], [0, 1]):
        with nullcontext() if max(index) < 4 else pytest.raises(trtscope.TrtscopeError):
            runner(x, torch.tensor(index))
    etdump = runner.write_etdump(tmp_path / "t.etdp")
    timeline = read_timeline(etdump, picks.with_suffix(".etrecord"))
    assert len(timeline.method_ms) == 2
    assert {len(s.host_ms) for s in timeline.steps} == {2}
    assert timeline.to_json()["between_steps_ms"] >= 0
    assert timeline.to_json()["failed_calls"] == 1
    (failure,) = timeline.failures
    assert failure.what == "index_select.out"
    assert "failed calls, in no figure above: 1 of method forward" in timeline.table()
    # In the trace they are all the same.
    failed = [s for s in timeline.spans if s.args.get("failed")]
    assert {"Method::execute (failed)", "index_select.out"} <= {s.name for s in failed}


def test_a_trace_of_failed_calls_alone_has_a_table(picks: Path, tmp_path: Path) -> None:
    runner = trtscope.load(picks, etdump=True, profile_level="phases")
    with pytest.raises(trtscope.TrtscopeError):
        runner(torch.ones(4, 8), torch.tensor([1, 99]))
    timeline = read_timeline(runner.write_etdump(tmp_path / "t.etdp"))
    assert timeline.table().startswith("failed calls, in no figure above: 1")


def test_a_trace_of_no_call_has_a_table(mixed: Path, tmp_path: Path) -> None:
    timeline = read_timeline(trace(mixed, tmp_path / "t.etdp", calls=0))
    assert timeline.table() == "no call of a method is in it"
    assert not timeline.to_json()["steps"]


def test_a_damaged_trace_is_read_or_refused_by_name(whole: Path, tmp_path: Path) -> None:
    """Whatever octets were changed; no message tells of the tools of others."""
    octets, bad = whole.read_bytes(), tmp_path / "bad.etdp"
    rng = random.Random(1)
    refused = 0
    for _ in range(300):
        damaged = bytearray(octets)
        for _ in range(rng.choice((1, 3, 30))):
            damaged[rng.randrange(12, len(damaged))] = rng.randrange(256)
        bad.write_bytes(damaged)
        message = refusal(bad)
        refused += bool(message)
        assert not message or "bad.etdp is damaged" in message
    assert refused > 30


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"DELEGATE_CALL", b"DELEGATE_CALX", "is in no call of a delegate"),
        (b"OPERATOR_CALL", b"OPERATOR_\xff\xff\xff\xff", "is not UTF-8"),
    ],
)
def test_damage_in_names_is_said(
    whole: Path, tmp_path: Path, old: bytes, new: bytes, message: str
) -> None:
    bad = tmp_path / "bad.etdp"
    bad.write_bytes(whole.read_bytes().replace(old, new))
    with pytest.raises(trtscope.PackageError, match=rf"bad\.etdp is damaged.*{message}"):
        read_timeline(bad)


def test_a_damaged_record_is_blamed_itself(mixed: Path, whole: Path, tmp_path: Path) -> None:
    octets, bad = mixed.with_suffix(".etrecord").read_bytes(), tmp_path / "bad.etrecord"
    empty = tmp_path / "empty.etrecord"
    zipfile.ZipFile(empty, "w").close()
    at = octets.index(b"debug_handle_map")
    for damaged in (b"", b"no zip", octets[:-200], octets[:at] + b"debug_handle_max" +
                    octets[at + 16:], empty.read_bytes()):  # fmt: skip
        bad.write_bytes(damaged)
        with pytest.raises(trtscope.PackageError, match=r"^\S+bad\.etrecord is "):
            read_timeline(whole, bad)
    rng = random.Random(1)
    for _ in range(200):
        changed = bytearray(octets)
        for _ in range(rng.choice((1, 3, 30))):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        bad.write_bytes(changed)
        message = refusal(whole, bad)
        assert not message or "bad.etrecord is" in message


def test_a_graph_that_no_record_can_hold_is_said_before_anything_is_written(
    tmp_path: Path,
) -> None:
    class Branches(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.relu(x) * 2.0
            return torch.cond(y.sum() > 3, lambda a: a.sin() + 1, lambda a: a.cos() - 1, (y,))

    program = torch.export.export(Branches().eval(), (torch.ones(2, 3),))
    edge = trtscope.executorch.lower(program, min_block_size=1)
    path = tmp_path / "m.pte"
    with pytest.raises(trtscope.TrtscopeError, match=r"m\.etrecord cannot be made: .*node cond"):
        trtscope.save(edge, path, etrecord=True)
    assert not list(tmp_path.iterdir())
    runner = trtscope.load(trtscope.save(edge, path), etdump=True, profile_level="phases")
    for x in (torch.ones(2, 3), -torch.ones(2, 3)):
        torch.testing.assert_close(runner(x), Branches()(x))
    # The branches have instructions of their own, and a run has those of one.
    timeline = read_timeline(runner.write_etdump(tmp_path / "t.etdp"))
    assert {s.what: len(s.host_ms) for s in timeline.steps if s.what in ("sin.out", "cos.out")} == {
        "sin.out": 1,
        "cos.out": 1,
    }


def test_a_folder_is_said_to_be_one(whole: Path, tmp_path: Path) -> None:
    for files in ((tmp_path,), (whole, tmp_path)):
        with pytest.raises(trtscope.PackageError, match="is a folder; expected a file"):
            read_timeline(*files)
    with pytest.raises(trtscope.PackageError, match=r"none\.etdp does not exist"):
        read_timeline(tmp_path / "none.etdp")


def test_reading_takes_time_in_proportion_to_the_calls(mixed: Path, tmp_path: Path) -> None:
    def seconds(calls: int) -> float:
        etdump = trace(mixed, tmp_path / f"{calls}.etdp", calls=calls)
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            timeline = read_timeline(etdump, mixed.with_suffix(".etrecord"))
            best = min(best, time.process_time() - start)
            assert len(timeline.method_ms) == calls
        return best

    # Eight times the calls: 64 times the time where each call reads all others.
    assert seconds(2400) < 24 * seconds(300)


def test_a_trace_of_many_calls_is_whole_json(mixed: Path, whole: Path, tmp_path: Path) -> None:
    timeline = read_timeline(whole, mixed.with_suffix(".etrecord"))
    events = json.loads(timeline.write_trace(tmp_path / "t.trace").read_text())["traceEvents"]
    assert sum(e["ph"] == "X" for e in events) == len(timeline.spans)
