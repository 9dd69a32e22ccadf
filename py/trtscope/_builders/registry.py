"""Finds engine builders by name."""

from __future__ import annotations

import importlib.metadata

from trtscope._builders.base import EngineBuilder
from trtscope._errors import CompileError

ENTRY_POINT_GROUP = "trtscope.builders"

_registered: dict[str, type[EngineBuilder]] = {}


def register_builder(builder: type[EngineBuilder]) -> type[EngineBuilder]:
    """Adds a builder class under its ``name``, before any of the same name; usable as decorator."""
    _registered[builder.name] = builder
    return builder


def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    return {e.name: e for e in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)}


def builder_names() -> list[str]:
    """Names that ``get_builder`` knows, sorted."""
    return sorted({"host", *_registered, *_entry_points()})


def get_builder(engine: str | EngineBuilder) -> EngineBuilder:
    """The builder itself, or a new one of this name.

    Raises:
        CompileError: no builder has the name; the message lists those there are.
    """
    if isinstance(engine, EngineBuilder):
        return engine
    if engine in _registered:
        return _registered[engine]()
    if engine == "host":
        from trtscope._builders.host import HostBuilder

        return HostBuilder()
    entry = _entry_points().get(engine)
    if entry is None:
        raise CompileError(
            f"there is no engine builder {engine!r}; known: {', '.join(builder_names())}"
        )
    loaded = entry.load()
    if not (isinstance(loaded, type) and issubclass(loaded, EngineBuilder)):
        raise CompileError(f"entry point {entry.value!r} is no EngineBuilder class")
    return loaded()
