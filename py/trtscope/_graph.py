"""What this package asks of nodes of an exported graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import Node

from trtscope._errors import CompileError


def value_of(node: Node) -> Any:
    """The node's fake value: a tensor, SymInt, list of them, or None."""
    return node.meta.get("val")


def tensors_of(node: Node) -> Iterator[torch.Tensor]:
    """Fake tensors that the node gives: none, one or several."""
    value = value_of(node)
    values = value if isinstance(value, (list, tuple)) else (value,)
    for item in values:
        if isinstance(item, torch.Tensor):
            yield item


def is_symbolic(node: Node) -> bool:
    """Whether the node gives a number (a size, or arithmetic over sizes) instead of tensors."""
    value = value_of(node)
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool))


def expression(value: Any) -> Any:
    """The sympy expression of an int or SymInt."""
    import sympy

    return value.node.expr if isinstance(value, torch.SymInt) else sympy.Integer(int(value))


def dim_text(value: Any) -> int | str:
    """A dimension as engine metadata spells it: an int, or an expression over symbols."""
    expr = expression(value)
    return int(expr) if expr.is_number else expression_text(expr)


def expression_text(expr: Any) -> str:
    """A sympy expression in the arithmetic that ``_metadata.evaluate`` reads."""
    from torch.utils._sympy.printers import PythonPrinter

    return str(PythonPrinter().doprint(expr))


def operator_name(node: Node) -> str:
    """The operator's name, such as ``aten.linear.default``; a function's own name otherwise."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return getattr(target, "__name__", str(target))


#: In ExecuTorch's optimized kernels but not in its portable list: kept whole, which saves a
#: transposition of the weights in every call.
LINEAR = torch.ops.aten.linear.default


def is_matrix_linear(node: Node) -> bool:
    """Whether the node is a whole ``aten.linear`` as ExecuTorch's kernel computes it: not of a
    vector."""
    if node.target is not LINEAR or not isinstance(node.args[0], Node):
        return False
    value = value_of(node.args[0])
    return isinstance(value, torch.Tensor) and value.dim() >= 2


def module_paths(node: Node) -> list[str]:
    """Paths of the modules that the node's code ran in, outermost first, the model itself not.

    A module that was called more than once has ``@N`` after its path from its second call on.
    """
    paths = []
    for key, (path, _) in node.meta.get("nn_module_stack", {}).items():
        text = path.removeprefix("L['self'].").removeprefix("L['self']")
        if not text or text.startswith("_empty_nn_module_stack"):
            continue
        call = key.rpartition("@")[2] if "@" in key else ""
        paths.append(f"{text}@{call}" if call and "@" not in text else text)
    return paths


def check_bounded(name: str, low: int, high: int | None, region: str) -> None:
    """Refuses a dynamic dimension without an upper bound."""
    if high is None:
        raise CompileError(
            f"engine {region!r}: dynamic dimension {name} has no upper bound, which sizing its "
            "memory needs; export with torch.export.Dim(..., max=N)"
        )
    if low > high:
        raise CompileError(f"engine {region!r}: dynamic dimension {name} has bounds {low}..{high}")
