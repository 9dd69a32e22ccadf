"""Engines inside ExecuTorch's ``.pte`` programs.

::

    program = torch.export.export(model, inputs)
    edge = trtscope.executorch.lower(program, partitioners=[XnnpackPartitioner()])
    trtscope.save(edge, "model.pte", etrecord=True)

    runner = trtscope.load("model.pte", profile_level="phases", etdump=True)
    runner(*inputs)
    runner.write_etdump("model.etdp")

``activate()`` alone is enough for programs that stock ``executorch.runtime`` loads: before or
after it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trtscope.executorch._blob import write_blob
    from trtscope.executorch._library import activate, load_options
    from trtscope.executorch._lower import TensorRTBackend, TrtscopePartitioner, lower
    from trtscope.executorch._read_timeline import read_timeline
    from trtscope.executorch._runner import PteRunner, load
    from trtscope.executorch._save import save
    from trtscope.executorch._timeline import Timeline

_HOMES = {
    "PteRunner": "_runner",
    "TensorRTBackend": "_lower",
    "Timeline": "_timeline",
    "TrtscopePartitioner": "_lower",
    "activate": "_library",
    "load": "_runner",
    "load_options": "_library",
    "lower": "_lower",
    "read_timeline": "_read_timeline",
    "save": "_save",
    "write_blob": "_blob",
}

__all__ = [
    "PteRunner",
    "TensorRTBackend",
    "Timeline",
    "TrtscopePartitioner",
    "activate",
    "load",
    "load_options",
    "lower",
    "read_timeline",
    "save",
    "write_blob",
]


def __getattr__(name: str) -> Any:
    from trtscope._needs import import_for_user
    from trtscope._progress import quiet

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with quiet():  # what ExecuTorch imports says which GPU libraries it does without
        module = import_for_user(f"{__name__}.{_HOMES[name]}")
    return getattr(module, name)
