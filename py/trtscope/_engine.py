"""``trtscope.Engine``: an engine in hand, for those who have one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtscope._errors import TrtscopeError, one_line
from trtscope._metadata import Metadata, TensorSpec
from trtscope._state import HOST_DEVICE, EngineState

if TYPE_CHECKING:
    import torch

_CLASS = "__torch__.torch.classes.tensorrt.Engine"


class Engine:
    """A loaded engine; calling it runs it.

    Profiling settings made here are this engine's own and win over the process-wide ones until
    ``reset_profiling``.  Methods are thread-safe; calls of one engine run one after another.
    """

    def __init__(self, script_object: Any) -> None:
        """Wraps a ``torch.classes.tensorrt.Engine``; see ``from_state`` and ``from_plan``."""
        self._object = script_object

    @classmethod
    def from_state(cls, state: EngineState | Sequence[str]) -> Engine:
        """Loads an engine from its state: an ``EngineState``, or the list with a base64 plan.

        Raises:
            TrtscopeError: the state is malformed, for another platform or version, or nothing
                present can run its plan; the message names the engine.
        """
        from trtscope import _libraries

        _libraries.load_torch()
        import torch

        fields = state.to_list() if isinstance(state, EngineState) else _strings(state)
        # The way of a pickled object: the class's constructor takes raw octets, which Python's
        # strings cannot carry.
        made: Any = torch._C.ScriptObject.__new__(torch._C.ScriptObject)
        try:
            made.__setstate__((fields, _CLASS))
        except RuntimeError as error:
            raise TrtscopeError(one_line(error)) from error
        return cls(made)

    @classmethod
    def from_plan(
        cls,
        plan: str | os.PathLike[str] | bytes,
        *,
        name: str | None = None,
        device: str | None = None,
    ) -> Engine:
        """Loads a serialized engine, given as a file or as its octets.

        Args:
            name: of the engine; a file's stem by default.
            device: ``id%major%minor%type%name`` of the engine state; by default the CPU for host
                plans and the first CUDA device for others.
        """
        from trtscope import _libraries

        if isinstance(plan, bytes):
            octets, stem = plan, "engine"
        else:
            path = Path(plan)
            try:
                octets = path.read_bytes()
            except OSError as error:
                raise TrtscopeError(f"cannot read plan {path}: {error.strerror}") from error
            stem = path.stem
        name = name or stem
        info = _libraries.core().load_plan(octets, name)
        if device is None:
            device = HOST_DEVICE if info["kind"] in ("host", "null") else "0%0%0%0%"
        metadata = _metadata_of(info)
        return cls.from_state(
            EngineState(
                name=name,
                plan=octets,
                input_names=tuple(t.name for t in metadata.inputs),
                output_names=tuple(t.name for t in metadata.outputs),
                device=device,
                metadata=metadata.to_json(),
                output_allocator=any(t["data_dependent"] for t in info["tensors"]),
            )
        )

    @property
    def script_object(self) -> Any:
        """The ``torch.classes.tensorrt.Engine``: what ``execute_engine`` takes."""
        return self._object

    @property
    def id(self) -> str:
        """``name-hash-ordinal``: how tables, traces and filters call it."""
        return str(self._object.engine_id())

    @property
    def name(self) -> str:
        return str(self._object.name())

    def state(self) -> EngineState:
        """Its state as a package holds it (a copy of the plan included)."""
        state = self._object.__getstate__()
        return EngineState.from_list(state[0] if isinstance(state, tuple) else state)

    def layers_json(self) -> str:
        """The inspector's JSON, ``{"Layers": [...], ...}``."""
        return str(self._object.get_engine_layer_info())

    def enable_profiling(self, level: str = "layers") -> None:
        """Profiles this engine at ``level``, whatever the process-wide setting."""
        self._object.set_profile_level(level)

    def disable_profiling(self) -> None:
        """Stops profiling this engine, whatever the process-wide setting."""
        self._object.disable_profiling()

    def reset_profiling(self) -> None:
        """Follows the process-wide setting again."""
        self._object.reset_profiling()

    def set_profile_format(self, name: str) -> None:
        self._object.set_profile_format(name)

    def set_profile_path_prefix(self, folder: str | os.PathLike[str]) -> None:
        self._object.set_profile_path_prefix(os.fspath(folder))

    def __call__(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        """Runs the engine; inputs and outputs in the order of its names."""
        import torch

        outputs = torch.ops.tensorrt.execute_engine(list(inputs), self._object)
        return list(outputs)

    def __repr__(self) -> str:
        return f"trtscope.Engine({self.id!r})"


def _strings(state: Any) -> list[str]:
    """The list of an engine's state, which torch takes apart without saying what was wrong."""
    if isinstance(state, (str, bytes)) or not isinstance(state, Sequence):
        raise TrtscopeError(
            f"engine state is of type {type(state).__name__}; expected an EngineState or a list of "
            "strings"
        )
    for i, field in enumerate(state):
        if not isinstance(field, str):
            raise TrtscopeError(
                f"engine state: item {i} is of type {type(field).__name__}; expected a string"
            )
    return list(state)


def _metadata_of(info: dict[str, Any]) -> Metadata:
    """Metadata of a plan of which only the bindings are known.

    Dynamic dimensions of inputs at the same position are taken to be one symbol (a batch, mostly),
    and an output's to be the inputs' at that position.  A dimension that follows from none, or
    from data, is left for the engine to tell when it runs.
    """
    symbols: dict[str, tuple[int, int | None]] = {}
    inputs, outputs = [], []
    by_position: dict[int, str] = {}
    tensors = info["tensors"]
    for tensor in tensors:
        if not tensor["is_input"]:
            continue
        shape: list[int | str | None] = []
        for i, size in enumerate(tensor["shape"]):
            if size >= 0:
                shape.append(size)
                continue
            ranges = tensor["profiles"]
            low = min((r["min"][i] for r in ranges), default=0)
            high = max((r["max"][i] for r in ranges), default=None)
            symbol = by_position.setdefault(i, f"d{i}")
            known = symbols.get(symbol)
            if known is not None:
                low = max(low, known[0])
                high = min(h for h in (high, known[1], 2**62) if h is not None)
            symbols[symbol] = (low, high)
            shape.append(symbol)
        inputs.append(TensorSpec(tensor["name"], tensor["dtype"], tuple(shape)))
    for tensor in tensors:
        if tensor["is_input"]:
            continue
        dims: list[int | str | None] = []
        for i, size in enumerate(tensor["shape"]):
            if size >= 0:
                dims.append(size)
            else:
                dims.append(None if tensor["data_dependent"] else by_position.get(i))
        outputs.append(TensorSpec(tensor["name"], tensor["dtype"], tuple(dims)))
    return Metadata(tuple(inputs), tuple(outputs), symbols, info["kind"], info["builder_version"])
