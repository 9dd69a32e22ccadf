"""Delegate blobs, written: executorch_backend/blob.h says what they are."""

from __future__ import annotations

import json
import platform
import struct
from collections.abc import Sequence

from trtscope._metadata import TensorSpec

_HEADER = "<4sIIIQ8s"
_ALIGNMENT = 16


def write_blob(
    plan: bytes,
    *,
    name: str,
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
    aliased_io: Sequence[tuple[str, str, str]] = (),
    hardware_compatible: bool = False,
    device_id: int = 0,
    metadata: str = "",
) -> bytes:
    """A blob whose arguments are ``inputs``, then ``outputs``.

    ``aliased_io``: (output, input, kind) of each output that is an input's memory.
    """
    bindings = [
        {
            "name": tensor.name,
            "dtype": tensor.dtype,
            "shape": [-1 if isinstance(d, str) else d for d in tensor.shape],
            "is_input": is_input,
        }
        for tensors, is_input in ((inputs, True), (outputs, False))
        for tensor in tensors
    ]
    text = json.dumps(
        {
            "name": name,
            "io_bindings": bindings,
            "aliased_io": [
                {"output": output, "input": source, "kind": kind}
                for output, source, kind in aliased_io
            ],
            "hardware_compatible": hardware_compatible,
            "device_id": device_id,
            "serialized_metadata": metadata,
            "target_platform": f"linux_{platform.machine()}",
        },
        separators=(",", ":"),
    ).encode()
    start = struct.calcsize(_HEADER)
    offset = -(-(start + len(text)) // _ALIGNMENT) * _ALIGNMENT
    magic = b"TR02" if aliased_io else b"TR01"
    header = struct.pack(_HEADER, magic, start, len(text), offset, len(plan), b"")
    return (header + text).ljust(offset, b"\0") + plan
