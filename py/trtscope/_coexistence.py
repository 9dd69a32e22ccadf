"""One of two libraries in a process: Torch-TensorRT registers the names that trtscope's LibTorch
half registers, and torch ends the process where both do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_OTHER = "torch_tensorrt"

#: Why trtscope is not loaded where the other library is there first.
TAKEN = (
    "trtscope cannot be loaded into this process: another library (Torch-TensorRT's runtime?) has "
    "already registered torch.ops.tensorrt; load one of the two"
)
_REFUSED = (
    "torch_tensorrt cannot be imported into this process: trtscope has already registered "
    "torch.ops.tensorrt; load one of the two"
)


class _Refusal(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == _OTHER:
            raise ImportError(_REFUSED, name=name)
        return None


def refuse_the_other() -> None:
    """From here on, importing Torch-TensorRT is an ImportError instead of the process's end."""
    if not any(isinstance(finder, _Refusal) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Refusal())
