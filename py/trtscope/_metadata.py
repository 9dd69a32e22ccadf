"""String 7 of an engine's state: how outputs' shapes follow from inputs' shapes.

A package's engines say nothing to Python but this string, so it is what the fake of
``execute_engine`` reads when a model is exported or compiled.  It is JSON::

    {"trtscope": 1,
     "builder": "host", "builder_version": "executorch 1.5.1",
     "symbols": {"s77": [1, 16]},
     "inputs":  [{"name": "x", "dtype": "float32", "shape": ["s77", 8]}],
     "outputs": [{"name": "y", "dtype": "float32", "shape": ["2*s77", 4]}]}

A dimension is an integer, an expression over the symbols, or, in an output, null where only
running the engine can tell it.  Each symbol is, alone, a dimension
of some input; its bounds are inclusive, the upper one null where there is none.  Expressions know
``+ - * // % ** max min`` and parentheses, and nothing else: reading one never runs code.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import Any

from trtscope._errors import PackageError

FORMAT = 1

Dim = int | str | None


@dataclass(frozen=True)
class TensorSpec:
    """Name, dtype (as torch spells it, without ``torch.``) and shape of an input or output."""

    name: str
    dtype: str
    shape: tuple[Dim, ...]

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype, "shape": list(self.shape)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TensorSpec:
        shape = tuple(data["shape"])
        if not all(d is None or isinstance(d, (int, str)) for d in shape):
            raise TypeError(f"shape {shape} holds something that is no dimension")
        return cls(str(data["name"]), str(data["dtype"]), shape)


@dataclass(frozen=True)
class Metadata:
    """What an engine takes and gives.  ``symbols``: bounds of each symbol, inclusive."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    symbols: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)
    builder: str = ""
    builder_version: str = ""

    def to_json(self) -> str:
        return json.dumps(
            {
                "trtscope": FORMAT,
                "builder": self.builder,
                "builder_version": self.builder_version,
                "symbols": {name: list(bounds) for name, bounds in self.symbols.items()},
                "inputs": [spec.to_json() for spec in self.inputs],
                "outputs": [spec.to_json() for spec in self.outputs],
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> Metadata | None:
        """Reads the string; None when it was written by another exporter.

        Raises:
            PackageError: it is ours, but of another format or malformed.
        """
        try:
            data = json.loads(text)
        except ValueError:
            return None
        if not isinstance(data, dict) or "trtscope" not in data:
            return None
        if data["trtscope"] != FORMAT:
            raise PackageError(
                f"engine metadata has format {data['trtscope']!r}; this release reads {FORMAT}"
            )
        try:
            return cls(
                inputs=tuple(TensorSpec.from_json(t) for t in data["inputs"]),
                outputs=tuple(TensorSpec.from_json(t) for t in data["outputs"]),
                symbols={name: (low, high) for name, (low, high) in data["symbols"].items()},
                builder=str(data.get("builder", "")),
                builder_version=str(data.get("builder_version", "")),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PackageError(f"engine metadata is malformed: {error!r}") from error

    def bind(self, shapes: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """The symbols' values, from inputs' shapes (of ints, SymInts, or anything that adds).

        Raises:
            PackageError: the number of inputs or a rank differs from the engine's.
        """
        if len(shapes) != len(self.inputs):
            raise PackageError(f"got {len(shapes)} inputs, expected {len(self.inputs)}")
        values: dict[str, Any] = {}
        for spec, shape in zip(self.inputs, shapes, strict=True):
            if len(shape) != len(spec.shape):
                raise PackageError(
                    f"input {spec.name!r} has {len(shape)} dimensions, expected "
                    f"{len(spec.shape)}: {list(spec.shape)}"
                )
            for dim, size in zip(spec.shape, shape, strict=True):
                if isinstance(dim, str) and dim in self.symbols:
                    values.setdefault(dim, size)
        return values

    def output_shapes(
        self, shapes: Sequence[Sequence[Any]], unknown: Callable[[], Any] = lambda: None
    ) -> list[list[Any]]:
        """Shape of each output for inputs of ``shapes``; ``unknown`` gives each dimension that
        only running the engine can tell."""
        values = self.bind(shapes)

        def size(dim: Dim) -> Any:
            if dim is None:
                return unknown()
            return evaluate(dim, values) if isinstance(dim, str) else dim

        return [[size(dim) for dim in spec.shape] for spec in self.outputs]


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


@dataclass(frozen=True)
class Arithmetic:
    """What an expression's operators do to values that are no plain numbers."""

    floordiv: Callable[[Any, Any], Any]
    mod: Callable[[Any, Any], Any]
    max: Callable[[Any, Any], Any]
    min: Callable[[Any, Any], Any]


def _sym(name: str) -> Callable[[Any, Any], Any]:
    def fold(a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b) if name == "max" else min(a, b)
        import torch

        combine: Callable[[Any, Any], Any] = torch.sym_max if name == "max" else torch.sym_min
        return combine(a, b)

    return fold


#: For ints, SymInts, and fx proxies of them.
NUMBERS = Arithmetic(operator.floordiv, operator.mod, _sym("max"), _sym("min"))


def evaluate(expression: str, values: Mapping[str, Any], arithmetic: Arithmetic = NUMBERS) -> Any:
    """The value of a dimension's expression, given its symbols' values.

    Raises:
        PackageError: it does not parse, holds something that is no arithmetic, or names a symbol
            that has no value.
    """

    def walk(node: ast.AST) -> Any:
        match node:
            case ast.Expression(body):
                return walk(body)
            case ast.Constant(value) if isinstance(value, int):
                return value
            case ast.Name(id=name):
                if name not in values:
                    raise PackageError(f"dimension {expression!r}: no input has symbol {name!r}")
                return values[name]
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                if isinstance(op, ast.Pow) and not (
                    isinstance(right, ast.Constant)
                    and isinstance(right.value, int)
                    and 0 <= right.value <= 8
                ):
                    raise PackageError(f"dimension {expression!r}: the exponent must be 0 to 8")
                combine = {ast.FloorDiv: arithmetic.floordiv, ast.Mod: arithmetic.mod}.get(
                    type(op), _BINARY[type(op)]
                )
                return combine(walk(left), walk(right))
            case ast.UnaryOp(ast.USub(), operand):
                return -walk(operand)
            case ast.Call(ast.Name(id=name), args, []) if name in ("max", "min") and args:
                return reduce(getattr(arithmetic, name), [walk(a) for a in args])
        raise PackageError(f"dimension {expression!r} is not arithmetic over symbols")

    return walk(_parse(expression))


@lru_cache(maxsize=1024)  # calls of a package evaluate the same few again and again
def _parse(expression: str) -> ast.Expression:
    try:
        return ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise PackageError(f"dimension {expression!r} does not parse: {error}") from error
