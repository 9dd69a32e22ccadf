"""Engine builders: what turns a region of a model into a plan.

A builder is found by name.  This package brings ``host``; another distribution adds its own with
an entry point in the group ``trtscope.builders`` that names an ``EngineBuilder`` class, and a
program with ``register_builder``.
"""

from __future__ import annotations

from trtscope._builders.base import BuildRequest, BuiltEngine, EngineBuilder
from trtscope._builders.registry import builder_names, get_builder, register_builder

__all__ = [
    "BuildRequest",
    "BuiltEngine",
    "EngineBuilder",
    "builder_names",
    "get_builder",
    "register_builder",
]
