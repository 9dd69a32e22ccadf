"""Plans for the fake TensorRT libraries, as fake_plan.h makes them.

python3 fake_plan.py OUT.plan 8.6.0.12 '{"io": [...]}'
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

HEADER = 160


def make_fake_plan(
    program: dict[str, Any], version: str = "8.6.0.12", sm: int = 90, magic: bytes = b"ftrt"
) -> bytes:
    """`program` is described in fake_plan.h; `version` is the builder's, of four numbers."""
    body = json.dumps(program).encode()
    plan = bytearray(HEADER)
    plan[0:4] = magic
    struct.pack_into("<Q", plan, 16, HEADER + len(body))
    plan[24:28] = bytes(int(part) for part in version.split("."))
    plan[56:60] = b"ptrt"
    struct.pack_into("<IiIi", plan, 120, 0x00018007, sm // 10, 0x00018007, sm % 10)
    return bytes(plan) + body


def main(argv: list[str]) -> None:
    out, version, program = argv
    Path(out).write_bytes(make_fake_plan(json.loads(program), version))


if __name__ == "__main__":
    main(sys.argv[1:])
