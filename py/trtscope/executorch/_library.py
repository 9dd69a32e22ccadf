"""Loads the delegate into the process, in any order with ``executorch.runtime``."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from trtscope import _libraries
from trtscope._errors import PackageError, TrtscopeError, one_line
from trtscope._needs import require

_CORE = "libexecutorch.so"

#: The delegate's name in programs.
BACKEND = "TensorRTBackend"

#: Options of a method, by the names that ``trtscope.load`` takes.
OPTION_KEYS = {
    "profile_level": "torchtrt_profile_level",
    "profile_format": "torchtrt_profile_format",
    "profile_path_prefix": "torchtrt_profile_path_prefix",
    "profile_filter": "torchtrt_profile_filter",
    "weight_streaming_budget": "weight_streaming_budget",
    "target_device": "target_device",
}


def executorch_folder() -> Path:
    """The installed package's folder, found without importing it.

    Raises:
        TrtscopeError: it is not installed, or has no libraries.
    """
    spec = find_spec("executorch")
    for root in (spec.submodule_search_locations or []) if spec else []:
        if (Path(root) / "lib" / _CORE).is_file():
            return Path(root)
    require("executorch")
    raise TrtscopeError(
        "the package executorch that is installed has no lib/libexecutorch.so; "
        "executorch==1.5.1 has one"
    )


@cache
def activate() -> ctypes.CDLL:
    """Registers the backend ``TensorRTBackend`` with the process's ExecuTorch, once.

    Raises:
        TrtscopeError: a library is not there, or another one has taken the name.
    """
    _libraries.load_core()
    # The delegate needs this library by its name: it is the one that Python's bindings need too.
    ctypes.CDLL(str(executorch_folder() / "lib" / _CORE))
    half = _libraries.open_library(_libraries.EXECUTORCH)
    half.trtscope_executorch_load_error.restype = ctypes.c_char_p
    half.trtscope_executorch_last_error.restype = ctypes.c_char_p
    half.trtscope_executorch_clear_last_error.restype = None
    half.trtscope_executorch_check_program.argtypes = [ctypes.c_char_p]
    half.trtscope_executorch_check_program.restype = ctypes.c_int
    half.trtscope_executorch_check_option.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    half.trtscope_executorch_check_option.restype = ctypes.c_int
    half.trtscope_executorch_set_load_option.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    half.trtscope_executorch_set_load_option.restype = None
    half.trtscope_executorch_clear_load_options.restype = None
    if (message := half.trtscope_executorch_load_error()) is not None:
        raise TrtscopeError(message.decode("utf-8", "replace"))
    return half


def check_program(path: Path) -> None:
    """
    Raises:
        PackageError: the file is no whole program, or its tables are damaged.
    """
    if not activate().trtscope_executorch_check_program(os.fsencode(path)):
        raise PackageError(_last_error())


@contextmanager
def errors_as(kind: type[TrtscopeError], what: str) -> Iterator[None]:
    """Errors of ExecuTorch in the block are raised as ``kind``, with the delegate's own reason
    where the failure is the delegate's."""
    activate().trtscope_executorch_clear_last_error()
    try:
        yield
    # Sizes and indices in a damaged file may be anything.
    except (RuntimeError, MemoryError, IndexError) as error:
        raise kind(f"{what}: {_last_error() or one_line(error)}") from error


def _last_error() -> str:
    """What this thread's last failure in the delegate was; empty when there was none."""
    text: bytes = activate().trtscope_executorch_last_error()
    return text.decode("utf-8", "replace")


def option_texts(options: Mapping[str, object]) -> dict[str, str]:
    """The options that have a value, by the delegate's own keys.

    Raises:
        TrtscopeError: an option is not known, or its value is not one of those.
    """
    half = activate()
    texts = {}
    for name, value in options.items():
        if name not in OPTION_KEYS:
            raise TrtscopeError(f"unknown option {name!r}; known: {', '.join(OPTION_KEYS)}")
        if value is None:
            continue
        key, text = OPTION_KEYS[name], str(value)
        if "\0" in text:
            raise TrtscopeError(f"option {name!r}: {text!r} holds a zero byte")
        if not half.trtscope_executorch_check_option(key.encode(), os.fsencode(text)):
            raise TrtscopeError(_last_error())
        texts[key] = text
    return texts


class _ThisThread(threading.local):
    def __init__(self) -> None:
        self.load_options: dict[str, str] = {}


_this_thread = _ThisThread()


@contextmanager
def load_options(options: Mapping[str, object]) -> Iterator[None]:
    """Load-time options (``OPTION_KEYS``) for the methods that this thread loads in the block.

    In a block within another one the outer's options hold too, where the inner has none of the
    same name.

    Raises:
        TrtscopeError: an option is not known, or its value is not one of those.
    """
    outer = _this_thread.load_options
    inner = outer | option_texts(options)
    try:
        _set_load_options(inner)
        yield
    finally:
        _set_load_options(outer)


def _set_load_options(texts: dict[str, str]) -> None:
    half = activate()
    half.trtscope_executorch_clear_load_options()
    for key, text in texts.items():
        half.trtscope_executorch_set_load_option(key.encode(), os.fsencode(text))
    _this_thread.load_options = texts
