from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import trtscope
from trtscope import _libraries
from trtscope._needs import NEEDS, explain, require


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that has libraries for some torch minors, and one for none."""
    monkeypatch.setattr(_libraries, "folders", lambda: [tmp_path])
    for minor in ("2_9", "2_10", "2_13"):
        (tmp_path / f"torch_{minor}").mkdir()
        (tmp_path / f"torch_{minor}" / _libraries.TORCH).write_bytes(b"")
    (tmp_path / "torch_2_12").mkdir()
    return tmp_path


def test_the_minors_are_those_that_there_is_a_library_for(folder: Path) -> None:
    assert _libraries.torch_minors() == ["2.9", "2.10", "2.13"]


@pytest.mark.parametrize("version", ["2.13.0", "2.13.1+cu130", "2.13.0a0+git1234", "2.13"])
def test_a_torch_gets_the_library_of_its_minor(folder: Path, version: str) -> None:
    assert _libraries.torch_half(version) == f"torch_2_13/{_libraries.TORCH}"


def test_another_torch_gets_a_sentence(folder: Path) -> None:
    with pytest.raises(trtscope.TrtscopeError) as caught:
        _libraries.torch_half("2.12.1+cpu")
    assert str(caught.value) == (
        "torch 2.12.1+cpu is installed; this trtscope runs .pt2 packages with torch 2.9, 2.10, 2.13"
    )


def test_only_what_is_optional_and_missing_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NEEDS, "no_such_package", NEEDS["torch"])
    with pytest.raises(trtscope.MissingPackageError, match="no_such_package is not installed"):
        require("torch", "no_such_package")
    found = explain(ModuleNotFoundError("No module", name="no_such_package.part"))
    assert found is not None
    assert "pip install 'trtscope[torch]'" in str(found)
    assert explain(ModuleNotFoundError("No module", name="elsewhere")) is None
    # There, but something inside of it is not: that is not our sentence to say.
    assert explain(ModuleNotFoundError("No module", name="torch.nothing")) is None


def test_beside_another_runtime_there_is_one_sentence() -> None:
    """As after `import torch_tensorrt`, which registers these names."""
    script = (
        "import sys, torch\n"
        "library = torch.library.Library('tensorrt', 'DEF')\n"
        "library.define('execute_engine(Tensor[] inputs, Tensor engine) -> Tensor[]')\n"
        "import trtscope\n"
        "trtscope.set_profile_level('phases')\n"
        "from trtscope.cli import main\n"
        "print(main(['doctor']))\n"
        "trtscope.load_library()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    sentence = (
        "trtscope cannot be loaded into this process: another library (Torch-TensorRT's runtime?) "
        "has already registered torch.ops.tensorrt; load one of the two"
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"ImportError: {sentence}"
    assert f"problem: {sentence}\n1\n" in done.stdout
