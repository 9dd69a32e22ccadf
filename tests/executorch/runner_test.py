"""The native runner, and ``trtscope profile m.pte``."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import programs
import pytest
import torch
from executorch.exir import ExecutorchBackendConfig
from executorch.exir.passes import MemoryPlanningPass
from native import run, runner
from programs import MIXED_INPUT, Mixed

import trtscope
import trtscope.executorch
from trtscope.cli import main
from trtscope.executorch import PteRunner, read_timeline


def test_a_mixed_program_runs_with_events_and_equals_eager(mixed: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", MIXED_INPUT.numpy())
    result = run(
        "--model", mixed, "--inputs", tmp_path / "x.npy", "--iterations", 4, "--warmup", 1,
        "--etdump", tmp_path / "t.etdp", "--profile-level", "layers", "--outputs", tmp_path / "out",
        "--profile-format", "perfetto", "--profile-path", tmp_path / "traces",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "_run_on_acc_0_engine-" in result.stdout
    got = torch.from_numpy(np.load(tmp_path / "out" / "output_0.npy"))
    torch.testing.assert_close(got, Mixed()(MIXED_INPUT))
    timeline = read_timeline(tmp_path / "t.etdp", mixed.with_suffix(".etrecord"))
    assert len(timeline.method_ms) == 4, "the call before is not in the trace"
    assert {"TensorRTBackend", "XnnpackBackend", "cumsum.out"} <= {s.what for s in timeline.steps}
    assert any(s.layers for s in timeline.steps if s.what == "TensorRTBackend")
    assert len(list((tmp_path / "traces").glob("*_enqueue_profile.trace"))) == 2


def test_octets_are_inputs_too(mixed: Path, tmp_path: Path) -> None:
    x = torch.randn(16, 8)
    (tmp_path / "x.bin").write_bytes(x.numpy().tobytes())
    result = run("--model", mixed, "--inputs", tmp_path / "x.bin", "--outputs", tmp_path)
    assert result.returncode == 0, result.stderr
    got = torch.from_numpy(np.load(tmp_path / "output_0.npy"))
    torch.testing.assert_close(got, Mixed()(x))


def test_inspect_lists_what_is_inside(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(mixed), "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    (method,) = described["methods"]
    assert method["name"] == "forward"
    assert method["other_delegates"] == {"XnnpackBackend": 1}
    assert method["operators"] == ["aten::cumsum.out"]
    first, second = method["engines"]
    assert (first["name"], first["kind"]) == ("_run_on_acc_0_engine", "host")
    assert [(t["dtype"], t["shape"]) for t in first["inputs"]] == [("float32", [-1, 8])]
    assert [(t["dtype"], t["shape"]) for t in second["outputs"]] == [("float32", [-1, 4])]
    # The ids are those of a process that runs it.
    trtscope.reset_timing()
    result = run("--model", mixed, "--profile-level", "delegate")
    assert {e["id"] for e in method["engines"]} <= set(result.stdout.split())

    path = programs.save_small(tmp_path, "optioned", profile_level="phases")
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "ExecuTorch program, 1 method, 1 engine" in out
    assert "profile_level=phases" in out
    (tmp_path / "bad.pte").write_bytes(path.read_bytes()[:-16].replace(b"TR01", b"TR09"))
    assert main(["inspect", str(tmp_path / "bad.pte")]) == 1
    assert "method forward: " in capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "none.pte")]) == 1
    assert "none.pte: cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_writes_what_it_has(
    mixed: Path, tmp_path: Path, ending: signal.Signals
) -> None:
    trace = tmp_path / "t.etdp"
    process = subprocess.Popen(
        [runner(), "--model", mixed, "--iterations", "100000000", "--etdump", trace,
         "--profile-level", "delegate"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    status = Path(f"/proc/{process.pid}/status")
    deadline = time.monotonic() + 60
    while not int(re.findall(r"SigCgt:\s*(\w+)", status.read_text())[0], 16) & 1 << ending - 1:
        assert time.monotonic() < deadline, "the calls did not begin"
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(ending)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + ending, err
    calls = int(re.findall(r"interrupted after (\d+) of 100000000 calls", err)[0])
    assert f"{calls} calls, median" in out
    assert "_run_on_acc_0_engine-" in out
    assert len(read_timeline(trace, mixed.with_suffix(".etrecord")).method_ms) == calls


def test_mistakes_end_it_with_one_sentence(mixed: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "i.npy", np.zeros((3, 8), dtype="i4"))
    np.save(tmp_path / "rank.npy", np.zeros((3, 8, 1), dtype="f4"))
    np.save(tmp_path / "wide.npy", np.zeros((99, 8), dtype="f4"))
    (tmp_path / "cut.pte").write_bytes(mixed.read_bytes()[:3000])
    (tmp_path / "short.bin").write_bytes(b"1234")
    for arguments, code, message in (
        (("--model", mixed, "--profile-level", "verbose"), 1, "off, delegate, phases, layers"),
        (("--model", mixed, "--method", "decode"), 1, "no method 'decode'; it has forward"),
        (("--model", tmp_path / "none.pte"), 1, "none.pte: cannot be read: No such file"),
        (("--model", tmp_path / "cut.pte"), 1, "cut.pte: is damaged or cut short: it has 3000"),
        (("--model", mixed, "--inputs", tmp_path / "rank.npy"), 1, "has shape [3, 8, 1], the"),
        (("--model", mixed, "--inputs", tmp_path / "wide.npy"), 1, "input 0 has shape [99, 8]"),
        (("--model", mixed, "--library-path", "/nope"), 1, "--library-path: /nope is no folder"),
        (("--model", mixed, "--etdump", "/nope/t.etdp"), 1, "/nope/t.etdp: cannot be written"),
        (("--model", mixed, "--outputs", mixed), 1, "cannot be made a folder"),
        (
            ("--model", mixed, "--profile-level", "phases", "--profile-filter", "zz"),
            1,
            "no engine was measured: --profile-filter 'zz' matches none of their ids",
        ),
        (
            (
                "--model",
                mixed,
                "--profile-level",
                "phases",
                "--profile-format",
                "perfetto",
                "--profile-path",
                mixed / "x",
            ),
            1,
            "mixed.pte/x",
        ),
        (("--model", mixed, "--inputs", tmp_path / "i.npy"), 1, "holds int32, the program takes"),
        (("--model", mixed, "--inputs", tmp_path / "short.bin"), 1, "has 4 octets"),
        (("--model", mixed, "--inputs", "/dev/zero"), 1, "/dev/zero: has more than"),
        (("--model", mixed, "--inputs", "a,b"), 1, "takes 1 inputs, got 2"),
        (("--iterations", "0"), 2, "--iterations"),
        ((), 2, "--model"),
    ):
        result = run(*arguments)
        assert result.returncode == code, (arguments, result.stderr)
        assert message in result.stderr.splitlines()[-1], arguments


def test_profile_prints_one_view(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", str(mixed), "--out", str(tmp_path), "--iterations", "5"]) == 0
    out = capsys.readouterr().out
    for word in (
        "TensorRTBackend",
        "XnnpackBackend",
        "cumsum.out",
        "enqueue_host",
        "gap before",
        "aten.linear.default",
        "programs.py:",
        "Slowest",
        "mixed.timeline.trace",
    ):
        assert word in out
    assert (tmp_path / "mixed.etdp").is_file()
    assert len(list(tmp_path.glob("*_enqueue_profile.trace"))) == 2

    torch.save([MIXED_INPUT], tmp_path / "x.pt")
    assert main(["profile", str(mixed), "--out", str(tmp_path), "--inputs",
                 str(tmp_path / "x.pt"), "--level", "phases", "--json"]) == 0  # fmt: skip
    report = json.loads(capsys.readouterr().out)
    assert report["inputs"] == "file"
    assert report["etrecord"] is True
    assert not report["timeline"]["steps"][0]["layers_ms"]
    assert report["timeline"]["steps"][0]["phases_ms"]["enqueue_host"] > 0


def profile_json(
    capsys: pytest.CaptureFixture[str], path: Path, *arguments: object
) -> dict[str, Any]:
    out = path.parent / "profiles" / str(len(list(path.parent.glob("profiles/*"))))
    argv = ["profile", path, "--out", out, "--iterations", 4, "--json", *arguments]
    assert main([str(a) for a in argv]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def failure(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    assert main([str(a) for a in argv]) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_profile_measures_the_engines_that_a_filter_matches(
    mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = profile_json(capsys, mixed, "--filter", "_run_on_acc_1*")
    assert [(e["name"], e["calls"]) for e in report["engines"]] == [("_run_on_acc_1_engine", 4)]
    ours = [s for s in report["timeline"]["steps"] if s["step"] == "TensorRTBackend"]
    assert [bool(s["phases_ms"]) for s in ours] == [False, True]
    assert [s["calls"] for s in ours] == [4, 4], "the region is in the timeline all the same"
    names = [Path(f).name for f in report["files"] if f.endswith("_enqueue_profile.trace")]
    assert len(names) == 1
    assert names[0].startswith("_run_on_acc_1_engine-")


def test_profile_says_when_nothing_was_measured(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", tmp_path / "out", "--iterations", 1)
    message = failure(capsys, "profile", mixed, "--filter", "zzz", *out)
    assert f"no engine of {mixed} was measured: filter 'zzz' matches none" in message
    assert not (tmp_path / "out").exists(), "nothing measured, nothing written"


def test_profile_of_a_program_without_our_engines_shows_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = programs.save_engineless(tmp_path)
    out = tmp_path / "out"
    assert main(["profile", str(path), "--out", str(out), "--iterations", "4"]) == 0
    printed = capsys.readouterr().out
    assert "No TensorRT engine is in method forward" in printed
    assert "relu.out" in printed
    assert "engineless.timeline.trace" in printed
    assert (out / "engineless.etdp").is_file()
    report = profile_json(capsys, path)
    assert report["engines"] == []
    assert {s["calls"] for s in report["timeline"]["steps"]} == {4}


def test_profile_goes_on_without_a_record_that_is_damaged(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.pte"
    path.write_bytes(mixed.read_bytes())
    (tmp_path / "m.etrecord").write_bytes(b"no zip")
    assert main(["profile", str(path), "--out", str(tmp_path / "out"), "--iterations", "1"]) == 1
    printed = capsys.readouterr().out
    assert "m.etrecord is no ETRecord" in printed
    assert "_run_on_acc_0_engine" in printed


def test_profile_passes_the_sample_interval_on(
    mixed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only engines on a GPU are sampled (device_test.cc): here, that it is set while they run.
    seen = []
    execute = PteRunner.__call__

    def spy(self: PteRunner, *inputs: Any) -> Any:
        seen.append(trtscope.get_profile_sample_interval())
        return execute(self, *inputs)

    monkeypatch.setattr(PteRunner, "__call__", spy)
    before = trtscope.get_profile_sample_interval()
    profile_json(capsys, mixed, "--sample-interval", 7, "--warmup", 0)
    assert seen == [before] * 4 + [7] * 4
    assert trtscope.get_profile_sample_interval() == before


def test_profile_of_a_program_with_several_methods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = programs.save_methods(tmp_path, "prefill", "decode")
    out = ("--out", tmp_path / "out")
    message = failure(capsys, "profile", two, *out)
    assert "has several methods; choose one: decode, prefill" in message
    message = failure(capsys, "profile", two, "--method", "encode", *out)
    assert "has no method 'encode'; it has decode, prefill" in message
    reports = {m: profile_json(capsys, two, flag, m) for flag, m in
               (("--method", "decode"), ("--model", "prefill"))}  # fmt: skip
    for method, report in reports.items():
        assert report["method"] == method
        assert [e["calls"] for e in report["engines"]] == [4]
    # The only method is the one meant, whatever its name.
    one = programs.save_methods(tmp_path, "encode")
    assert profile_json(capsys, one)["method"] == "encode"


def test_profile_names_engines_as_a_fresh_process_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = programs.save_small(tmp_path, seed=77)
    assert profile_json(capsys, path)["engines"][0]["engine"].endswith("-0")


def test_profile_without_an_etrecord_says_so(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = tmp_path / "alone.pte"
    alone.write_bytes(mixed.read_bytes())
    assert main(["profile", str(alone), "--out", str(tmp_path / "out"), "--iterations", "2"]) == 0
    assert "no alone.etrecord beside it" in capsys.readouterr().out


def test_a_trace_that_is_no_whole_one_says_so(mixed: Path, tmp_path: Path) -> None:
    trace = tmp_path / "t.etdp"
    result = run("--model", mixed, "--etdump", trace)
    assert result.returncode == 0, result.stderr
    whole = trace.read_bytes()
    for octets, message in (
        (whole[:-100], f"is cut short: it has {len(whole) - 100} octets of {len(whole)}"),
        (b"", "is no ETDump: it begins with b''"),
        (b"PK\x03\x04 and more", "is no ETDump: it begins with b'PK"),
    ):
        trace.write_bytes(octets)
        with pytest.raises(trtscope.PackageError, match=r"t\.etdp is") as caught:
            read_timeline(trace)
        assert message in str(caught.value)


@pytest.mark.parametrize("blocks", [1, 100], ids=["delegated", "not delegated"])
def test_outputs_that_the_program_leaves_to_its_caller_have_memory(
    blocks: int, tmp_path: Path
) -> None:
    model, inputs = programs.Small(), programs.SMALL_INPUTS
    manager = trtscope.executorch.lower(
        programs.exported(model, *inputs), min_block_size=blocks, etrecord=False
    ).to_executorch(
        ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(
                alloc_graph_input=False, alloc_graph_output=False
            )
        )
    )
    path = tmp_path / "m.pte"
    path.write_bytes(manager.buffer)
    files = []
    for i, x in enumerate(inputs):
        files.append(tmp_path / f"{i}.npy")
        np.save(files[-1], x.numpy())
    result = run("--model", path, "--inputs", ",".join(map(str, files)), "--outputs", tmp_path)
    assert result.returncode == 0, result.stderr
    for i, (ours, theirs) in enumerate(
        zip(trtscope.load(path)(*inputs), model(*inputs), strict=True)
    ):
        torch.testing.assert_close(ours, theirs)
        native = torch.from_numpy(np.load(tmp_path / f"output_{i}.npy"))
        torch.testing.assert_close(native, theirs)
