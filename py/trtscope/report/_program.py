"""Steps of ExecuTorch programs: from ETDumps that lie beside the traces."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from trtscope._errors import TrtscopeError

_SUFFIX = ".etdp"


def program_data(
    folder: Path, etrecord: str | os.PathLike[str] | None = None
) -> list[dict[str, Any]]:
    """For each ETDump: ``file``, and either ``method`` and ``steps`` or an ``error``.

    A record gives the steps their graph nodes and source lines.
    """
    return [
        _program(file, etrecord)
        for file in sorted(folder.glob(f"*{_SUFFIX}"))
        if not file.is_fifo()
    ]


def _program(file: Path, etrecord: str | os.PathLike[str] | None) -> dict[str, Any]:
    try:
        from trtscope.executorch import read_timeline
        from trtscope.executorch._save import ETRECORD_SUFFIX

        beside = file.with_suffix(ETRECORD_SUFFIX)
        record = etrecord or (beside if beside.is_file() else None)
        return {"file": file.name, **read_timeline(file, record).to_json()}
    except (ImportError, TrtscopeError) as error:
        if etrecord is not None:
            raise TrtscopeError(f"{file} with record {etrecord}: {error}") from error
        return {"file": file.name, "error": f"its steps are not shown: {error}"}
