"""Every environment variable that the sources read is in docs/reference.md, and none besides.

Reads the whole tree, as tools/lint does: run every time, outside the sandbox.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import environment
import pytest

ROOT = Path(os.environ["TRTSCOPE_ROOT_FILE"]).resolve().parent

_NAME = r"([A-Z][A-Z0-9_]{2,})"
#: How sources name a variable that they read.
_READS = (
    re.compile(r'\bgetenv\(\s*"' + _NAME + '"'),
    # Of a repository rule, or as an attribute of one.
    re.compile(r'\boverride\s*=\s*"' + _NAME + '"'),
    re.compile(r"\benviron(?:\.get\(|\.pop\(|\[)\s*\"" + _NAME + '"'),
    # A name that reaches getenv through a constant or an argument.
    re.compile(r'\b(?:ENV_\w+|k\w*Variable\w*|kEnv\w+)(?:\[\])?\s*=\s*"' + _NAME + '"'),
    re.compile(r'"((?:TRTSCOPE|TORCHTRT)_[A-Z0-9_]+)"'),
)
_SHELL_READS = (re.compile(r"\$\{" + _NAME + r":?-"),)

#: Given by Bazel, the shell or the tests' own BUILD files: nobody sets these by hand.
GIVEN = {
    "AARCH64_FILES",
    "AARCH64_SYSROOT",
    "BAZEL_REAL",
    "BUILD_WORKING_DIRECTORY",
    "BUILD_WORKSPACE_DIRECTORY",
    "FAKE_NVTX",
    "CPU",
    "GLIBCXX_FLOOR",
    "GLIBC_FLOOR",
    "HOME",
    "PROGRAMS",
    "TESTBRIDGE_TEST_ONLY",
    "TEST_SRCDIR",
    "TEST_TMPDIR",
    "TEST_WORKSPACE",
    "TORCH_MINORS",
    "TRTSCOPE_ENGINE_STATE_H",
    "TRTSCOPE_FAKES",
    "TRTSCOPE_MAKE_ETDUMP",
    "TRTSCOPE_MAKE_TRACE",
    "TRTSCOPE_ROOT_FILE",
    "TRTSCOPE_RUNNER",
    "TRTSCOPE_RUN_ENGINE",
    "TRTSCOPE_TEST_PROGRAMS",
    "WHEEL",
    "XML_OUTPUT_FILE",
}
#: What these read is said where they are.
ELSEWHERE = ("tests/fakes/", "tests/gpu/")
#: Read by programs that the tree runs and by what is built into it, not by its own sources.
OTHERS = {"NVTX_INJECTION64_PATH", "PIP_EXTRA_INDEX_URL"}


def reads_in(text: str, *, shell: bool = False) -> set[str]:
    """The variables that a source reads."""
    patterns = _SHELL_READS if shell else _READS
    return {m.group(1) for pattern in patterns for m in pattern.finditer(text)}


def is_shell(path: Path) -> bool:
    return path.suffix == ".sh" or (not path.suffix and path.read_bytes().startswith(b"#!"))


def reads_of_the_tree() -> dict[str, str]:
    """Each variable that is read, with a file that does."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found: dict[str, str] = {}
    for name in names.splitlines():
        path = ROOT / name
        if name.startswith(ELSEWHERE) or not path.is_file():
            continue
        shell = is_shell(path)
        if not shell and path.suffix not in {".bazel", ".bzl", ".cc", ".h", ".py"}:
            continue
        if path.name == Path(__file__).name:
            continue
        for variable in reads_in(path.read_text(encoding="utf-8"), shell=shell):
            found.setdefault(variable, name)
    return found


def documented() -> set[str]:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    section = page.partition("\n## Environment\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return {m.group(1) for row in rows for m in re.finditer("`" + _NAME + "`", row)}


def test_every_variable_that_is_read_is_documented() -> None:
    reads = reads_of_the_tree()
    assert len(reads) > 20, "the sources were not found"
    missing = {v: where for v, where in reads.items() if v not in documented() | GIVEN}
    assert not missing, f"not in docs/environment.py: {missing}"


def test_every_documented_variable_is_read() -> None:
    listed = {v.name for v in (*environment.RUNNING, *environment.BUILDING)}
    assert listed <= documented(), "run tools/bazel run //docs:generate_reference"
    assert listed - reads_of_the_tree().keys() - OTHERS == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('std::getenv("A_VARIABLE")', {"A_VARIABLE"}),
        ('::getenv(\n    "A_VARIABLE")', {"A_VARIABLE"}),
        ('inline constexpr char kSomeVariable[] = "A_NAME";', {"A_NAME"}),
        ('os.environ["TWO"], os.environ.get("THREE", "4")', {"TWO", "THREE"}),
        ('rctx.os.environ.get("PYTHON", "")', {"PYTHON"}),
        ('ENV_DIR = "SOME_DIR"', {"SOME_DIR"}),
        ('Read("TRTSCOPE_NEW")', {"TRTSCOPE_NEW"}),
        ('environment = {"LC_ALL": "C"}; name = "A_VARIABLE"', set()),
    ],
)
def test_reads_are_seen(text: str, expected: set[str]) -> None:
    assert reads_in(text) == expected


def test_reads_of_shell_are_seen() -> None:
    text = 'a="${ONE:-1}" b="$TWO" c="${THREE}" d="${FOUR-}"'
    assert reads_in(text, shell=True) == {"ONE", "FOUR"}
