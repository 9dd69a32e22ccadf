"""What a method takes: inputs are compared with its plan before ExecuTorch sees them, which answers
a wrong one with the number of an error alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trtscope._errors import TrtscopeError
from trtscope._inputs import dtype_text, tensor_text
from trtscope.executorch._program import InputTensor


class MethodInputs:
    """The inputs of one method of the program in ``path``."""

    def __init__(self, path: Path, method: str, planned: Sequence[InputTensor | None]) -> None:
        self._label = f"{path}, method {method!r}"
        self._planned = tuple(planned)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs as ExecuTorch takes them: their memory is as planned.

        Raises:
            TrtscopeError: their number, or the type, dtype, rank or size of one, is not the
                method's.
        """
        if len(inputs) != len(self._planned):
            raise TrtscopeError(
                f"{self._label}: got {len(inputs)} inputs; expected {len(self._planned)}: "
                + (", ".join(self._text(p) for p in self._planned) or "none")
            )
        return [self._one(i, value) for i, value in enumerate(inputs)]

    def unlike_planned(self, inputs: Sequence[Any]) -> str:
        """The first input whose shape is not the planned one, in words; empty when there is none.

        Such a shape may be right, and is worth a word once a call has failed: the plan says that
        sizes may vary, not which.
        """
        for i, (planned, value) in enumerate(zip(self._planned, inputs, strict=True)):
            if planned is not None and tuple(value.shape) != planned.sizes:
                return (
                    f"input {i} is {tensor_text(value)}; the program planned for {planned} at most"
                )
        return ""

    def made_up(self) -> list[Any]:
        """Random inputs of the planned sizes; whole numbers are zero.

        Raises:
            TrtscopeError: an input is no tensor, or of a type that is not known.
        """
        import torch

        generator = torch.Generator().manual_seed(0)
        inputs = []
        for i, planned in enumerate(self._planned):
            if planned is None or planned.dtype is None:
                raise TrtscopeError(
                    f"{self._label}: input {i} cannot be made up; pass --inputs FILE.pt"
                )
            value = torch.zeros(planned.sizes)
            if planned.dtype.startswith(("float", "bfloat")):
                value = torch.randn(planned.sizes, generator=generator)
            inputs.append(value.to(getattr(torch, planned.dtype)))
        return inputs

    def _one(self, index: int, value: Any) -> Any:
        import torch

        planned = self._planned[index]
        if planned is None:
            if isinstance(value, torch.Tensor):
                raise self._refusal(index, f"is {tensor_text(value)}; expected a number, no tensor")
            return value
        if not isinstance(value, torch.Tensor):
            raise self._refusal(
                index, f"is of type {type(value).__name__}; expected a tensor, {planned}"
            )
        if value.layout != torch.strided or value.device.type == "meta":
            where = "meta" if value.device.type == "meta" else value.layout
            raise self._refusal(index, f"is a {where} tensor; expected a dense one, {planned}")
        wrong_type = planned.dtype is not None and dtype_text(value.dtype) != planned.dtype
        wrong_size = planned.static and tuple(value.shape) != planned.sizes
        if wrong_type or wrong_size or value.dim() != len(planned.sizes):
            raise self._refusal(index, f"is {tensor_text(value)}; expected {planned}")
        # A parameter is no tensor to ExecuTorch.
        return _laid_out(value.detach().as_subclass(torch.Tensor), planned.dim_order)

    def _refusal(self, index: int, what: str) -> TrtscopeError:
        return TrtscopeError(f"{self._label}: input {index} {what}")

    @staticmethod
    def _text(planned: InputTensor | None) -> str:
        return "a number" if planned is None else str(planned)


def _laid_out(value: Any, order: tuple[int, ...]) -> Any:
    """The same numbers, in memory as planned: dimensions in this order, outermost first.

    ExecuTorch looks at the address alone and takes the order for the planned one; of a tensor that
    says of itself that it is in another it refuses most, so this one says it is in none.
    """
    return value.permute(order).contiguous().view(value.shape)
