"""Profiling engines that are hidden in an AOTInductor package, from outside: no test here ever
holds an engine."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import trtscope
from trtscope import _libraries

KINDS = ("engine_execution", "input", "output", "enqueue")
ENGINES = ("blocks.0", "blocks.1", "blocks.2")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.relu(self.linear(x))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in ENGINES)

    def forward(self, x: torch.Tensor) -> Any:
        for block in self.blocks:
            x = torch.sin(block(x))
        return x


def make_package(folder: Path, seed: int) -> tuple[Path, Model]:
    torch.manual_seed(seed)
    model = Model().eval()
    program = torch.export.export(
        model, (torch.randn(3, 16),), dynamic_shapes=({0: Dim("batch", min=1, max=32)},)
    )
    compiled = trtscope.compile(program, engine_modules=["blocks.*"])
    return trtscope.save(compiled, folder / f"model{seed}.pt2"), model


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Model]]:
    """Two models whose engines have the same names and other weights."""
    folder = tmp_path_factory.mktemp("packages")
    return [make_package(folder, seed) for seed in (1, 2)]


@pytest.fixture
def ops() -> Iterator[Any]:
    """torch.ops.tensorrt; the process-wide settings are afterwards as they were before."""
    ops = _libraries.load_torch()
    level, format_, prefix = (
        ops.get_profile_level(),
        ops.get_profile_format(),
        ops.get_profile_path_prefix(),
    )
    try:
        ops.reset_engine_timing()
        yield ops
    finally:
        ops.set_profile_level("off")
        ops.set_profile_format(format_)
        ops.set_profile_path_prefix(prefix)
        ops.set_profile_filter("*")
        ops.set_profile_level(level)


def opaque(path: Path) -> Any:
    """The runner as PyTorch loads it, without any of this package's help."""
    return torch._inductor.aoti_load_package(os.fspath(path))


@pytest.fixture
def runner(packages: list[tuple[Path, Model]]) -> Any:
    return opaque(packages[0][0])


@contextlib.contextmanager
def profiled(ops: Any, folder: Path, level: str) -> Iterator[None]:
    """On for the calls inside; off afterwards, also when one of them fails."""
    ops.set_profile_path_prefix(str(folder))
    ops.set_profile_level(level)
    try:
        yield
    finally:
        ops.set_profile_level("off")


def events_of(path: Path) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [e for e in events if e["ph"] == "X"]


def files_of(folder: Path, kind: str, engine: str = "") -> list[Path]:
    found = folder.glob(f"*_{kind}_profile.trace")
    return sorted(f for f in found if f.name.startswith(engine))


def calls(ops: Any) -> dict[str, int]:
    timing = json.loads(ops.engine_timing())
    return {e["id"]: e["calls"] for e in timing["engines"]}


def test_rfc_validation(packages: list[tuple[Path, Model]], ops: Any, tmp_path: Path) -> None:
    """The RFC's end-to-end test, step by step."""
    path, model = packages[0]
    runner = opaque(path)
    ops.set_profile_path_prefix(str(tmp_path))
    ops.set_profile_format("perfetto")
    ops.set_profile_execution(True)
    assert ops.get_profile_execution() is True
    assert ops.get_profile_format() == "perfetto"
    assert ops.get_profile_path_prefix() == str(tmp_path)

    x = torch.randn(5, 16)
    before = time.monotonic_ns()
    with torch.inference_mode():
        outputs = [runner(x) for _ in range(4)]
    after = time.monotonic_ns()
    ops.set_profile_execution(False)
    assert ops.get_profile_execution() is False
    with torch.no_grad():
        expected = model(x)
    for output in outputs:
        torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)

    main_events = {
        "engine_execution": "torchtrt.delegate",
        "input": "torchtrt.input_binding",
        "output": "torchtrt.output_binding",
        "enqueue": "torchtrt.enqueue_host",
    }
    for engine in ENGINES:
        for kind in KINDS:
            (file,) = files_of(tmp_path, kind, engine)
            events = events_of(file)
            mains = [e for e in events if e["name"] == main_events[kind]]
            # One call may open a phase more than once.
            assert [*dict.fromkeys(e["args"]["call"] for e in mains)] == [1, 2, 3, 4]
            for event in events:
                assert isinstance(event["pid"], int)
                assert isinstance(event["tid"], int)
                assert event["cat"]
                assert event["dur"] > 0
                assert before / 1e3 <= event["ts"]
                assert event["ts"] + event["dur"] <= after / 1e3
            starts = [e["ts"] for e in mains]
            assert starts == sorted(starts)
    # The engines of one call come one after another on the shared timeline.
    first = [
        next(
            e
            for e in events_of(files_of(tmp_path, "engine_execution", engine)[0])
            if e["name"] == "torchtrt.delegate"
        )
        for engine in ENGINES
    ]
    for earlier, later in itertools.pairwise(first):
        assert earlier["ts"] + earlier["dur"] <= later["ts"]
    assert not list(tmp_path.glob("*.partial"))


def test_toggled_after_load(runner: Any, ops: Any, tmp_path: Path) -> None:
    x = torch.randn(3, 16)
    runner(x)
    assert not list(tmp_path.iterdir())
    ops.set_profile_path_prefix(str(tmp_path))
    for round_number in (1, 2):
        ops.set_profile_level("phases")
        runner(x)
        runner(x)
        ops.set_profile_level("off")
        runner(x)
        counted = {name: n for name, n in calls(ops).items() if n}
        assert sorted(n.rpartition("-")[0].rpartition("-")[0] for n in counted) == list(ENGINES)
        assert set(counted.values()) == {2 * round_number}
    # A file for each time that profiling was on: nothing is overwritten.
    for engine in ENGINES:
        assert len(files_of(tmp_path, "enqueue", engine)) == 2


def test_never_a_file_per_call(runner: Any, ops: Any, tmp_path: Path) -> None:
    ops.set_profile_path_prefix(str(tmp_path))
    ops.set_profile_level("delegate")
    for _ in range(50):
        runner(torch.randn(3, 16))
    assert not list(tmp_path.glob("*.trace"))
    ops.set_profile_level("off")
    assert len(files_of(tmp_path, "engine_execution")) == len(ENGINES)


def test_two_models_with_equal_names(
    packages: list[tuple[Path, Model]], ops: Any, tmp_path: Path
) -> None:
    runners = [opaque(packages[0][0]), opaque(packages[1][0]), opaque(packages[0][0])]
    with profiled(ops, tmp_path, "phases"):
        for times, runner in enumerate(runners, 1):
            for _ in range(times):
                runner(torch.randn(3, 16))
    for engine in ENGINES:
        files = files_of(tmp_path, "enqueue", engine)
        assert len(files) == 3
        assert sorted(len(events_of(f)) for f in files) == [1, 2, 3]
    assert len(calls(ops)) == len({f.name for f in files_of(tmp_path, "enqueue")}) == 9
    assert sorted(calls(ops).values()) == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_filter_reaches_one_engine(runner: Any, ops: Any, tmp_path: Path) -> None:
    ops.set_profile_filter("blocks.1-*")
    with profiled(ops, tmp_path, "layers"):
        runner(torch.randn(3, 16))
    engines = {f.name.partition("-")[0] for f in tmp_path.iterdir() if f.suffix == ".trace"}
    assert engines == {"blocks.1"}
    assert len(list(tmp_path.glob("*.perfetto-trace"))) == 1  # of the process


def test_trex_files(runner: Any, ops: Any, tmp_path: Path) -> None:
    ops.set_profile_format("trex")
    with profiled(ops, tmp_path, "layers"):
        for _ in range(3):
            runner(torch.randn(3, 16))
    files = sorted(tmp_path.glob("*.engine.profile.json"))
    assert len(files) == len(ENGINES)
    for file in files:
        head, *rows = json.loads(file.read_text(encoding="utf-8"))
        assert head == {"count": 3}
        assert rows
        for row in rows:
            assert list(row) == ["name", "timeMs", "averageMs", "medianMs", "percentage"]
            assert row["timeMs"] > 0
        assert sum(row["percentage"] for row in rows) == pytest.approx(100, abs=0.5)


def test_dump_engine_timing(runner: Any, ops: Any, tmp_path: Path) -> None:
    with profiled(ops, tmp_path, "phases"):
        for _ in range(7):
            runner(torch.randn(3, 16))
    table = ops.dump_engine_timing().splitlines()
    header = table[0].split()
    for column in ("engine", "calls", "total", "inputs", "outputs", "enqueue", "p50", "p99"):
        assert column in " ".join(header)
    rows = [line for line in table if line.lstrip().startswith("blocks.")]
    assert len(rows) == len(ENGINES)
    assert all(" 7 " in row for row in rows)
    assert any(line.lstrip().startswith("ALL") for line in table)


def test_torch_profiler_is_no_obstacle(
    packages: list[tuple[Path, Model]], ops: Any, tmp_path: Path
) -> None:
    path, model = packages[0]
    runner = opaque(path)
    x = torch.randn(3, 16)
    with profiled(ops, tmp_path, "layers"), torch.profiler.profile() as profiler:
        for _ in range(3):
            output = runner(x)
    with torch.no_grad():
        torch.testing.assert_close(output, model(x), atol=1e-5, rtol=1e-5)
    assert profiler.events()
    assert set(calls(ops).values()) == {3}


def test_threads_and_toggling_lose_no_call(runner: Any, ops: Any, tmp_path: Path) -> None:
    stop = threading.Event()
    errors: list[BaseException] = []
    made = [0, 0, 0, 0]

    def work(i: int) -> None:
        try:
            for _ in range(200):
                runner(torch.randn(1 + i, 16))
                made[i] += 1
        except BaseException as error:
            errors.append(error)

    def toggle() -> None:
        # Never off: each call must be counted, whatever else changes.
        i = 0
        while not stop.is_set():
            ops.set_profile_level(("delegate", "phases", "layers")[i % 3])
            ops.set_profile_path_prefix(str(tmp_path / str(i % 4)))
            i += 1

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    toggler = threading.Thread(target=toggle)
    with profiled(ops, tmp_path, "delegate"):
        for thread in (*workers, toggler):
            thread.start()
        for worker in workers:
            worker.join()
        stop.set()
        toggler.join()
    assert not errors
    assert made == [200] * 4
    assert set(calls(ops).values()) == {800}


def run_python(script: str, *argv: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *argv],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


RUN = """
import sys, torch
from trtscope import _libraries
_libraries.load_torch()
runner = torch._inductor.aoti_load_package(sys.argv[1])
for _ in range(int(sys.argv[2])):
    runner(torch.randn(3, 16))
"""


def run_to_the_end(package: Path, calls: int, level: str, folder: Path) -> tuple[int, str]:
    """Pid and standard error of a process that was told to profile by its environment."""
    process = run_python(
        RUN,
        str(package),
        str(calls),
        TORCHTRT_PROFILE_LEVEL=level,
        TORCHTRT_PROFILE_PATH_PREFIX=str(folder),
    )
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return process.pid, err


def test_environment_turns_it_on(packages: list[tuple[Path, Model]], tmp_path: Path) -> None:
    pid, _ = run_to_the_end(packages[0][0], 6, "phases", tmp_path)
    # Nobody turned it off: the files were finished at exit.
    for engine in ENGINES:
        for kind in KINDS:
            (file,) = files_of(tmp_path, kind, engine)
            events = events_of(file)
            assert len(events) >= 6
            assert {e["pid"] for e in events} == {pid}
    assert not list(tmp_path.glob("*.partial"))


def test_wrong_environment_is_said_and_ignored(
    packages: list[tuple[Path, Model]], tmp_path: Path
) -> None:
    _, err = run_to_the_end(packages[0][0], 1, "everything", tmp_path)
    assert "TORCHTRT_PROFILE_LEVEL" in err
    assert "everything" in err
    assert not list(tmp_path.iterdir())


FOREVER = RUN.replace(
    "for _ in range(int(sys.argv[2])):", "print('ready', flush=True)\nwhile True:"
)


def test_traces_of_a_killed_process_load(
    packages: list[tuple[Path, Model]], tmp_path: Path
) -> None:
    process = run_python(
        FOREVER,
        str(packages[0][0]),
        TORCHTRT_PROFILE_LEVEL="layers",
        TORCHTRT_PROFILE_PATH_PREFIX=str(tmp_path),
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            sizes = [f.stat().st_size for f in tmp_path.glob("*.trace.partial")]
            if len(sizes) == len(ENGINES) * len(KINDS) and min(sizes) > 20_000:
                break
            time.sleep(0.05)
        else:
            pytest.fail("the traces did not grow")
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    for engine in ENGINES:
        for kind in KINDS:
            (file,) = tmp_path.glob(f"{engine}*_{kind}_profile.trace*")
            text = file.read_text(encoding="utf-8").rstrip()
            # Trace viewers take an array without its end; strict JSON wants it.
            events = json.loads(text.removesuffix(",") + "]")
            assert sum(e["ph"] == "X" for e in events) > 20


def test_engine_errors_reach_the_caller_and_profiling_goes_on(
    runner: Any, ops: Any, tmp_path: Path
) -> None:
    with profiled(ops, tmp_path, "phases"):
        with pytest.raises(RuntimeError):
            runner(torch.randn(64, 16))  # over the batch's upper bound
        runner(torch.randn(3, 16))
    timing = json.loads(ops.engine_timing())
    errors = {e["name"]: e["errors"] for e in timing["engines"] if e["calls"]}
    assert errors["blocks.0"] == 1
    assert errors["blocks.1"] == errors["blocks.2"] == 0
