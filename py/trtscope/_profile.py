"""Profiling from Python: settings of the process, and ``with trtscope.profile(...)``.

Settings hold for every engine of the process, those hidden in packages too, from each one's next
call on; see docs on precedence.  Nothing here needs torch.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from trtscope import _libraries
from trtscope._errors import TrtscopeError

Level = Literal["off", "delegate", "phases", "layers"]
Format = Literal["perfetto", "trex", "etdump"]
Row = dict[str, Any]


def set_profile_level(level: str) -> None:
    """``off``, ``delegate`` (whole calls), ``phases`` or ``layers``; each includes those before.

    Turning it off finishes open trace files and may wait for calls in flight.
    """
    _libraries.core().set_profile_level(level)


def get_profile_level() -> str:
    """The level in force: ``off``, ``delegate``, ``phases`` or ``layers``."""
    return str(profile_config()["level"])


def set_profile_execution(enabled: bool) -> None:
    """On turns level ``off`` into ``layers`` and keeps any other; off turns any into ``off``."""
    _libraries.core().set_profile_execution(enabled)


def get_profile_execution() -> bool:
    """Whether the level is anything but ``off``."""
    return get_profile_level() != "off"


def set_profile_format(name: str) -> None:
    """What is written besides the tables: ``perfetto`` or ``trex``."""
    _libraries.core().set_profile_format(name)


def get_profile_format() -> str:
    """The format in force: ``perfetto``, ``trex`` or ``etdump``."""
    return str(profile_config()["format"])


def set_profile_path_prefix(folder: str | os.PathLike[str]) -> None:
    """The folder of the trace files; the first file creates it."""
    _libraries.core().set_profile_path_prefix(os.fspath(folder))


def get_profile_path_prefix() -> str:
    """The folder in force."""
    return str(profile_config()["path_prefix"])


def set_profile_filter(glob: str) -> None:
    """Which engines the level reaches: a glob over engine ids, ``*`` for all."""
    _libraries.core().set_profile_filter(glob)


def get_profile_filter() -> str:
    """The glob in force."""
    return str(profile_config()["filter"])


def set_profile_sample_interval(calls: int) -> None:
    """Which calls are measured on the GPU: their device time and, at ``layers``, their layers.

    Both cost host time (events recorded and read, a context with a profiler), so by default not
    every call pays for them.  Engines on the host are measured at every call.

    Args:
        calls: one call in this many; 0 (the default) keeps what the two add together under
            a twentieth of the engine's host time.
    """
    _libraries.core().set_profile_sample_interval(calls)


def get_profile_sample_interval() -> int:
    """The interval in force; 0: chosen by cost."""
    return int(profile_config()["sample_interval"])


def profile_config() -> dict[str, Any]:
    """One coherent copy: level, format, path_prefix, filter, sample_interval, generation."""
    config: dict[str, Any] = json.loads(_libraries.core().config_json())
    return config


@cache
def names() -> dict[str, Any]:
    """The names table of the core: phases, events, file suffixes."""
    table: dict[str, Any] = json.loads(_libraries.core().names_json())
    return table


def timing_table() -> str:
    """What was measured since the last reset, one row an engine."""
    return str(_libraries.core().timing_table())


def timing_json() -> dict[str, Any]:
    """The counters with every figure (integer nanoseconds) and each layer."""
    timing: dict[str, Any] = json.loads(_libraries.core().timing_json())
    return timing


def reset_timing() -> None:
    """Sets every counter to zero."""
    _libraries.core().reset_timing()


def flush_traces() -> list[Path]:
    """Finishes open trace files; those finished since the last call."""
    return [Path(line) for line in _libraries.core().flush_traces().splitlines()]


class profile:  # noqa: N801 (used like a function)
    """Profiles every engine that runs inside a ``with`` block.

    ::

        with trtscope.profile(level="layers", dir="traces") as p:
            runner(x)
        print(p.table())
        pandas.DataFrame(p.timing())

    The settings before the block are in force again after it, also after an exception.  They are
    the process's, so blocks must not overlap in several threads.

    Args:
        level: ``delegate``, ``phases`` or ``layers``.
        dir: folder of the trace files; by default a new one in the system's temporary folder.
        format: ``perfetto`` or ``trex``.
        filter: glob over engine ids.
        sample_interval: see :func:`set_profile_sample_interval`.
        reset: start counting at zero, so that the block's tables hold the block alone.
    """

    def __init__(
        self,
        level: Level | str = "phases",
        dir: str | os.PathLike[str] | None = None,
        format: Format | str = "perfetto",
        filter: str = "*",
        *,
        sample_interval: int = 0,
        reset: bool = True,
    ) -> None:
        self._sample_interval = sample_interval
        self._level, self._format, self._filter, self._reset = level, format, filter, reset
        if dir is not None and not os.fspath(dir):
            raise TrtscopeError(
                "dir is empty: name a folder, or leave it out for a new temporary one"
            )
        self._dir = Path(dir) if dir is not None else None
        self._exit: ExitStack | None = None
        self._files: list[Path] = []
        self._table: str | None = None
        self._timing: dict[str, Any] | None = None

    @property
    def dir(self) -> Path:
        """Where the trace files are."""
        if self._dir is None:
            self._dir = Path(tempfile.mkdtemp(prefix="trtscope-"))
        return self._dir

    def __enter__(self) -> profile:
        if self._exit is not None:
            raise RuntimeError("this profile is active already; make another one")
        core = _libraries.core()
        before = profile_config()
        self._table = self._timing = None
        self._files = []
        with ExitStack() as stack:
            # Undone in reverse order: the level goes back last, when all else is as it was, but
            # is off meanwhile, so that no call writes under mixed settings.
            stack.callback(core.set_profile_level, before["level"])
            for setter, old in (
                (core.set_profile_sample_interval, before["sample_interval"]),
                (core.set_profile_filter, before["filter"]),
                (core.set_profile_format, before["format"]),
                (core.set_profile_path_prefix, before["path_prefix"]),
            ):
                stack.callback(setter, old)
            stack.callback(self._finish)
            core.set_profile_level("off")
            flush_traces()
            if self._reset:
                core.reset_timing()
            core.set_profile_path_prefix(os.fspath(self.dir))
            core.set_profile_format(self._format)
            core.set_profile_filter(self._filter)
            core.set_profile_sample_interval(self._sample_interval)
            core.set_profile_level(self._level)
            self._exit = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._exit is not None
        stack, self._exit = self._exit, None
        stack.close()

    def _finish(self) -> None:
        _libraries.core().set_profile_level("off")
        self._collect()
        self._table = timing_table()
        self._timing = timing_json()

    def _collect(self) -> None:
        self._files += [f for f in flush_traces() if f not in self._files]

    def files(self) -> list[Path]:
        """Trace files finished so far; all of them after the block."""
        if self._exit is not None:
            self._collect()
        return list(self._files)

    def table(self) -> str:
        """The table of the block; so far, when inside it."""
        return timing_table() if self._table is None else self._table

    def raw(self) -> dict[str, Any]:
        """Everything that was measured, as ``timing_json`` gives it."""
        return timing_json() if self._timing is None else self._timing

    def timing(self) -> list[Row]:
        """A row for each engine: id, name, calls, errors, and for each phase its total, median and
        99th percentile in milliseconds (``inputs_ms``, ``inputs_p50_ms``, ...)."""
        return engine_rows(self.raw())

    def layers(self) -> list[Row]:
        """A row for each layer, in execution order: engine, position, layer, count, and times in
        milliseconds (``total_ms``, ``mean_ms``, ``p50_ms``, ``p99_ms``, ``min_ms``, ``max_ms``).
        Empty below level ``layers``."""
        return layer_rows(self.raw())


_SUMMARY: tuple[tuple[str, Callable[[dict[str, Any]], float]], ...] = (
    ("total_ms", lambda s: s["total_ns"] / 1e6),
    ("mean_ms", lambda s: s["total_ns"] / s["count"] / 1e6 if s["count"] else 0.0),
    ("p50_ms", lambda s: s["p50_ns"] / 1e6),
    ("p99_ms", lambda s: s["p99_ns"] / 1e6),
    ("min_ms", lambda s: s["min_ns"] / 1e6),
    ("max_ms", lambda s: s["max_ns"] / 1e6),
)


def engine_rows(timing: dict[str, Any]) -> list[Row]:
    """``profile.timing()`` of a ``timing_json()``."""
    rows = []
    for engine in timing["engines"]:
        row: Row = {
            "engine": engine["id"],
            "name": engine["name"],
            "implementation": engine["implementation"],
            "runtime": engine["runtime"],
            "calls": engine["calls"],
            "errors": engine["errors"],
        }
        for column, summary in engine["phases"].items():
            prefix = "" if column == "total" else f"{column}_"
            names = _SUMMARY if column == "total" else _SUMMARY[:4]
            for suffix, read in names:
                if prefix and suffix == "total_ms":
                    row[f"{column}_ms"] = read(summary)
                elif not prefix or suffix != "mean_ms":
                    row[f"{prefix}{suffix}"] = read(summary)
        rows.append(row)
    return rows


def layer_rows(timing: dict[str, Any]) -> list[Row]:
    """``profile.layers()`` of a ``timing_json()``."""
    return [
        {
            "engine": engine["id"],
            "position": position,
            "layer": layer["name"],
            "count": layer["count"],
            **{name: read(layer) for name, read in _SUMMARY},
        }
        for engine in timing["engines"]
        for position, layer in enumerate(engine["layers"])
    ]
