"""The wheel as its users have it: installed by pip into fresh environments.

Packages that they would have installed besides are those of the lock file, made visible one by one:
nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

WHEEL = Path(os.environ["WHEEL"]).absolute()
PROGRAMS = Path(os.environ["PROGRAMS"]).absolute()
SITE = Path(sysconfig.get_paths()["purelib"])

# What the packages under test themselves import.
TORCH = (
    *("torch", "torchgen", "functorch", "sympy", "mpmath", "networkx", "jinja2", "markupsafe"),
    *("typing_extensions.py", "filelock", "fsspec", "setuptools", "isympy.py"),
)
EXECUTORCH = ("executorch", "flatbuffers", "yaml", "_yaml", "ruamel", "tabulate", "packaging")
NUMPY = ("numpy", "numpy.libs")
RICH = ("rich", "markdown_it", "mdurl", "pygments")


class Environment:
    """A venv with the wheel and some packages of the lock file."""

    def __init__(self, folder: Path, packages: tuple[str, ...]) -> None:
        venv.create(folder, with_pip=True)
        self.folder = folder
        self.bin = folder / "bin"
        self.site = folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
        self.before = self.files()
        self.pip("install", "--no-index", "--no-deps", WHEEL)
        for package in (*packages, *RICH):
            for entry in (SITE / package, *SITE.glob(f"{package}-*.dist-info")):
                if entry.exists() and not (self.site / entry.name).exists():
                    (self.site / entry.name).symlink_to(entry)

    def files(self) -> set[Path]:
        return {p for p in self.folder.rglob("*") if "__pycache__" not in p.parts}

    def pip(self, *arguments: object) -> None:
        subprocess.run(
            [self.bin / "python", "-m", "pip", "-q", "--disable-pip-version-check", *arguments],
            check=True,
            env=self.environment(),
        )

    def environment(self) -> dict[str, str]:
        ours = ("PYTHON", "TRTSCOPE", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
        return {k: v for k, v in os.environ.items() if not k.startswith(ours)}

    def run(self, *command: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(c) for c in command],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment(),
        )

    def python(self, script: str, *arguments: object) -> str:
        done = self.run(self.bin / "python", "-c", script, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def command(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return self.run(self.bin / "trtscope", *arguments)

    def missing(self) -> set[str]:
        """The packages that the doctor misses; it finds nothing that is broken."""
        done = self.command("doctor", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        report = json.loads(done.stdout)
        assert report["problems"] == []
        return {line.split(" is not installed")[0] for line in report["missing"]}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("bare"), ())


def test_without_anything_it_imports_and_says_what_is_missing(bare: Environment) -> None:
    names = "trtscope.profile, trtscope.set_profile_level, trtscope.read_package"
    script = f"import trtscope; {names}; print(trtscope.timing_json()['engines'])"
    assert bare.python(script) == "[]\n"
    assert {"torch", "executorch", "numpy"} <= bare.missing()
    done = bare.command("doctor")
    assert "missing: torch is not installed" in done.stdout
    assert "pip install 'trtscope[torch]' brings it" in done.stdout


@pytest.mark.parametrize(
    ("script", "package"),
    [
        ("trtscope.load_library()", "torch"),
        ("trtscope.compile(None)", "torch"),
        ("trtscope.save(None, 'x.pt2')", "torch"),
        ("import trtscope.executorch as e; e.activate()", "executorch"),
        ("import trtscope.executorch as e; e.lower", "torch"),
    ],
)
def test_what_needs_a_missing_package_names_its_extra(
    bare: Environment, script: str, package: str
) -> None:
    sentence = bare.python(
        "import trtscope\n"
        "try:\n"
        f"    {script}\n"
        "except trtscope.MissingPackageError as error:\n"
        "    print(error)\n"
    )
    assert sentence.startswith(f"{package} is not installed: ")
    assert sentence.count("\n") == 1
    assert f"pip install 'trtscope[{package}]'" in sentence


def test_the_command_needs_one_sentence_too(bare: Environment) -> None:
    done = bare.command("compare", bare.folder, bare.folder)
    assert done.returncode == 1
    assert done.stderr == (
        "trtscope: numpy is not installed: reports and comparisons cannot be made "
        "(pip install 'trtscope[report]' brings it)\n"
    )


def test_with_torch_alone_engines_run_that_need_no_executorch(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv", TORCH)
    plan = {
        "inputs": [{"name": "x", "shape": [2, 3]}],
        "outputs": [{"name": "y", "like": 0}],
    }
    script = (
        "import json, sys, torch, trtscope\n"
        "engine = trtscope.Engine.from_plan(b'null' + sys.argv[1].encode(), name='m')\n"
        "with trtscope.profile(level='phases') as p:\n"
        "    (y,) = engine(torch.zeros(2, 3))\n"
        "print(tuple(y.shape), p.timing()[0]['calls'])\n"
    )
    assert environment.python(script, json.dumps(plan)) == "(2, 3) 1\n"
    missing = environment.missing()
    assert "torch" not in missing
    assert "executorch" in missing


def test_with_executorch_alone_host_plans_load(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv", EXECUTORCH)
    script = (
        "import sys; from pathlib import Path; from trtscope import _libraries\n"
        "plan = Path(sys.argv[1]).read_bytes()\n"
        "print([t['name'] for t in _libraries.core().load_plan(plan, 'mlp')['tensors']])\n"
        "import trtscope.executorch; trtscope.executorch.activate()\n"
        "assert 'torch' not in sys.modules\n"
    )
    assert environment.python(script, PROGRAMS / "mlp.pte").startswith("[")
    missing = environment.missing()
    assert "executorch" not in missing
    assert "torch" in missing


def test_an_unsupported_torch_disables_packages_alone(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv", ())
    (environment.site / "torch").mkdir()
    (environment.site / "torch" / "__init__.py").write_text("__version__ = '2.5.1+cu124'\n")
    script = (
        "import trtscope\n"
        "print(trtscope.get_profile_level())\n"
        "try:\n"
        "    trtscope.load_library()\n"
        "except trtscope.TrtscopeError as error:\n"
        "    print(error)\n"
    )
    level, sentence = environment.python(script).splitlines()
    assert level == "off"
    assert sentence.startswith("torch 2.5.1+cu124 is installed; this trtscope runs .pt2 packages")
    assert "2.11, 2.12, 2.13, 2.14" in sentence
    done = environment.command("doctor")
    assert done.returncode == 1
    assert f"problem: {sentence}" in done.stdout


def test_uninstalling_leaves_nothing(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv", ())
    assert environment.files() - environment.before
    environment.python("import trtscope; trtscope.get_profile_level()")
    for package in RICH:
        for link in environment.site.glob(f"{package}*"):
            link.unlink()
    environment.pip("uninstall", "-y", "trtscope")
    assert environment.files() == environment.before
    assert not (environment.site / "trtscope").exists()
