"""Delegate blobs, read and written: executorch_backend/blob.h says what they are."""

from __future__ import annotations

import json
import platform
import struct
from collections.abc import Sequence
from typing import Any

from trtscope._errors import PackageError
from trtscope._metadata import TensorSpec

_HEADER = "<4sIIIQ8s"
_ALIGNMENT = 16
_MAGIC = (b"TR01", b"TR02")


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
    header = struct.pack(
        _HEADER, _MAGIC[bool(aliased_io)], start, len(text), offset, len(plan), b""
    )
    return (header + text).ljust(offset, b"\0") + plan


def read_blob(blob: bytes | memoryview) -> tuple[dict[str, Any], bytes | memoryview]:
    """Its metadata and its plan; of a plan alone, no metadata.

    Raises:
        PackageError: it is neither; the delegate's own parser says more of what is wrong.
    """
    if bytes(blob[:4]) not in _MAGIC:
        return {}, blob
    try:
        _, start, size, plan_start, plan_size, _ = struct.unpack_from(_HEADER, blob)
        metadata = json.loads(bytes(blob[start : start + size]))
    except (struct.error, ValueError) as error:
        raise PackageError(f"delegate blob: {error}") from error
    plan = blob[plan_start : plan_start + plan_size]
    if not isinstance(metadata, dict) or len(plan) != plan_size:
        raise PackageError(
            f"delegate blob: expected an object of metadata and a plan of {plan_size} octets, got "
            f"a {type(metadata).__name__} and {len(plan)} octets"
        )
    return metadata, plan
