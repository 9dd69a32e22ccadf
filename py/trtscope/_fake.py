"""What torch.export and torch.compile see of ``torch.ops.tensorrt.execute_engine``.

The fake runs on tensors without data.  It reads the engine's metadata (``_metadata.py``) and
gives outputs whose sizes are expressions over the inputs' sizes, so dynamic dimensions survive.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from trtscope._errors import PackageError, TrtscopeError
from trtscope._metadata import Metadata

_OPERATOR = "tensorrt::execute_engine"


@cache
def _parse(text: str) -> Metadata | None:
    return Metadata.from_json(text)


def _state_strings(engine: Any) -> tuple[str, str]:
    """(name, metadata) of an engine, real or as torch.export holds it."""
    real = getattr(engine, "real_obj", engine)
    return str(real.name()), str(real.get_serialized_metadata())


def execute_engine_fake(inputs: list[torch.Tensor], engine: Any) -> list[torch.Tensor]:
    """Empty tensors of the engine's output shapes and dtypes, on the first input's device.

    Raises:
        TrtscopeError: inputs do not fit the engine, or its metadata is another exporter's.
    """
    name, text = _state_strings(engine)
    metadata = _parse(text)
    if metadata is None:
        raise TrtscopeError(
            f"engine {name!r} was exported by another program: it runs and can be profiled as it "
            "is packaged, but it cannot be exported again without this package's metadata"
        )
    try:
        shapes = metadata.output_shapes([x.shape for x in inputs], _new_size)
    except PackageError as error:
        raise TrtscopeError(f"engine {name!r}: {error}") from error
    device = inputs[0].device if inputs else torch.device("cpu")
    return [
        torch.empty(shape, dtype=getattr(torch, spec.dtype), device=device)
        for spec, shape in zip(metadata.outputs, shapes, strict=True)
    ]


def _new_size() -> Any:
    """A size of its own, known only at run time: what data-dependent outputs have."""
    return torch.library.get_ctx().new_dynamic_size()


@cache
def register() -> None:
    """Registers the fake; the operator itself must be there (``_libraries.load_torch``)."""
    torch.library.register_fake(_OPERATOR, execute_engine_fake)
