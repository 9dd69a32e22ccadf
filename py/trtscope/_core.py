"""The C interface of ``libtrtscope_core.so`` (core/profiling/trtscope.h, core/engine/c_api.h).

Called through ctypes, so one package serves every Python; other threads run while a call waits.
Texts of the library may hold any octets: what is no UTF-8 is replaced.  Functions that fail raise
:class:`TrtscopeError` with the library's own message.
"""

from __future__ import annotations

import ctypes
import json
import operator
from collections.abc import Sequence
from typing import Any

from trtscope import _libraries
from trtscope._errors import TrtscopeError

_library = _libraries.load_core()

# Of texts: their addresses, which have to be freed.
_TEXT = ctypes.c_void_p
_INT_MAX = 2 ** (8 * ctypes.sizeof(ctypes.c_int) - 1) - 1


def _declare(name: str, result: Any, arguments: Sequence[Any] = ()) -> Any:
    function: Any = getattr(_library, f"trtscope_{name}")
    function.restype = result
    function.argtypes = list(arguments)
    return function


_version = _declare("version", ctypes.c_char_p)
_last_error = _declare("last_error", ctypes.c_char_p)
_free = _declare("free", None, [ctypes.c_void_p])

_set_level = _declare("set_profile_level", ctypes.c_int, [ctypes.c_char_p])
_set_format = _declare("set_profile_format", ctypes.c_int, [ctypes.c_char_p])
_set_path_prefix = _declare("set_profile_path_prefix", ctypes.c_int, [ctypes.c_char_p])
_set_filter = _declare("set_profile_filter", ctypes.c_int, [ctypes.c_char_p])
_set_execution = _declare("set_profile_execution", ctypes.c_int, [ctypes.c_int])
_set_sample_interval = _declare("set_profile_sample_interval", ctypes.c_int, [ctypes.c_int])

_get_config = _declare("get_config", _TEXT)
_timing_table = _declare("timing_table", _TEXT)
_timing_json = _declare("timing_json", _TEXT)
_reset_timing = _declare("reset_timing", None)
_flush_traces = _declare("flush_traces", _TEXT)
_names_json = _declare("names_json", _TEXT)
_start_control = _declare("start_control", _TEXT)
_stop_control = _declare("stop_control", None)
_control_folder = _declare("control_folder", _TEXT)

_plan_info = _declare("plan_info", _TEXT, [ctypes.c_char_p, ctypes.c_size_t])
_load_plan = _declare(
    "load_plan", _TEXT, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int]
)
_doctor_json = _declare("doctor_json", _TEXT)


def _decode(octets: bytes) -> str:
    return octets.decode("utf-8", "replace")


def _failure() -> TrtscopeError:
    return TrtscopeError(_decode(_last_error()))


def _take(address: int | None) -> str:
    """The text at an address, which is freed."""
    if address is None:
        raise _failure()
    try:
        return _decode(ctypes.string_at(address))
    finally:
        _free(address)


def _check(code: int) -> None:
    if code != 0:
        raise _failure()


def _octets(what: str, text: str) -> bytes:
    """For the library, whose texts end in a zero byte: one inside would cut the rest off."""
    if not isinstance(text, str):
        raise TypeError(f"{what} {text!r}: expected a str, got {type(text).__name__}")
    octets = text.encode("utf-8", "surrogateescape")  # paths may hold any octets
    head, zero, _ = octets.partition(b"\0")
    if zero:
        raise TrtscopeError(
            f"{what} '{_decode(head)}...': holds a zero byte after {len(head)} octets"
        )
    return octets


def version() -> str:
    """``major.minor.patch`` of the library."""
    return _decode(_version())


def set_profile_level(level: str) -> None:
    _check(_set_level(_octets("setting", level)))


def set_profile_format(format: str) -> None:
    _check(_set_format(_octets("setting", format)))


def set_profile_path_prefix(folder: str) -> None:
    _check(_set_path_prefix(_octets("setting", folder)))


def set_profile_filter(glob: str) -> None:
    _check(_set_filter(_octets("setting", glob)))


def set_profile_sample_interval(calls: int) -> None:
    # Python's integers have no end; the library's do, and ctypes would cut them.
    value = operator.index(calls)
    if not -_INT_MAX - 1 <= value <= _INT_MAX:
        raise TrtscopeError(f"sample interval {value} is out of range")
    _check(_set_sample_interval(value))


def set_profile_execution(enabled: bool) -> None:
    _check(_set_execution(int(bool(enabled))))


def config_json() -> str:
    return _take(_get_config())


def timing_table() -> str:
    return _take(_timing_table())


def timing_json() -> str:
    return _take(_timing_json())


def reset_timing() -> None:
    _reset_timing()


def flush_traces() -> str:
    """The paths finished since the last call, one a line."""
    return _take(_flush_traces())


def names_json() -> str:
    return _take(_names_json())


def start_control() -> str:
    """The path of the socket on which this process now answers."""
    return _take(_start_control())


def stop_control() -> None:
    _stop_control()


def control_folder() -> str:
    return _take(_control_folder())


def plan_info(plan: bytes) -> dict[str, Any]:
    """Kind, builder_version, hash and size of a plan, from its octets alone."""
    info: dict[str, Any] = json.loads(_take(_plan_info(plan, len(plan))))
    return info


def load_plan(plan: bytes, name: str, cuda_device: int = 0) -> dict[str, Any]:
    """``plan_info``, and what the loaded engine says: runtime_version, tensors, profile_count,
    inspector."""
    octets = _octets("engine", name)
    loaded: dict[str, Any] = json.loads(_take(_load_plan(plan, len(plan), octets, cuda_device)))
    return loaded


def doctor_json() -> str:
    """CUDA and TensorRT as ``core/engine/tensorrt/doctor.h`` tells them."""
    return _take(_doctor_json())
