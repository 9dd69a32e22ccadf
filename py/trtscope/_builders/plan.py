"""The ``plan`` builder: engines that were built elsewhere, such as by ``trtexec``.

It builds nothing.  A region of the program becomes an engine whose plan is given, so that a plan
file is deployed inside a ``.pt2`` or ``.pte`` in the place of the PyTorch code that it was built
from.  The builder does not load the plan, so packing a ``.pte`` needs neither TensorRT nor a GPU;
``trtscope.compile`` makes engine objects, which need what runs them.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtscope import _libraries
from trtscope._builders.base import BuildRequest, BuiltEngine, EngineBuilder
from trtscope._errors import CompileError, TrtscopeError
from trtscope._state import HOST_DEVICE

if TYPE_CHECKING:
    import torch

_ON_CPU = ("host", "null")
# Where a TensorRT plan says the compute capability that it was built for (major, minor).
_SM_AT = (124, 132)


class PlanBuilder(EngineBuilder):
    """Gives regions plans that exist.

    ::

        builder = PlanBuilder("encoder.plan", inputs=["x"], outputs=["y"])
        trtscope.compile(program, engine=builder, engine_modules=["encoder"])

    Args:
        plan: the file, or its octets.
        inputs: the plan's names of the region's inputs, in the order in which the PyTorch code
            first uses them.
        outputs: the plan's names of its outputs, likewise.
        region: glob over the names of the regions that get this plan (``*``: any).  A region that
            does not match is an error, and so is a second one that does.
        device: the state's ``id%major%minor%type%name``; by default read from the plan.
    """

    name = "plan"

    def __init__(
        self,
        plan: str | os.PathLike[str] | bytes,
        *,
        inputs: Sequence[str],
        outputs: Sequence[str],
        region: str = "*",
        device: str | None = None,
    ) -> None:
        for what, names in (("inputs", inputs), ("outputs", outputs)):
            if isinstance(names, str) or not all(isinstance(n, str) for n in names):
                raise CompileError(f"{what}={names!r}: expected a list of names")
        if isinstance(plan, bytes):
            self._plan, self._label = plan, "plan"
        else:
            self._label = f"plan {Path(plan)}"
            try:
                self._plan = Path(plan).read_bytes()
            except OSError as error:
                raise CompileError(f"cannot read {self._label}: {error.strerror}") from error
        try:
            self._info: dict[str, Any] = _libraries.core().plan_info(self._plan)
        except Exception as error:
            raise CompileError(f"{self._label}: {error}") from error
        self._inputs, self._outputs = tuple(inputs), tuple(outputs)
        self._region = region
        self._device = device or self._device_of_plan()
        self._used_by: str | None = None
        self._check_names()

    def _check_names(self) -> None:
        """Compares the names with the plan's, where it can be opened: on this machine, those that
        run on the CPU."""
        if self._info["kind"] not in _ON_CPU:
            return
        try:
            tensors = _libraries.core().load_plan(self._plan, self._label)["tensors"]
        except TrtscopeError:
            return  # nothing here runs it; packing it needs none
        for what, names, is_input in (
            ("inputs", self._inputs, True),
            ("outputs", self._outputs, False),
        ):
            has = [t["name"] for t in tensors if t["is_input"] is is_input]
            # A program that knows no names has its tensors numbered (core/engine/host).
            if has == [f"{what[:-1]}_{i}" for i in range(len(has))]:
                continue
            unknown = [n for n in names if n not in has]
            if unknown:
                raise CompileError(
                    f"{self._label} has no {what} {', '.join(map(repr, unknown))}; it has "
                    f"{', '.join(map(repr, has)) or 'none'}"
                )

    def _device_of_plan(self) -> str:
        if self._info["kind"] in _ON_CPU:
            return HOST_DEVICE
        if len(self._plan) < max(_SM_AT) + 4:
            raise CompileError(
                f"{self._label} is cut short: it has {len(self._plan)} octets; its header up to "
                f"the compute capability takes {max(_SM_AT) + 4}"
            )
        major, minor = (struct.unpack_from("<i", self._plan, at)[0] for at in _SM_AT)
        return f"0%{major}%{minor}%0%SM {major}.{minor}"

    def reason_unsupported(self, node: torch.fx.Node) -> str | None:
        return None  # what the plan computes is for whoever built it to know

    def build(self, request: BuildRequest) -> BuiltEngine:
        if not fnmatchcase(request.name, self._region):
            raise CompileError(f"engine {request.name!r}: {self._label} is for {self._region!r}")
        if self._used_by not in (None, request.name):
            raise CompileError(
                f"engine {request.name!r}: {self._label} is the engine of {self._used_by!r} "
                "already; one plan stands for one region (narrow engine_modules)"
            )
        for what, names, tensors in (
            ("inputs", self._inputs, request.metadata.inputs),
            ("outputs", self._outputs, request.metadata.outputs),
        ):
            if len(names) != len(tensors):
                described = ", ".join(f"{t.name} {t.dtype} {list(t.shape)}" for t in tensors)
                raise CompileError(
                    f"engine {request.name!r}: {self._label} was given {len(names)} {what} "
                    f"({', '.join(names)}), the region has {len(tensors)}: {described}"
                )
        self._used_by = request.name
        return BuiltEngine(
            plan=self._plan,
            input_names=self._inputs,
            output_names=self._outputs,
            builder_version=f"{self._info['kind']} {self._info['builder_version']}",
            device=self._device,
        )
