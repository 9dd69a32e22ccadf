"""Engine builders, public: use one with options, or add one of your own.

``trtscope.compile(program, engine=HostBuilder(xnnpack=True))``

``trtscope.compile(program, engine=PlanBuilder("m.plan", inputs=["x"], outputs=["y"]))``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trtscope._builders import (
    BuildRequest,
    BuiltEngine,
    EngineBuilder,
    builder_names,
    get_builder,
    register_builder,
)

if TYPE_CHECKING:
    from trtscope._builders.host import HostBuilder
    from trtscope._builders.plan import PlanBuilder

__all__ = [
    "BuildRequest",
    "BuiltEngine",
    "EngineBuilder",
    "HostBuilder",
    "PlanBuilder",
    "builder_names",
    "get_builder",
    "register_builder",
]


def __getattr__(name: str) -> Any:
    if name == "HostBuilder":
        from trtscope._builders.host import HostBuilder

        return HostBuilder
    if name == "PlanBuilder":
        from trtscope._builders.plan import PlanBuilder

        return PlanBuilder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
