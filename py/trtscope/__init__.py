"""trtscope: where the time goes in engines hidden inside deployment packages.

::

    program = torch.export.export(model, inputs)
    trtscope.save(trtscope.compile(program, engine_modules=["layers.*"]), "model.pt2")

    runner = trtscope.load("model.pt2")
    with trtscope.profile(level="layers", dir="traces") as p:
        runner(*inputs)
    print(p.table())

Names are imported when they are first used: what needs no torch does not import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from trtscope import builders, executorch
    from trtscope._compile import compile
    from trtscope._control import close_control, open_control
    from trtscope._engine import Engine
    from trtscope._errors import (
        CompileError,
        MissingPackageError,
        PackageError,
        TrtscopeError,
    )
    from trtscope._libraries import load_torch as load_library
    from trtscope._package import read_package
    from trtscope._profile import (
        flush_traces,
        get_profile_execution,
        get_profile_filter,
        get_profile_format,
        get_profile_level,
        get_profile_path_prefix,
        get_profile_sample_interval,
        profile,
        profile_config,
        reset_timing,
        set_profile_execution,
        set_profile_filter,
        set_profile_format,
        set_profile_level,
        set_profile_path_prefix,
        set_profile_sample_interval,
        timing_json,
        timing_table,
    )
    from trtscope._save import Runner, load, save
    from trtscope._state import EngineState

__all__ = [
    "CompileError",
    "Engine",
    "EngineState",
    "MissingPackageError",
    "PackageError",
    "Runner",
    "TrtscopeError",
    "builders",
    "close_control",
    "compile",
    "executorch",
    "flush_traces",
    "get_profile_execution",
    "get_profile_filter",
    "get_profile_format",
    "get_profile_level",
    "get_profile_path_prefix",
    "get_profile_sample_interval",
    "load",
    "load_library",
    "open_control",
    "profile",
    "profile_config",
    "read_package",
    "reset_timing",
    "save",
    "set_profile_execution",
    "set_profile_filter",
    "set_profile_format",
    "set_profile_level",
    "set_profile_path_prefix",
    "set_profile_sample_interval",
    "timing_json",
    "timing_table",
]

_HOMES = {
    "Engine": "_engine",
    "EngineState": "_state",
    "Runner": "_save",
    "close_control": "_control",
    "open_control": "_control",
    "compile": "_compile",
    "load": "_save",
    "read_package": "_package",
    "save": "_save",
    **dict.fromkeys(
        ("CompileError", "MissingPackageError", "PackageError", "TrtscopeError"), "_errors"
    ),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("builders", "executorch"):
        return import_module(f"trtscope.{name}")
    if name == "load_library":
        return import_module("trtscope._libraries").load_torch
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from trtscope._needs import import_for_user

    value = getattr(import_for_user(f"trtscope.{_HOMES.get(name, '_profile')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
