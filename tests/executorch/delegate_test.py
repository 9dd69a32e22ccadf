"""Engines in ``.pte`` programs: made, saved, loaded in stock executorch.runtime, told options."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import programs
import pytest
import torch
from programs import MIXED_INPUT, SMALL_INPUTS, Mixed, Small

import trtscope
import trtscope.executorch


def test_results_equal_eager_for_every_batch(small: Path) -> None:
    runner = trtscope.load(small)
    model = Small()
    for batch in (2, 16, 1, 7):
        x, y = torch.randn(batch, 8), torch.randn(batch, 4)
        for got, expected in zip(runner(x, y), model(x, y), strict=True):
            torch.testing.assert_close(got, expected)


def test_a_trace_is_written_once(small: Path, tmp_path: Path) -> None:
    runner = trtscope.load(small, etdump=True)
    runner(*SMALL_INPUTS)
    with pytest.raises(trtscope.TrtscopeError, match=r"cannot be written: Is a directory"):
        runner.write_etdump(tmp_path)
    path = runner.write_etdump(tmp_path / "t.etdp")
    assert path.stat().st_size > 0
    with pytest.raises(trtscope.TrtscopeError, match=r"t\.etdp already, and is written once"):
        runner.write_etdump(tmp_path / "again.etdp")
    with pytest.raises(trtscope.TrtscopeError, match="load with etdump=True"):
        trtscope.load(small).write_etdump(tmp_path / "none.etdp")


def test_channels_last_inputs_give_the_same_numbers(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU()).eval()
    x = torch.randn(2, 3, 6, 6)
    edge = trtscope.executorch.lower(torch.export.export(model, (x,)), min_block_size=1)
    runner = trtscope.load(trtscope.save(edge, tmp_path / "conv.pte"))
    for value in (x, x.to(memory_format=torch.channels_last)):
        torch.testing.assert_close(runner(value), model(x))


def test_a_method_may_take_numbers(tmp_path: Path) -> None:
    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor, factor: int) -> torch.Tensor:
            return (x * factor).relu()

    x = torch.linspace(-1, 1, 8)
    edge = trtscope.executorch.lower(torch.export.export(Scaled(), (x, 2)), min_block_size=1)
    runner = trtscope.load(trtscope.save(edge, tmp_path / "scaled.pte"))
    torch.testing.assert_close(runner(x, 2), Scaled()(x, 2))
    with pytest.raises(trtscope.TrtscopeError, match=r"input 1 is float32\[8\]; expected a number"):
        runner(x, x)


def test_an_error_is_of_its_own_call(small: Path) -> None:
    with pytest.raises(trtscope.TrtscopeError, match="a host plan runs on the host"):
        trtscope.load(small, target_device="cuda:0")
    runner = trtscope.load(small)
    with pytest.raises(trtscope.TrtscopeError) as caught:
        runner(torch.zeros(2, 8))  # one input of two
    assert "a host plan runs on the host" not in str(caught.value)


def test_wrong_inputs_are_named(small: Path) -> None:
    runner = trtscope.load(small)
    x, y = SMALL_INPUTS
    for inputs, message in (
        ((x,), r"got 1 inputs; expected 2: float32\[16, 8\], float32\[16, 4\]"),
        ((x, 3), r"input 1 is of type int; expected a tensor, float32\[16, 4\]"),
        ((x.numpy(), y), r"input 0 is of type ndarray; expected a tensor"),
        ((x.double(), y), r"input 0 is float64\[2, 8\]; expected float32\[16, 8\]"),
        ((x, y[None]), r"input 1 is float32\[1, 2, 4\]; expected float32\[16, 4\]"),
        ((x.to("meta"), y), "input 0 is a meta tensor; expected a dense one"),
        ((x.to_sparse(), y), r"input 0 is a torch\.sparse_coo tensor; expected a dense one"),
        (
            (torch.zeros(17, 8), torch.zeros(17, 4)),
            r"input 0 is float32\[17, 8\]; the program planned for float32\[16, 8\] at most",
        ),
        ((torch.zeros(2, 9), y), r"expected shape \[-1, 8\], got \[2, 9\] \(dimension 1\)"),
    ):
        with pytest.raises(trtscope.TrtscopeError, match=r"small\.pte, method 'forward'") as caught:
            runner(*inputs)
        assert re.search(message, str(caught.value)), caught.value
    with pytest.raises(trtscope.TrtscopeError, match=r"got keywords x, y; a \.pte takes"):
        runner(x=x, y=y)


def test_sizes_of_a_static_method_are_exact(tmp_path: Path) -> None:
    program = torch.export.export(Small(), SMALL_INPUTS)
    edge = trtscope.executorch.lower(program, min_block_size=1, etrecord=False)
    runner = trtscope.load(trtscope.save(edge, tmp_path / "static.pte"))
    message = r"input 0 is float32\[1, 8\]; expected float32\[2, 8\]$"
    with pytest.raises(trtscope.TrtscopeError, match=message):
        runner(torch.zeros(1, 8), torch.zeros(1, 4))


def test_parameters_are_inputs_too(small: Path) -> None:
    x, y = SMALL_INPUTS
    for got, expected in zip(
        trtscope.load(small)(torch.nn.Parameter(x), y), Small()(x, y), strict=True
    ):
        torch.testing.assert_close(got, expected)


def test_strided_inputs_are_made_dense(small: Path) -> None:
    x, y = SMALL_INPUTS
    wide = torch.zeros(4, 16)
    wide[::2, ::2] = x
    for strided in (x.t().contiguous().t(), wide[::2, ::2]):
        assert not strided.is_contiguous()
        for got, expected in zip(trtscope.load(small)(strided, y), Small()(x, y), strict=True):
            torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("first", ["activate", "runtime"])
def test_any_import_order_works(small: Path, first: str) -> None:
    steps = {
        "activate": "import trtscope.executorch as t; t.activate()",
        "runtime": "from executorch.runtime import Runtime; Runtime.get()",
    }
    order = [steps[first], *(s for n, s in steps.items() if n != first)]
    code = "\n".join(
        [
            *order,
            "import sys, torch",
            "runtime = Runtime.get()",
            "assert runtime.backend_registry.is_available('TensorRTBackend')",
            "method = runtime.load_program(sys.argv[1]).load_method('forward')",
            "out = method.execute([torch.ones(2, 8), torch.ones(2, 4)])",
            "print('shapes', [list(t.shape) for t in out])",
        ]
    )
    result = subprocess.run(
        [sys.executable, "-c", code, os.fspath(small)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert result.returncode == 0, result.stderr
    assert "shapes [[2, 4], [2, 4]]" in result.stdout


def test_runtime_options_override_compile_specs(folder: Path) -> None:
    path = programs.save_small(folder, "with_spec", profile_level="phases")
    trtscope.reset_timing()
    trtscope.load(path)(*SMALL_INPUTS)
    assert trtscope.timing_json()["engines"][0]["calls"] == 1, "the compile spec is the default"
    trtscope.reset_timing()
    trtscope.load(path, profile_level="off")(*SMALL_INPUTS)
    assert not any(e["calls"] for e in trtscope.timing_json()["engines"])


def test_load_options_nest(small: Path) -> None:
    with trtscope.executorch.load_options({"profile_level": "phases"}):
        with trtscope.executorch.load_options({"profile_filter": "none"}):
            trtscope.load(small)(*SMALL_INPUTS)
        assert not any(e["calls"] for e in trtscope.timing_json()["engines"])
        trtscope.load(small)(*SMALL_INPUTS)
    trtscope.load(small)(*SMALL_INPUTS)
    assert sum(e["calls"] for e in trtscope.timing_json()["engines"]) == 1
    with (
        pytest.raises(trtscope.TrtscopeError, match="'zz' is not one of"),
        trtscope.executorch.load_options({"profile_level": "zz"}),
    ):
        pytest.fail("the block must not be entered")


def test_options_given_to_one_load_do_not_reach_the_next(small: Path) -> None:
    trtscope.load(small, profile_level="phases")
    trtscope.reset_timing()
    trtscope.load(small)(*SMALL_INPUTS)
    assert not any(e["calls"] for e in trtscope.timing_json()["engines"])


def test_a_change_after_load_reaches_the_method(small: Path) -> None:
    runner = trtscope.load(small)
    own = trtscope.load(small, profile_level="off")
    with trtscope.profile(level="phases", format="etdump") as profile:
        runner(*SMALL_INPUTS)
        own(*SMALL_INPUTS)
    rows = [row for row in profile.timing() if row["calls"]]
    assert [row["runtime"] for row in rows] == ["executorch"]
    assert rows[0]["calls"] == 1


def test_errors_say_what_to_do(small: Path, tmp_path: Path) -> None:
    with pytest.raises(trtscope.TrtscopeError, match="'verbose' is not one of: off, delegate"):
        trtscope.load(small, profile_level="verbose")
    with pytest.raises(trtscope.TrtscopeError, match="profile path prefix is empty"):
        trtscope.load(small, profile_path_prefix="")
    with pytest.raises(trtscope.TrtscopeError, match="unknown option 'profile_levle'"):
        trtscope.load(small, profile_levle="off")
    with pytest.raises(trtscope.PackageError, match="has no method 'decode'; it has forward"):
        trtscope.load(small, model="decode")
    with pytest.raises(trtscope.PackageError, match="cannot be read: No such file or directory"):
        trtscope.load(tmp_path / "none.pte")
    with pytest.raises(trtscope.PackageError, match="is a folder"):
        trtscope.executorch.load(tmp_path)
    with pytest.raises(trtscope.TrtscopeError, match="name the same thing; give one"):
        trtscope.load(small, method="forward", model="other")
    with pytest.raises(trtscope.TrtscopeError, match="not of a int"):
        trtscope.save(3, tmp_path / "m.pte")  # type: ignore[arg-type]


def test_files_that_are_no_whole_program_say_so(small: Path, tmp_path: Path) -> None:
    data = small.read_bytes()[:-16]  # as ExecuTorch writes it, without our checksum
    bad = tmp_path / "bad.pte"
    for octets, message in (
        (b"", "it begins with nothing"),
        (b"no program\0", "it begins with 'no progr', expected 'ET'"),
        (data[:-100], f"has {len(data) - 100} octets, and by its header"),
        (data[:40] + bytes(200) + data[240:], "its tables are damaged"),
    ):
        bad.write_bytes(octets)
        with pytest.raises(trtscope.PackageError, match=r"bad\.pte: ") as caught:
            trtscope.load(bad)
        assert message in str(caught.value)


def test_damaged_programs_end_no_process(small: Path, tmp_path: Path) -> None:
    """Programs with octets changed at random load, or are refused; in a process of their own."""
    code = """
import random, sys
from pathlib import Path
import torch, trtscope
data, bad = Path(sys.argv[1]).read_bytes()[:-16], Path(sys.argv[2])  # without our checksum
random.seed(1)
refused = 0
for i in range(200):
    octets = bytearray(data)
    for _ in range(random.choice((1, 3, 20))):
        octets[random.randrange(len(octets))] = random.randrange(256)
    bad.write_bytes(octets)
    print(i, flush=True)
    try:
        trtscope.load(bad)
    except trtscope.TrtscopeError as error:
        refused += 1
        assert "bad.pte" in str(error), error
print("refused", refused)
"""
    result = subprocess.run(
        [sys.executable, "-c", code, os.fspath(small), os.fspath(tmp_path / "bad.pte")],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
    )
    assert result.returncode == 0, (result.stdout.split()[-1:], result.stderr[-2000:])
    assert int(result.stdout.split()[-1]) > 20


def test_a_damaged_blob_names_the_field(small: Path, tmp_path: Path) -> None:
    data = small.read_bytes()[:-16]  # without our checksum
    at = data.index(b"TR01")
    damaged = tmp_path / "damaged.pte"
    damaged.write_bytes(data[: at + 4] + b"\xff\xff\xff\xff" + data[at + 8 :])
    with pytest.raises(trtscope.PackageError, match="metadata_offset is 4294967295, expected"):
        trtscope.load(damaged)


def test_several_methods_have_engines_of_their_own(tmp_path: Path) -> None:
    methods = {
        "prefill": programs.exported(Small(1), *SMALL_INPUTS),
        "decode": programs.exported(Small(2), *SMALL_INPUTS),
    }
    edge = trtscope.executorch.lower(methods, min_block_size=1, etrecord=False)
    path = trtscope.save(edge, tmp_path / "two.pte")
    runner = trtscope.load(path, model="prefill", profile_level="phases")
    for name, seed in (("prefill", 1), ("decode", 2)):
        for got, expected in zip(
            runner(*SMALL_INPUTS, method=name), Small(seed)(*SMALL_INPUTS), strict=True
        ):
            torch.testing.assert_close(got, expected)
    ids = [e["id"] for e in trtscope.timing_json()["engines"] if e["calls"]]
    assert len(set(ids)) == 2


def test_several_programs_and_threads_never_mix(folder: Path, tmp_path: Path) -> None:
    paths = [programs.save_small(folder, f"thread{i}", seed=i) for i in range(2)]
    runners = [
        trtscope.load(
            p, profile_level="layers", profile_format="perfetto", profile_path_prefix=tmp_path
        )
        for p in (*paths, *paths)
    ]
    models = [Small(i) for i in (0, 1, 0, 1)]
    errors: list[BaseException] = []

    def work(runner: object, model: torch.nn.Module) -> None:
        try:
            for _ in range(30):
                for got, expected in zip(
                    runner(*SMALL_INPUTS),
                    model(*SMALL_INPUTS),
                    strict=True,  # type: ignore
                ):
                    torch.testing.assert_close(got, expected)
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=work, args=pair) for pair in zip(runners, models, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    engines = [e for e in trtscope.timing_json()["engines"] if e["calls"]]
    assert [e["calls"] for e in engines] == [30] * 4
    assert len({e["id"] for e in engines}) == 4
    files = [f for f in trtscope.flush_traces() if f.name.endswith("_enqueue_profile.trace")]
    assert len(files) == len(set(files)) == 4


def test_a_compiled_program_says_what_was_lowered(mixed: Path) -> None:
    data = mixed.read_bytes()
    assert data.count(b"TR01") == 2
    assert b"XnnpackBackend" in data
    torch.testing.assert_close(trtscope.load(mixed)(MIXED_INPUT), Mixed()(MIXED_INPUT))


def test_methods_engines_programs_and_threads_together_never_collide(
    folder: Path, tmp_path: Path
) -> None:
    """Two programs of two methods, one of two engines, each loaded twice; a thread a runner."""
    names = ("prefill", "decode")
    two = programs.save_methods(tmp_path, *names)
    twin = tmp_path / "twin.pte"  # the same methods, engines and plans under another file's name
    twin.write_bytes(two.read_bytes())
    mixed = programs.save_mixed(tmp_path)
    options = {
        "etdump": True,
        "profile_level": "layers",
        "profile_format": "perfetto",
        "profile_path_prefix": tmp_path / "traces",
    }
    runners = [
        *(trtscope.load(p, model=names[0], **options) for p in (two, twin, two, twin)),
        *(trtscope.load(mixed, **options) for _ in range(2)),
    ]
    trtscope.reset_timing()
    calls = 20
    # Here, since the models seed torch's one generator.
    smalls = [Small(i)(*SMALL_INPUTS) for i in range(2)]
    expected = {mixed: [(Mixed()(MIXED_INPUT),)] * 2, two: smalls, twin: smalls}
    errors: list[BaseException] = []

    def work(runner: trtscope.executorch.PteRunner) -> None:
        try:
            for i in range(calls):
                if runner.path == mixed:
                    results = (runner(MIXED_INPUT),)
                else:
                    results = runner(*SMALL_INPUTS, method=names[i % 2])
                torch.testing.assert_close(results, expected[runner.path][i % 2])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(runner,)) for runner in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors

    engines = [e for e in trtscope.timing_json()["engines"] if e["calls"]]
    assert sorted(e["calls"] for e in engines) == [calls // 2] * 8 + [calls] * 4
    ids = [e["id"] for e in engines]
    assert len(set(ids)) == 12

    # Each ETDump holds the engines of its own runner, and no two runners share one.
    found: list[str] = []
    for i, runner in enumerate(runners):
        timeline = trtscope.executorch.read_timeline(runner.write_etdump(tmp_path / f"{i}.etdp"))
        found += sorted({str(s.args["engine"]) for s in timeline.spans if "engine" in s.args})
    assert sorted(found) == sorted(ids)

    # Each engine has files of its own, and in them its own calls alone.
    runners.clear()
    files = [f for f in trtscope.flush_traces() if f.name.endswith("_enqueue_profile.trace")]
    assert len(set(files)) == 12
    for engine in engines:
        (file,) = (f for f in files if f.name.startswith(f"{engine['id']}."))
        events = json.loads(file.read_text())
        assert sum(e["ph"] == "X" for e in events) == engine["calls"], file.name
