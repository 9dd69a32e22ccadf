"""For tests: packages made by hand, octet for octet as other programs' exporters write them, and
engines that do nothing."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

import trtscope
from trtscope._package import ENGINE_CLASS
from trtscope._recording import Spans
from trtscope._state import EngineState


def pickle_object(fields: Sequence[str], class_name: str = ENGINE_CLASS) -> bytes:
    """A custom object whose state is a list of strings, as TorchScript pickles it."""
    module, _, name = class_name.rpartition(".")
    out = io.BytesIO()
    out.write(b"\x80\x02c" + f"{module}\n{name}\n".encode() + b"q\x00)\x81")
    out.write(b"ctorch.jit._pickle\nrestore_type_tag\nq\x01](")
    for field in fields:
        data = field.encode()
        out.write(b"X" + struct.pack("<I", len(data)) + data)
    out.write(b"eX" + struct.pack("<I", 9) + b"List[str]\x86Rb.")
    return wrap_pickle(out.getvalue())


def wrap_pickle(pickled: bytes) -> bytes:
    """The zip in which torch keeps a pickled object."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/version", "3\n")
    return buffer.getvalue()


def write_package(
    path: Path, objects: Sequence[bytes], metadata: dict[str, str] | None = None
) -> Path:
    """An AOTInductor package with these custom objects and code that cannot be loaded."""
    root = path.stem
    with zipfile.ZipFile(path, "w") as archive:
        names = {f"_torchbind_obj{i}": f"custom_obj_{i}" for i in range(len(objects))}
        model = f"{root}/data/aotinductor/model"
        archive.writestr(f"{model}/custom_objs_config.json", json.dumps(names))
        archive.writestr(
            f"{model}/abc.wrapper_metadata.json",
            json.dumps({"AOTI_DEVICE_KEY": "cuda", "AOTI_MACHINE": "x86_64", **(metadata or {})}),
        )
        archive.writestr(f"{model}/abc.wrapper.so", b"no library")
        for i, data in enumerate(objects):
            archive.writestr(f"{root}/data/constants/custom_obj_{i}", data)
    return path


def tensorrt_plan(version: Sequence[int] = (10, 3, 0, 26), size: int = 4096) -> bytes:
    """Octets that begin like a TensorRT plan and mean nothing."""
    return b"ftrt" + bytes(20) + bytes(version) + bytes(size - 28)


def foreign_state(name: str = "_run_on_acc_0_engine", plan: bytes | None = None) -> EngineState:
    """An engine as Torch-TensorRT packs it: opaque metadata, another platform."""
    return EngineState(
        name=name,
        plan=tensorrt_plan() if plan is None else plan,
        input_names=("x",),
        output_names=("output0",),
        device="0%9%0%0%NVIDIA H200",
        metadata="gASVDAAAAAAAAACMCGV4YW1wbGWULg==",
        target_platform="linux_aarch64",
    )


def spans(durations_ns: Iterable[float], track: int = 1) -> Spans:
    """Spans of calls 1, 2, ... of so long each, a millisecond apart."""
    durations = array("q", map(int, durations_ns))
    count = len(durations)
    starts = array("q", (1_000_000 * i for i in range(count)))
    return Spans(array("q", range(1, count + 1)), starts, durations, array("q", [track] * count))


def null_engine(
    name: str, layers: int = 0, layer_ns: int = 1000
) -> tuple[trtscope.Engine, tuple[torch.Tensor]]:
    """An engine that does nothing, in so many layers, and inputs for it."""
    plan = {
        "inputs": [{"name": "x", "shape": [-1, 8], "min": [1, 8], "max": [16, 8]}],
        "outputs": [{"name": "y", "like": 0}],
        "layers": layers,
        "layer_ns": layer_ns,
    }
    engine = trtscope.Engine.from_plan(b"null" + json.dumps(plan).encode(), name=name)
    return engine, (torch.zeros(2, 8),)
