"""Writes ``.pte`` programs, and the ETRecord beside them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from trtscope._errors import TrtscopeError
from trtscope._folders import make_folder
from trtscope.executorch._etrecord import etrecord_octets

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
            name nodes and source lines.
        lowering: options of ``lower``, for an exported program.

    Raises:
        TrtscopeError: the program is of another kind, or has no ETRecord, or one that ExecuTorch
            cannot write: nothing is written then.
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
        program = program.to_executorch()
    if not isinstance(program, ExecutorchProgramManager):
        raise TrtscopeError(
            "a .pte is made of an exported program, an EdgeProgramManager or an "
            f"ExecutorchProgramManager, not of a {type(program).__name__}"
        )
    make_folder(path.parent)
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
    with path.open("wb") as file:
        program.write_to_file(file)
    if record is not None:
        beside.write_bytes(record)
    return path
