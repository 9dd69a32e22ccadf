"""What the scheduled test tries, and with what code it ends; nothing is downloaded."""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def tool() -> ModuleType:
    loader = SourceFileLoader("compatibility", "tools/compatibility")
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module  # where its dataclasses look for their types
    loader.exec_module(module)
    return module


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "trtscope-0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as files:
        for minor in ("2_9", "2_10"):
            files.writestr(f"trtscope/lib/torch_{minor}/libtrtscope_torch.so", b"")
    return path


def run(tool: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["compatibility", *map(str, arguments)])
    code: int = tool.main()
    return code


def test_the_rows_are_the_wheel_s_minors_and_the_next(tool: ModuleType, wheel: Path) -> None:
    minors = tool.minors_of(wheel)
    assert minors == ["2.9", "2.10"]
    torches = {r.name: r.supported for r in tool.rows(minors) if r.name.startswith("torch-")}
    assert torches == {"torch-2.9": True, "torch-2.10": True, "torch-2.11": False}


@pytest.mark.parametrize(("failing", "code"), [("torch-2.10", 1), ("torch-2.11", 0), ("", 0)])
def test_only_what_is_supported_fails_it(
    tool: ModuleType,
    wheel: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failing: str,
    code: int,
) -> None:
    monkeypatch.setattr(tool, "try_row", lambda row, *_: (row.name != failing, "said"))
    assert run(tool, monkeypatch, wheel) == code
    first, *lines = capsys.readouterr().out.splitlines()
    assert f"{wheel.name} on Python 3." in first
    verdicts = {line.split()[0]: line.split()[1] for line in lines}
    assert verdicts.pop(failing, None) == {"torch-2.10": "FAILS", "torch-2.11": "not"}.get(failing)
    assert set(verdicts.values()) == {"works"}


def test_a_row_that_fails_says_its_last_line(
    tool: ModuleType, wheel: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho first >&2\necho 'no venv here' >&2\nexit 3\n")
    program.chmod(0o755)
    row = tool.rows(["2.13"])[0]
    assert tool.try_row(row, wheel, str(program)) == (False, "no venv here")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.whl"], "nowhere.whl does not exist"),
        (["{wheel}", "torch-1.0"], "torch-1.0: expected some of torch-2.9"),
        (["{wheel}", "--python=python2.0"], "--python python2.0: there is no such program"),
    ],
)
def test_wrong_usage_is_said(
    tool: ModuleType,
    wheel: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(tool, monkeypatch, *(a.format(wheel=wheel) for a in arguments))
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
