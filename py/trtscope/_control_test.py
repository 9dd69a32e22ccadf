"""A process of its own, looked at and switched by the commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trtscope
from trtscope._control import ask, reachable
from trtscope.cli import FAILED, OK, main
from trtscope.cli.top import frame

# Calls an engine until its input ends; says when it is ready.
SERVER = """
import sys, threading
import trtscope
from trtscope._testing import null_engine
engine, inputs = null_engine("encoder", layers=2)
print(engine.id, flush=True)
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
while not ended.wait(0.001):
    engine(*inputs)
"""


@pytest.fixture
def runtime_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A socket's path is short: not below the test's own folder."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


@pytest.fixture
def server(runtime_folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Nothing in it was prepared but the environment."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TRTSCOPE_CONTROL": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("encoder-")
    yield process
    process.communicate("")
    assert process.returncode == 0
    assert reachable() == []


def test_a_running_process_is_switched_and_watched(
    server: subprocess.Popen[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pid = str(server.pid)
    assert main(["top"]) == OK
    assert capsys.readouterr().out.split() == [pid]
    assert main(["top", pid, "--count=1"]) == OK
    assert "nothing is counted; trtscope attach" in capsys.readouterr().out

    assert main(["attach", pid, "--level=layers", f"--out={tmp_path}", "--sample-interval=3"]) == OK
    config = json.loads(capsys.readouterr().out)
    assert (config["level"], config["sample_interval"]) == ("layers", 3)
    assert main(["top", pid, "--count=2", "--interval=0.3"]) == OK
    last = capsys.readouterr().out.rpartition("process ")[2]
    row = next(line for line in last.splitlines() if line.startswith("encoder-"))
    _, calls, per_second, busy, *_ = row.split()
    assert int(calls) > 10
    assert 10 < float(per_second) < 1100
    assert 0 < float(busy) < 100

    assert main(["attach", pid, "--level=off"]) == OK
    finished = capsys.readouterr().out.splitlines()
    traces = [Path(line) for line in finished if line.endswith("_profile.trace")]
    assert len(traces) == 4
    assert all(json.loads(trace.read_text()) for trace in traces)
    assert main(["attach", pid, "--reset"]) == OK


def test_wrong_settings_are_refused_by_the_process(
    server: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for option, message in (
        ("--level=loud", "profile level 'loud' is not one of"),
        ("--sample-interval=x", "sample interval 'x' is not an integer"),
        ("--out=/dev/null", "/dev/null"),
    ):
        assert main(["attach", str(server.pid), option]) == FAILED
        assert message in capsys.readouterr().err
    with pytest.raises(trtscope.TrtscopeError, match="request 'dance': expected config"):
        ask(server.pid, "dance")


def test_processes_that_cannot_be_reached(
    runtime_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attach", str(os.getpid())]) == FAILED
    assert "start it with TRTSCOPE_CONTROL=1, or call trtscope.open_control()" in (
        capsys.readouterr().err
    )
    assert main(["top", "4194305"]) == FAILED  # above every process id
    assert "there is no process 4194305" in capsys.readouterr().err
    assert main(["top"]) == OK
    assert "no process of this user can be reached" in capsys.readouterr().out


def test_a_process_opens_and_closes_it_itself(runtime_folder: Path) -> None:
    path = trtscope.open_control()
    assert path == runtime_folder / "trtscope" / f"{os.getpid()}.sock"
    assert reachable() == [os.getpid()]
    trtscope.close_control()
    assert not path.exists()
    (runtime_folder / "trtscope").chmod(0o755)
    with pytest.raises(trtscope.TrtscopeError, match="a folder that is this user's alone"):
        trtscope.open_control()


def state(count: int, time: float) -> dict[str, Any]:
    """As a process answers ``timing``, of one engine."""
    total = {"count": count, "total_ns": count * 10**6, "p50_ns": 10**6, "p99_ns": 10**6}
    engine = {"id": "encoder", "errors": 0, "phases": {"total": total}}
    return {
        "engines": [engine],
        "dropped_spans": 0,
        "errors": [],
        "config": {"level": "phases", "filter": "*"},
        "time": time,
    }


def test_what_goes_wrong_beside_the_calls_is_shown() -> None:
    now = state(5, 10.0) | {"dropped_spans": 7, "errors": ["cannot make \x1b[2J/x: no space"]}
    text = frame(1, None, now)
    assert "\n7 spans were dropped: its traces are not whole\n" in text
    assert "\nproblem: cannot make \\x1b[2J/x: no space\n" in text


def test_a_folder_that_cannot_be_made_is_said_to_who_asked_for_it(
    server: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    pid = str(server.pid)
    assert main(["attach", pid, "--level=phases", "--out=/proc/nowhere"]) == FAILED
    assert "/proc/nowhere" in capsys.readouterr().err
    assert main(["attach", pid, "--level=off"]) == OK


def test_counters_that_were_reset_give_no_rate() -> None:
    def row(before: int, after: int) -> list[str]:
        return frame(1, state(before, 10.0), state(after, 12.0)).splitlines()[2].split()

    assert row(100, 300)[2:4] == ["100.000", "10.000"]
    assert row(300, 5)[2:4] == ["0.000", "0.000"]
