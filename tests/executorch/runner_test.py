"""The native runner, and ``trtscope profile m.pte``."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from programs import MIXED_INPUT, Mixed

from trtscope import _libraries
from trtscope.cli import main
from trtscope.executorch import read_timeline
from trtscope.executorch._library import executorch_folder


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    libraries = [os.fspath(executorch_folder() / "lib")]
    plugin = _libraries.find(_libraries.HOST).path
    assert plugin is not None
    return subprocess.run(
        [os.environ["TRTSCOPE_RUNNER"], *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={
            **os.environ,
            "LD_LIBRARY_PATH": os.pathsep.join(libraries),
            "TRTSCOPE_EXECUTORCH_LIB": libraries[0],
            "TRTSCOPE_PLUGIN_DIR": os.fspath(plugin.parent),
        },
    )


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


def test_mistakes_end_it_with_one_sentence(mixed: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "i.npy", np.zeros((3, 8), dtype="i4"))
    (tmp_path / "short.bin").write_bytes(b"1234")
    for arguments, code, message in (
        (("--model", mixed, "--profile-level", "verbose"), 1, "off, delegate, phases, layers"),
        (("--model", mixed, "--method", "decode"), 1, "method 'decode'"),
        (("--model", tmp_path / "none.pte"), 1, "none.pte"),
        (("--model", mixed, "--inputs", tmp_path / "i.npy"), 1, "holds int32, the program takes"),
        (("--model", mixed, "--inputs", tmp_path / "short.bin"), 1, "has 4 octets"),
        (("--model", mixed, "--inputs", "a,b"), 1, "takes 1 inputs, got 2"),
        (("--iterations", "0"), 2, "--iterations"),
        ((), 2, "--model"),
    ):
        result = run(*arguments)
        assert result.returncode == code, result.stderr
        assert message in result.stderr.splitlines()[-1]


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


def test_profile_without_an_etrecord_says_so(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = tmp_path / "alone.pte"
    alone.write_bytes(mixed.read_bytes())
    assert main(["profile", str(alone), "--out", str(tmp_path / "out"), "--iterations", "2"]) == 0
    assert "no alone.etrecord beside it" in capsys.readouterr().out
