"""``trtscope.compile``: hides parts of an exported model in engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trtscope._errors import CompileError
from trtscope._needs import require

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

    from trtscope._builders.base import EngineBuilder
    from trtscope._partition import Group

DEFAULT_MIN_BLOCK_SIZE = 5


def compile(
    exported_program: ExportedProgram,
    *,
    engine: str | EngineBuilder = "host",
    min_block_size: int = DEFAULT_MIN_BLOCK_SIZE,
    torch_executed_ops: Sequence[str | torch._ops.OpOverload | torch._ops.OpOverloadPacket] = (),
    engine_modules: Sequence[str] = (),
    progress: bool | None = None,
) -> ExportedProgram:
    """Replaces parts of a model by engines.

    Parameters that an engine uses are baked into its plan.  Dynamic dimensions stay dynamic
    within the bounds they were exported with.  The given program is not changed.

    Args:
        exported_program: of ``torch.export.export``.
        engine: a builder, or the name of one (``trtscope.builders``).
        min_block_size: the fewest operators that are worth an engine of their own.  Not looked at
            with ``engine_modules``.
        torch_executed_ops: operators to keep in torch, such as ``"aten.relu"``.
        engine_modules: globs over module paths, such as ``"encoder.layers.*"``: each module that
            matches becomes one engine, named by its path, and everything else stays in torch.
            Without globs, the largest groups of operators that the builder supports become
            engines named ``_run_on_acc_N_engine``.
        progress: whether to show progress; by default if standard error is a terminal.

    Returns:
        The same model, in which each engine is a call of ``torch.ops.tensorrt.execute_engine``.

    Raises:
        CompileError: no engine could be made of it, or one could not be built.
    """
    require("torch")
    from torch.export import ExportedProgram

    if not isinstance(exported_program, ExportedProgram):
        raise CompileError(
            f"compile takes the result of torch.export.export, not a "
            f"{type(exported_program).__name__}"
        )
    if isinstance(engine_modules, str):
        engine_modules = [engine_modules]

    from trtscope import _libraries
    from trtscope._builders import get_builder
    from trtscope._partition import by_capability, by_modules, check_min_block_size
    from trtscope._progress import quiet

    check_min_block_size(min_block_size)
    builder = get_builder(engine)
    _libraries.load_torch()
    with quiet():
        program = _functional(exported_program)
        groups = (
            by_modules(program, builder, torch_executed_ops, engine_modules)
            if engine_modules
            else by_capability(program, builder, torch_executed_ops, min_block_size)
        )
        return _build(program, groups, builder, progress)


def _build(
    program: ExportedProgram, groups: list[Group], builder: EngineBuilder, progress: bool | None
) -> ExportedProgram:
    from trtscope._builders.base import BuildRequest
    from trtscope._engine import Engine
    from trtscope._progress import each
    from trtscope._region import describe, extract, renamed
    from trtscope._rewrite import replace_regions
    from trtscope._state import EngineState

    # All regions are described before the first is built: a mistake shows at once.
    regions = [describe(program, group) for group in groups]
    engines: dict[str, Any] = {}
    for region in each(regions, f"Building {builder.name} engines", progress=progress):
        request = BuildRequest(region.name, extract(program, region), region.metadata)
        built = builder.build(request)
        metadata = renamed(region.metadata, built.input_names, built.output_names)
        state = EngineState(
            name=region.name,
            plan=built.plan,
            input_names=built.input_names,
            output_names=built.output_names,
            device=built.device,
            metadata=_with_builder(metadata, builder.name, built.builder_version),
            hardware_compatible=built.hardware_compatible,
            output_allocator=built.output_allocator,
            aliased_io=built.aliased_io,
        )
        engines[region.name] = Engine.from_state(state).script_object
    return replace_regions(program, regions, engines)


def _with_builder(metadata: Any, name: str, version: str) -> str:
    from dataclasses import replace

    return str(replace(metadata, builder=name, builder_version=version).to_json())


def _functional(program: ExportedProgram) -> ExportedProgram:
    """The program without operators that change their inputs, and without checks that tracing
    has made already."""
    import torch

    functional: ExportedProgram = program.run_decompositions({})
    graph = functional.graph_module.graph
    for node in list(graph.nodes):
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            graph.erase_node(node)
    functional.graph_module.recompile()
    return functional
