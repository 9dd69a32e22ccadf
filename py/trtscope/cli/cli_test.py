from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import trtscope
from trtscope._metadata import Metadata
from trtscope._testing import foreign_state, pickle_object, write_package
from trtscope.cli import main


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.ReLU()) for _ in range(2))

    def forward(self, x: torch.Tensor, rows: torch.Tensor) -> Any:
        for block in self.blocks:
            x = block(x)
        return x[rows]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    batch = Dim("batch", min=1, max=16)
    program = torch.export.export(
        Model().eval(), (torch.randn(3, 8), torch.tensor([0, 2])), dynamic_shapes=({0: batch}, None)
    )
    compiled = trtscope.compile(program, engine_modules=["blocks.*"])
    return trtscope.save(compiled, tmp_path_factory.mktemp("package") / "model.pt2")


def failure(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The one sentence of a command that fails."""
    assert main(argv) == 1
    out, err = capsys.readouterr()
    assert err.startswith("trtscope: ")
    assert err.count("\n") == 1
    assert "Traceback" not in out + err
    return err


def test_inspect_lists_engines(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(package)]) == 0
    out = capsys.readouterr().out
    assert "AOTInductor package, 2 engines" in out
    assert "blocks.0-" in out
    assert "executorch" in out
    assert "float32[" in out


def test_inspect_json(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(package), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    first = report["engines"][0]
    assert first["name"] == "blocks.0"
    assert first["kind"] == "host"
    assert first["size"] > 0
    assert first["inputs"][0]["shape"][1] == 8
    assert report["inputs"][1]["values"] == [0, 2]
    # The id is the one that the runtime gives.
    runner = trtscope.load(package)
    with trtscope.profile(level="delegate") as p:
        runner(torch.randn(3, 8), torch.tensor([0, 2]))
    stems = {r["engine"].rpartition("-")[0] for r in p.timing()}
    assert first["id"].rpartition("-")[0] in stems


def test_inspect_reads_foreign_packages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = foreign_state("acc_0").to_list()
    old = ["8", *foreign_state("acc_1").to_list()[1:11]]
    path = write_package(tmp_path / "theirs.pt2", [pickle_object(new), pickle_object(old)])
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "10.3.0.26" in out
    assert "linux_aarch64" in out
    assert "version 8" in out
    assert main(["inspect", str(path), "--json"]) == 0
    engines = json.loads(capsys.readouterr().out)["engines"]
    assert [e["kind"] for e in engines] == ["tensorrt", "tensorrt"]
    assert engines[0]["inputs"] == [{"name": "x"}]


def test_inspect_shows_what_it_can_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = [
        pickle_object(foreign_state("good").to_list()),
        pickle_object(["11", "future"]),
        pickle_object(foreign_state("odd", plan=b"?" * 64).to_list()),
    ]
    path = write_package(tmp_path / "m.pt2", objects)
    assert main(["inspect", str(path)]) == 1
    out = capsys.readouterr().out
    assert "good-" in out
    assert "version '11'" in out
    assert "odd: " in out


def test_names_cannot_act_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = foreign_state("evil\x1b[2J\nname")
    path = write_package(tmp_path / "m.pt2", [pickle_object(state.to_list())])
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "evil\\x1b[2J\\nname" in out


def test_profile_prints_tables_and_writes_files(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["profile", str(package), "--out", str(tmp_path), "--iterations", "4"])
    assert code == 0
    out = capsys.readouterr().out
    assert "blocks.0-" in out
    assert "Slowest" in out
    assert "ui.perfetto.dev" in out
    assert list(tmp_path.glob("*_enqueue_profile.trace"))


def test_profile_fails_when_its_traces_cannot_be_written(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Root may write to this folder, for all that its mode says; nobody can.
    assert main(["profile", str(package), "--out", "/proc/trtscope", "--iterations", "2"]) == 1
    out, err = capsys.readouterr()
    assert "/proc" in out + err


def test_profile_json_and_inputs_file(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = tmp_path / "inputs.pt"
    torch.save((torch.randn(7, 8), torch.tensor([2, 1])), inputs)
    argv = ["profile", str(package), "--inputs", str(inputs), "--out", str(tmp_path), "--json"]
    argv += ["--level", "phases", "--warmup", "0", "--iterations", "3", "--filter", "blocks.1*"]
    assert main(argv) == 0
    report = json.loads(capsys.readouterr().out)
    measured = {r["name"]: r["calls"] for r in report["engines"] if r["calls"]}
    assert measured == {"blocks.1": 3}
    assert report["layers"] == []
    assert report["inputs"] == "file"
    assert all(Path(f).is_file() for f in report["files"])
    assert trtscope.get_profile_level() == "off"


def test_failures_are_one_sentence(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = str(tmp_path / "none.pt2")
    assert "does not exist" in failure(capsys, "inspect", none)
    assert "does not exist" in failure(capsys, "profile", none)
    junk = tmp_path / "junk.pt2"
    junk.write_bytes(b"junk")
    assert "is no .pt2 package" in failure(capsys, "inspect", str(junk))
    missing = failure(capsys, "profile", str(package), "--inputs", str(tmp_path / "none.pt"))
    assert "inputs file" in missing
    wrong = tmp_path / "wrong.pt"
    torch.save((torch.randn(3, 9), torch.tensor([0])), wrong)
    out = ["--out", str(tmp_path)]
    err = failure(capsys, "profile", str(package), "--inputs", str(wrong), *out)
    assert "input 'x' is float32[3, 9]; expected float32[1..16, 8]" in err
    assert "matches none" in failure(capsys, "profile", str(package), "--filter", "zzz", *out)
    assert trtscope.get_profile_level() == "off"


def test_inputs_files_that_hold_no_tensors(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "notatensorfile.py"
    source.write_text("import torch\n")
    objects = tmp_path / "objects.pt"
    torch.save(Model(), objects)
    for file, expected in (
        (source, "is not what torch.save writes: it begins 69 6d 70 6f 72 74 20 74"),
        (objects, "Model; expected tensors alone"),
        (tmp_path, "Is a directory"),
    ):
        err = failure(capsys, "profile", str(package), "--inputs", str(file))
        assert str(file) in err
        assert expected in err


def test_indices_outside_of_the_record_are_refused_before_they_run(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = tmp_path / "inputs.pt"
    argv = ["profile", str(package), "--inputs", str(inputs), "--out", str(tmp_path)]
    argv += ["--iterations", "1"]
    # In range of seven rows, but not of what the package was saved with.
    torch.save((torch.randn(7, 8), torch.tensor([6, 1])), inputs)
    err = failure(capsys, *argv)
    assert "input 'rows' holds values from 1 to 6; those it was saved with are from 0 to 2" in err
    assert "--any-values" in err
    assert main([*argv, "--any-values"]) == 0
    # An index that compiled code would end the process for.
    torch.save((torch.randn(3, 8), torch.tensor([0, 99])), inputs)
    assert "holds values from 0 to 99" in failure(capsys, *argv)


def test_the_traces_folder_is_an_absolute_path(
    package: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["profile", str(package), "--out", "here", "--iterations", "1"]) == 0
    assert f"trace files in {tmp_path / 'here'}:" in capsys.readouterr().out


def test_damaged_packages_name_the_missing_file(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for missing, expected in (
        ("custom_obj_1", "data/constants/custom_obj_1 is not in the package, but "),
        (".so", "model 'model' has no library: data/aotinductor/model holds no .so"),
    ):
        path = tmp_path / "damaged.pt2"
        with zipfile.ZipFile(package) as whole, zipfile.ZipFile(path, "w") as damaged:
            for entry in whole.namelist():
                if not entry.endswith(missing):
                    damaged.writestr(entry, whole.read(entry))
        err = failure(capsys, "profile", str(path))
        assert str(path) in err
        assert expected in err
        assert main(["inspect", str(path)]) == 1
        out = capsys.readouterr().out
        assert expected in out
        assert "blocks.0-" in out


def test_a_load_that_fails_says_nothing_but_its_own_sentence(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.pt2"
    with zipfile.ZipFile(package) as whole, zipfile.ZipFile(path, "w") as damaged:
        for entry in whole.namelist():
            damaged.writestr(entry, b"ELF?" if entry.endswith(".so") else whole.read(entry))
    done = subprocess.run(
        [sys.executable, "-m", "trtscope", "profile", str(path)], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"trtscope: {path} cannot be loaded: ")
    assert done.stderr.count("\n") == 1


def test_inspect_shows_the_version_of_the_plans_own_header(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metadata = Metadata(inputs=(), outputs=(), builder="plan", builder_version="tensorrt 8.6.0.12")
    state = dataclasses.replace(foreign_state(), metadata=metadata.to_json())
    path = write_package(tmp_path / "m.pt2", [pickle_object(state.to_list())])
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "10.3.0.26" in out
    assert "8.6.0.12" not in out


def test_inspect_cuts_long_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = dataclasses.replace(foreign_state("n" * 5000), input_names=("i" * 5000,))
    path = write_package(tmp_path / "m.pt2", [pickle_object(state.to_list())])
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "n" * 100 + "..." in out
    assert "i" * 100 + "..." in out
    assert max(map(len, out.splitlines())) < 250


def test_packages_without_a_record_of_inputs_say_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from trtscope.cli import profile

    path = write_package(tmp_path / "m.pt2", [pickle_object(foreign_state().to_list())])
    with pytest.raises(trtscope.PackageError, match=r"linux_aarch64|cannot be loaded"):
        trtscope.load(path)
    with pytest.raises(trtscope.TrtscopeError, match=r"torch\.save\(\(x, \.\.\.\), 'inputs\.pt'\)"):
        profile._made_up_inputs(trtscope.read_package(path))


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["fly"],
        ["inspect"],
        ["profile", "m.pt2", "--iterations", "0"],
        ["profile", "m.pt2", "--iterations", "many"],
        ["profile", "m.pt2", "--level", "everything"],
        ["profile", "m.pt2", "--warmup", "-1"],
        ["profile", "m.pt2", "--sample-interval", "9" * 23],
        ["profile", "m.pt2", "--out", ""],
        ["attach", "1", "--out", ""],
        ["demo", "--iterations", "0"],
        ["demo", "--iterations", "-5"],
        ["demo", "--iterations", "many"],
        ["demo", "--out", ""],
    ],
)
def test_wrong_usage_exits_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(argv)
    assert error.value.code == 2
    err = capsys.readouterr().err
    assert "usage: trtscope" in err
    # argparse's words for a type that raises anything but its own error: "invalid TYPE value".
    assert " value: " not in err


def test_a_sample_interval_that_is_too_large_is_one_sentence(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["profile", str(package), "--out", str(tmp_path), "--sample-interval", "2000000"]
    assert "sample interval 2000000" in failure(capsys, *argv)


def test_the_demo_refuses_a_file_for_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert f"cannot make the folder {file}: it is a file" in failure(
        capsys, "demo", "--out", str(file)
    )


def test_started_by_bazel_paths_are_relative_to_the_user(package: Path, tmp_path: Path) -> None:
    (tmp_path / "here.pt2").write_bytes(package.read_bytes())
    for module in ("trtscope", "trtscope.demo.main"):
        # The demo takes no package; that its folder is a file shows where it looked.
        argv = ["inspect", "here.pt2"] if module == "trtscope" else ["--out", "here.pt2"]
        done = subprocess.run(
            [sys.executable, "-m", module, *argv],
            capture_output=True,
            text=True,
            env={**os.environ, "BUILD_WORKING_DIRECTORY": str(tmp_path)},
        )
        assert ("2 engines" in done.stdout) == (module == "trtscope"), done.stderr
        assert ("here.pt2: it is a file" in done.stderr) == (module != "trtscope")


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "libtrtscope_core.so" in out
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["versions"]["torch"] == torch.__version__
    assert report["problems"] == []
    assert report["runtime_folders"][0].endswith("executorch/lib")
    assert set(report["cuda"]["driver"]) in ({"error"}, {"path", "version"})
    assert isinstance(report["tensorrt"], list)


def test_doctor_says_why_there_is_no_driver() -> None:
    # The answer is remembered by the process: another one is asked.
    done = subprocess.run(
        [sys.executable, "-m", "trtscope", "doctor"],
        capture_output=True,
        text=True,
        env={**os.environ, "TRTSCOPE_CUDA": "/nonexistent/libcuda.so.1"},
    )
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("CUDA driver:"))
    assert "/nonexistent/libcuda.so.1" in line


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TRTSCOPE_PLUGIN_DIR", "/nonexistent"),
        ("TRTSCOPE_EXECUTORCH_LIB", "/nonexistent"),
        ("TRTSCOPE_LIBRARY_DIR", "/nonexistent"),
        ("TRTSCOPE_RUNTIME_PATH", "/tmp:/nonexistent"),
    ],
)
def test_doctor_names_variables_whose_folder_is_not_there(
    variable: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(variable, value)
    assert main(["doctor"]) == 1
    problems = [p for p in capsys.readouterr().out.splitlines() if p.startswith("problem: ")]
    assert problems == [f"problem: {variable} names /nonexistent, which is no folder"]


def test_module_runs_as_a_command_and_inspect_needs_no_torch(package: Path) -> None:
    script = (
        "import sys; sys.argv = ['trtscope', 'inspect', sys.argv[1]]\n"
        "from trtscope.cli import main\n"
        "code = main()\n"
        "assert 'torch' not in sys.modules\n"
        "sys.exit(code)"
    )
    for command in (["-m", "trtscope", "inspect"], ["-c", script]):
        done = subprocess.run(
            [sys.executable, *command, str(package)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "2 engines" in done.stdout
