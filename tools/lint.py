"""Checks the form of every file that git knows: BUILD files, C++, Python.

Run as `tools/lint [--fix] [PATH...]`; the tests run it too.  Its tools are those of the build
(third_party), so that everyone has the same versions.
"""

import argparse
import os
import pathlib
import subprocess
import sys

BUILD_NAMES = ("BUILD", "BUILD.bazel", "MODULE.bazel")


def source_files(root: pathlib.Path, paths: list[str]) -> list[str]:
    # New files too.  The owner may differ where a container mounts the tree: git would refuse.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "--"]
    listing = subprocess.run(command + paths, cwd=root, check=True, capture_output=True, text=True)
    names = {n for n in listing.stdout.splitlines() if n}
    return sorted(n for n in names if (root / n).is_file() and not (root / n).is_symlink())


def is_starlark(name: str) -> bool:
    base = name.rsplit("/", 1)[-1]
    return base in BUILD_NAMES or base.endswith((".bzl", ".BUILD"))


def checks(
    files: list[str], buildifier: str, bin_dir: pathlib.Path, fix: bool
) -> list[tuple[str, list[str]]]:
    """The commands to run, with names; only those that have files to look at."""
    starlark = [f for f in files if is_starlark(f)]
    cpp = [f for f in files if f.endswith((".h", ".cc", ".c", ".cu"))]
    python = [f for f in files if f.endswith((".py", ".pyi"))]
    typed = sorted({f.split("/")[0] for f in python if f.startswith("py/")})
    tool = {n: str(bin_dir / n) for n in ("clang-format", "ruff", "mypy")}
    mode = ["-mode=fix"] if fix else ["-mode=check"]
    found = [
        ("buildifier", [buildifier, *mode, "-lint=off", *starlark], starlark),
        (
            "clang-format",
            [tool["clang-format"], *(["-i"] if fix else ["--dry-run", "-Werror"]), *cpp],
            cpp,
        ),
        ("ruff check", [tool["ruff"], "check", *(["--fix"] if fix else []), *python], python),
        (
            "ruff format",
            [tool["ruff"], "format", *([] if fix else ["--check", "--diff"]), *python],
            python,
        ),
        (
            "mypy",
            [tool["mypy"], "--strict", f"--python-executable={bin_dir / 'python'}", *typed],
            typed,
        ),
    ]
    return [(name, command) for name, command, inputs in found if inputs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="folders and files, from the top; default all")
    parser.add_argument("--fix", action="store_true", help="rewrite files instead of complaining")
    parser.add_argument("--buildifier", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--root", help=argparse.SUPPRESS)
    args = parser.parse_args()

    # Under `bazel run` the tree is named; as a test, a file of it leads there.
    root = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    where = pathlib.Path(root) if root else pathlib.Path(args.root).resolve().parent
    buildifier = str(pathlib.Path(args.buildifier).resolve())
    # Not resolved: the venv's link to the interpreter is what makes it the venv.
    bin_dir = pathlib.Path(sys.executable).parent
    scratch = os.environ.get("TEST_TMPDIR")
    environment = dict(os.environ)
    if scratch:
        environment |= {"MYPY_CACHE_DIR": f"{scratch}/mypy", "RUFF_CACHE_DIR": f"{scratch}/ruff"}

    failed = []
    for name, command in checks(source_files(where, args.paths), buildifier, bin_dir, args.fix):
        print(f"== {name}", flush=True)
        if subprocess.run(command, cwd=where, env=environment).returncode != 0:
            failed.append(name)
    print(f"lint: {'failed: ' + ', '.join(failed) if failed else 'all is well'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
