"""The environment variables that a user may set, besides those of the names table: a part of
docs/reference.md, and what environment_test.py compares the sources with."""

from __future__ import annotations

from typing import NamedTuple


class Variable(NamedTuple):
    name: str
    meaning: str


#: Read by the libraries, the Python package and the runner.
RUNNING = (
    Variable(
        "TRTSCOPE_TENSORRT",
        "TensorRT libraries or folders of them, joined by `:`, asked before all others; an entry "
        "without a TensorRT library is an error.",
    ),
    Variable(
        "TRTSCOPE_TENSORRT_LOG",
        "Prints TensorRT's own messages from this severity on: `error`, `warning`, `info` or "
        "`verbose`; any other value is `warning`. Unset: none, errors still say what it said.",
    ),
    Variable("TRTSCOPE_CUDA", "The CUDA driver's library to open, and no other."),
    Variable(
        "TRTSCOPE_EXECUTORCH_LIB",
        "The folder of `libexecutorch.so` for host plans; an ExecuTorch that the process has open "
        "comes first.",
    ),
    Variable(
        "TRTSCOPE_CONTROL",
        "1 opens the socket that `trtscope top` and `trtscope attach` talk to, for this user "
        "alone; 0 or unset: none.",
    ),
    Variable(
        "XDG_RUNTIME_DIR",
        "That socket lies below it; below `/tmp`, in a folder of the user's own, when unset.",
    ),
    Variable(
        "NVTX_INJECTION64_PATH",
        "NVTX's own: the library of a tool that listens to the ranges of calls and phases. The "
        "tool sets it for the processes that it starts.",
    ),
    Variable("TRTSCOPE_PLUGIN_DIR", "The folder of `libtrtscope_host.so`, looked at first."),
    Variable(
        "TRTSCOPE_RUNTIME_PATH",
        "Python: more folders of runtime libraries, joined by `:`, before those of installed "
        "packages.",
    ),
    Variable(
        "TRTSCOPE_LIBRARY_DIR",
        "Python: a folder of `libtrtscope_*.so`, looked at before the package's own.",
    ),
    Variable("LD_LIBRARY_PATH", "Folders that are searched for TensorRT libraries."),
    Variable("VIRTUAL_ENV", "Its packages are searched for TensorRT libraries."),
    Variable("TMPDIR", "Where traces go when no path prefix is set; `/tmp` when unset."),
    Variable("CXX", "The C++ compiler with which AOTInductor makes a package."),
    Variable("XDG_CACHE_HOME", "The demo writes below it; `~/.cache` when unset."),
)

#: Read when the tree is built and tested.
BUILDING = (
    Variable("PYTHON3_11", "The Python 3.11 to build with: a name on `PATH` or a path."),
    Variable(
        "PIP_EXTRA_INDEX_URL",
        "pip's own: an index that has PyTorch's CPU wheels, if pip needs one.",
    ),
    Variable(
        "BAZEL_OFFLINE_HOME",
        "Where `tools/bazel` installs Bazel; `bazel-offline` in the user's cache when unset.",
    ),
    Variable(
        "DEBIAN_MIRROR",
        "The Debian archive of `tools/bazel`'s Bazel and of the sysroots; by default the machine's "
        "own.",
    ),
    Variable(
        "DRIVE_OS_SYSROOT",
        "With `--repo_env=`: an SDK's sysroot for aarch64, in the place of Debian 11's; not below "
        "`/tmp`, which the sandbox hides.",
    ),
    Variable("PYTHON", "The Python that `tools/bazel` installs Bazel with."),
    Variable("TRTSCOPE_BAZEL_STARTUP", "Startup options for the Bazel that `tools/lint` runs."),
    Variable("TRTSCOPE_SOAK_SECONDS", "How long the soak and concurrency tests run."),
    Variable("TRTSCOPE_SOAK_KILLS", "How many processes the kill test ends in their midst."),
    Variable("TRTSCOPE_FUZZ_SECONDS", "How long delegate blobs are mutated."),
    Variable(
        "TENSORRT_INCLUDE",
        "A folder of TensorRT's headers, with which the conformance test compares the layouts; "
        "that one case is skipped when unset.",
    ),
    Variable("CUDA_INCLUDE", "CUDA's headers for the same; `/usr/local/cuda/include` when unset."),
    Variable("QEMU_AARCH64", "The qemu that runs aarch64 tests."),
)
