"""The trailer that tells whether a program is what was written (core/base/checksum.h).

Damage becomes an error where ExecuTorch's runtime, which ignores the trailer, would crash.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

_CHUNK = 1 << 20


def with_checksum(program: bytes) -> bytes:
    """The program and its trailer."""
    return program + _trailer(zlib.crc32(program), len(program))


def append_checksum(path: Path) -> None:
    """Gives the program in a file its trailer."""
    checksum = size = 0
    with path.open("r+b") as file:
        while chunk := file.read(_CHUNK):
            checksum = zlib.crc32(chunk, checksum)
            size += len(chunk)
        file.write(_trailer(checksum, size))


def _trailer(checksum: int, size: int) -> bytes:
    return struct.pack("<4sIQ", b"TSCK", checksum, size)
