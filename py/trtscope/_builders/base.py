"""The interface of an engine builder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trtscope._metadata import Metadata

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram


@dataclass(frozen=True)
class BuildRequest:
    """One region to build.

    ``program`` is the region alone: its parameters are inside, its inputs are tensors in the
    order of ``metadata.inputs``, and its dynamic dimensions carry their bounds.
    """

    name: str
    program: ExportedProgram
    metadata: Metadata


@dataclass(frozen=True)
class BuiltEngine:
    """A plan, with the names by which it knows its inputs and outputs.

    The names are in the order of the region's inputs and outputs.  ``device`` is the state's
    ``id%major%minor%type%name``.
    """

    plan: bytes
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    builder_version: str
    device: str
    hardware_compatible: bool = False
    output_allocator: bool = False
    aliased_io: tuple[tuple[str, str, str], ...] = field(default_factory=tuple)


class EngineBuilder(ABC):
    """Turns regions of an exported program into plans.

    A builder is used by one thread at a time and may be used for many programs.
    """

    #: The name that ``trtscope.compile(engine=...)`` takes.
    name: str

    @abstractmethod
    def reason_unsupported(self, node: torch.fx.Node) -> str | None:
        """Why this ``call_function`` node of a functional ATen graph cannot be in an engine.

        None when it can.  A reason completes the sentence "NODE cannot be in an engine: ...".
        """

    def supports(self, node: torch.fx.Node) -> bool:
        """Whether the node can be in an engine."""
        return self.reason_unsupported(node) is None

    @abstractmethod
    def build(self, request: BuildRequest) -> BuiltEngine:
        """Builds one plan; may take minutes.

        Raises:
            CompileError: the region cannot be built; the message names it and what is wrong.
        """
