"""Finds this package's libraries and loads them in the order they need.

``libtrtscope_core.so`` needs nothing; ``libtrtscope_torch.so`` needs it and torch, one for each
torch minor in a folder of that name (``torch_2_13``).  All lie in the package's ``lib`` folder, or
in the one that ``TRTSCOPE_LIBRARY_DIR`` names.  Runtime libraries of other packages (ExecuTorch's)
are found without importing those packages: their folders are told to the core, which opens what a
plan asks for when it does.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from trtscope import _coexistence
from trtscope._errors import TrtscopeError
from trtscope._needs import require

ENV_LIBRARY_DIR = "TRTSCOPE_LIBRARY_DIR"
#: More folders for runtime libraries, joined by ``:``, looked at before the packages' own.
ENV_RUNTIME_PATH = "TRTSCOPE_RUNTIME_PATH"

CORE = "libtrtscope_core.so"
TORCH = "libtrtscope_torch.so"
HOST = "libtrtscope_host.so"
EXECUTORCH = "libtrtscope_executorch.so"

# Packages that carry runtime libraries, with the folder of each that holds them.
_RUNTIME_PACKAGES = (
    ("executorch", "lib"),
    ("tensorrt_libs", ""),
    ("tensorrt_lean_libs", ""),
    ("tensorrt_dispatch_libs", ""),
    ("tensorrt_rtx_libs", ""),
    ("tensorrt", ""),
)

_lock = threading.RLock()
_loaded: dict[str, ctypes.CDLL] = {}


# The variables that name folders: core/engine/host/loader.h's, and this module's.
_ENV_FOLDERS = ("TRTSCOPE_PLUGIN_DIR", "TRTSCOPE_EXECUTORCH_LIB", ENV_LIBRARY_DIR, ENV_RUNTIME_PATH)


@dataclass(frozen=True)
class Library:
    """A library that was looked for: its name, and where it is; None when it is not there."""

    name: str
    path: Path | None


def folders() -> list[Path]:
    """Where this package's libraries are looked for, in order."""
    return [*_named_by(ENV_LIBRARY_DIR), Path(__file__).parent / "lib"]


def find(name: str) -> Library:
    """The first file of this name in ``folders()``."""
    for folder in folders():
        if (folder / name).is_file():
            return Library(name, folder / name)
    return Library(name, None)


def torch_minors() -> list[str]:
    """The torch minors that there is a library for, such as ``2.13``, oldest first."""
    found = {
        folder.name.removeprefix("torch_").replace("_", ".")
        for where in folders()
        for folder in where.glob("torch_*_*")
        if (folder / TORCH).is_file()
    }
    return sorted(found, key=lambda minor: [int(part) for part in minor.split(".")])


def half_of(minor: str) -> str:
    """The name under ``folders()`` of the library for a torch minor."""
    return f"torch_{minor.replace('.', '_')}/{TORCH}"


def torch_half(version: str) -> str:
    """The name under ``folders()`` of the library for a torch version.

    Raises:
        TrtscopeError: there is none; the message says which there are.
    """
    minor = ".".join(version.split(".")[:2])
    supported = torch_minors()
    if minor not in supported:
        raise TrtscopeError(
            f"torch {version} is installed; this trtscope runs .pt2 packages with torch "
            f"{', '.join(supported) or '(none: this installation of trtscope is not whole)'}"
        )
    return half_of(minor)


def runtime_folders() -> list[Path]:
    """Folders of runtime libraries: those of the environment, then those of installed packages."""
    found = _named_by(ENV_RUNTIME_PATH)
    for package, sub in _RUNTIME_PACKAGES:
        spec = find_spec(package)
        for root in (spec.submodule_search_locations or []) if spec else []:
            if (folder := Path(root) / sub).is_dir():
                found.append(folder)
    return found


def folders_not_there() -> list[str]:
    """Each folder that a variable names and that does not exist, a sentence each."""
    return [
        f"{variable} names {folder}, which is no folder"
        for variable in _ENV_FOLDERS
        for folder in _named_by(variable)
        if not folder.is_dir()
    ]


def _named_by(variable: str) -> list[Path]:
    value = os.environ.get(variable, "")
    # The one that is joined like PATH; a folder of the others may have a colon in its name.
    parts = value.split(os.pathsep) if variable == ENV_RUNTIME_PATH else [value]
    return [Path(p) for p in parts if p]


def open_library(name: str, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
    """Opens one of this package's libraries.

    Raises:
        TrtscopeError: it is not there or cannot be loaded.
    """
    library = find(name)
    if library.path is None:
        looked = ", ".join(
            str(f) if f.is_dir() else f"{f} (there is no such folder)" for f in folders()
        )
        raise TrtscopeError(
            f"{name} is not in {looked}: this installation of trtscope is not whole"
        )
    try:
        return ctypes.CDLL(str(library.path), mode=mode)
    except OSError as error:
        raise TrtscopeError(f"{library.path} cannot be loaded: {error}") from error


def _open(name: str) -> ctypes.CDLL:
    if name not in _loaded:
        _loaded[name] = open_library(name, ctypes.RTLD_LOCAL)
    return _loaded[name]


def load_core() -> ctypes.CDLL:
    """Loads the core, once, and tells it where runtime libraries are.

    Raises:
        TrtscopeError: it is not there or cannot be loaded.
    """
    with _lock:
        first = CORE not in _loaded
        core = _open(CORE)
        if first:
            add = core.trtscope_add_library_path
            add.argtypes = [ctypes.c_char_p]
            add.restype = None
            for folder in (*runtime_folders(), *folders()):
                add(os.fsencode(folder))
        return core


def devices_and_tensorrt() -> dict[str, Any]:
    """CUDA's driver and devices, and every TensorRT library found with what it would run
    (``core/engine/tensorrt/doctor.h``).  Opens those libraries, which may take seconds.

    Raises:
        TrtscopeError: the core is not there or cannot be loaded.
    """
    report: dict[str, Any] = json.loads(core().doctor_json())
    return report


def core() -> ModuleType:
    """The module ``trtscope._core``.

    Raises:
        TrtscopeError: the core is not there or cannot be loaded.
    """
    load_core()  # before the import: no thread then waits for this lock inside of it
    return import_module("trtscope._core")


def load_torch() -> Any:
    """Loads the LibTorch half, once; then ``torch.ops.tensorrt`` and ``torch.classes.tensorrt``
    are there, with the operators' fakes.  Returns ``torch.ops.tensorrt``.

    Raises:
        ImportError: another library has registered these names in this process.
        TrtscopeError: torch is not there, or there is no library for its version.
    """
    require("torch")
    import torch

    with _lock:
        if (name := torch_half(torch.__version__)) not in _loaded:
            load_core()
            if _is_registered():
                raise ImportError(_coexistence.TAKEN)
            half = _open(name)
            report = half.trtscope_torch_load_error
            report.restype = ctypes.c_char_p
            if (message := report()) is not None:
                raise ImportError(message.decode("utf-8", "replace"))
            _coexistence.refuse_the_other()
        from trtscope import _fake

        _fake.register()
        return torch.ops.tensorrt


def _is_registered() -> bool:
    import torch

    return bool(torch._C._dispatch_has_kernel("tensorrt::execute_engine")) or (
        "tensorrt::execute_engine" in torch._C._dispatch_get_all_op_names()
    )
