"""Writes ``.pte`` programs, and the ETRecord beside them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtscope._checksum import append_checksum
from trtscope._errors import TrtscopeError, one_line
from trtscope._whole_file import written_whole
from trtscope.executorch._etrecord import etrecord_octets

if TYPE_CHECKING:
    from executorch.exir import (
        EdgeProgramManager,
        ExecutorchBackendConfig,
        ExecutorchProgramManager,
    )

ETRECORD_SUFFIX = ".etrecord"


def save(
    program: Any, path: str | os.PathLike[str], *, etrecord: bool = False, **lowering: Any
) -> Path:
    """Writes a program.

    Args:
        program: of ``lower`` or exir's ``to_edge_transform_and_lower``, of its ``to_executorch``,
            or of ``torch.export.export``, which is then lowered.
        path: of the program; must end in ``.pte``.
        etrecord: also write ``NAME.etrecord``, with which the Inspector and ``trtscope profile``
            name nodes and source lines.  Without, one that is there is removed: it is of another
            program.
        lowering: options of ``lower``, for an exported program.

    Raises:
        TrtscopeError: the program is of another kind, has no ETRecord, or one that ExecuTorch
            cannot write, or a file cannot be written: nothing is written then.
    """
    from executorch.exir import EdgeProgramManager, ExecutorchProgramManager
    from torch.export import ExportedProgram

    path = Path(path)
    if path.suffix != ".pte":
        raise TrtscopeError(f"a program's name must end in .pte: {path}")
    if isinstance(program, ExportedProgram):
        from trtscope.executorch._lower import lower

        program = lower(program, etrecord=etrecord, **lowering)
    elif lowering:
        raise TrtscopeError(f"{', '.join(lowering)}: this program is lowered already")
    if isinstance(program, EdgeProgramManager):
        program = _emitted(program, path)
    if not isinstance(program, ExecutorchProgramManager):
        raise TrtscopeError(
            "a .pte is made of an exported program, an EdgeProgramManager or an "
            f"ExecutorchProgramManager, not of a {type(program).__name__}"
        )
    beside = path.with_suffix(ETRECORD_SUFFIX)
    record = None
    if etrecord:
        try:
            kept = program.get_etrecord()
        except RuntimeError as error:
            raise TrtscopeError(
                "the program has no ETRecord: lower it with generate_etrecord=True, or with "
                "trtscope.executorch.lower"
            ) from error
        record = etrecord_octets(kept, beside)
    with written_whole(path) as part:
        with part.open("wb") as file:
            program.write_to_file(file)
        append_checksum(part)
    if record is None:
        beside.unlink(missing_ok=True)  # one that is there is of the program before
    else:
        with written_whole(beside) as part:
            part.write_bytes(record)
    return path


def _emitted(program: EdgeProgramManager, path: Path) -> ExecutorchProgramManager:
    import torch

    try:
        # What is left to ExecuTorch's kernels is traced with results to write to, which parameters
        # that ask for gradients refuse.
        with torch.no_grad():
            return program.to_executorch(_config(program))
    except Exception as error:
        raise TrtscopeError(
            f"{path}: ExecuTorch cannot make a program of the model: {one_line(error)}"
        ) from error


def _config(program: EdgeProgramManager) -> ExecutorchBackendConfig:
    """Buffers that the model changes begin as they were exported: unless asked, ExecuTorch has them
    begin at zero.  Those of zeros, such as caches, take no place in the file."""
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    names = []
    for method in program.methods:
        exported = program.exported_program(method)
        changed = set(exported.graph_signature.buffers_to_mutate.values())
        for spec in exported.graph_signature.input_specs:
            if spec.target in changed:
                value = exported.state_dict.get(spec.target, exported.constants.get(spec.target))
                if value is not None and value.any():
                    names.append(spec.arg.name)
    return ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(names)] if names else [])
