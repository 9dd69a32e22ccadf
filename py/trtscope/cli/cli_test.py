from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import trtscope
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


def test_profile_json_and_inputs_file(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = tmp_path / "inputs.pt"
    torch.save((torch.randn(7, 8), torch.tensor([6, 1])), inputs)
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
    assert "cannot run" in failure(capsys, "profile", str(package), "--inputs", str(wrong), *out)
    assert "matches none" in failure(capsys, "profile", str(package), "--filter", "zzz", *out)
    assert trtscope.get_profile_level() == "off"


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
    ],
)
def test_wrong_usage_exits_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(argv)
    assert error.value.code == 2
    assert "usage: trtscope" in capsys.readouterr().err


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
