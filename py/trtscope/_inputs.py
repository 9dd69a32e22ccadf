"""What a package's inputs look like: recorded when it is saved, checked when it is called.

Compiled code takes types, ranks, sizes and strides for granted: others end the process, or give
wrong numbers.  The record is a list, in calling order, of::

    {"name": "x", "keyword": null, "dtype": "float32", "device": "cpu",
     "shape": [3, 8], "bounds": [[1, 16], [8, 8]], "dims": ["s77", 8],
     "dense": true, "values": [0, 2]}

``shape`` is that of a typical input; ``bounds`` are each dimension's, inclusive, the upper one null
where there is none; ``dims`` says which dimensions are one symbol, or follow from others
(``_metadata.evaluate`` reads the expressions); ``dense``, whether the code takes the input to be
dense in memory; ``values``, of whole numbers alone, the range of the typical input's.  Packages of
earlier releases lack ``dims`` and ``device``: then these are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trtscope._errors import PackageError, TrtscopeError
from trtscope._metadata import evaluate

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

# torch.export writes a lower bound of 2 for sizes that it merely did not specialize on, and lets
# 0 and 1 through; this bound says nothing.
_VAGUE_LOWER_BOUND = 2


def describe_inputs(
    program: ExportedProgram, inputs: Sequence[Any] | None
) -> list[dict[str, Any]] | None:
    """The record of a program's inputs, with the sizes of ``inputs`` or else of the exported
    example; None if they are not simply tensors."""
    import torch

    from trtscope._graph import dim_text

    args, kwargs = program.example_inputs or ((), {})
    examples = [*args, *kwargs.values()] if inputs is None else list(inputs)
    names = program.graph_signature.user_inputs
    if len(examples) != len(names) or not all(isinstance(e, torch.Tensor) for e in examples):
        return None
    keywords = [None] * len(args) + list(kwargs)
    if len(keywords) != len(names):
        keywords = [None] * len(names)
    nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    record = []
    for name, keyword, example in zip(names, keywords, examples, strict=True):
        node = nodes.get(str(name))
        fake = node.meta.get("val") if node is not None else None
        if not isinstance(fake, torch.Tensor):
            return None
        entry: dict[str, Any] = {
            "name": str(name),
            "keyword": keyword,
            "dtype": dtype_text(fake.dtype),
            "device": fake.device.type,
            "shape": list(example.shape),
            "bounds": [list(_size_bounds(program, size)) for size in fake.shape],
            "dims": [dim_text(size) for size in fake.shape],
            "dense": example.is_contiguous(),
        }
        whole = not example.dtype.is_floating_point and not example.dtype.is_complex
        if whole and example.numel():
            entry["values"] = [int(example.min()), int(example.max())]
        record.append(entry)
    if inputs is not None:
        InputCheck("the inputs for the record", record)(args=tuple(examples), flat=True)
    return record


def _size_bounds(program: ExportedProgram, size: Any) -> tuple[int, int | None]:
    from trtscope._graph import expression

    expr = expression(size)
    if expr.is_number:
        return int(expr), int(expr)
    found = program.range_constraints.get(expr)
    if found is None:
        return 0, None
    low = int(found.lower) if found.lower.is_finite else 0
    return low, int(found.upper) if found.upper.is_finite and found.upper.is_Integer else None


@dataclass(frozen=True)
class _Input:
    """One entry of the record, ready to be compared with."""

    name: str
    keyword: str | None
    dtype: torch.dtype
    device: str | None
    bounds: tuple[tuple[int, int | None], ...]
    symbols: tuple[tuple[int, str], ...]  # dimension and symbol
    derived: tuple[tuple[int, str], ...]  # dimension and expression over symbols
    values: tuple[int, int] | None

    @classmethod
    def from_record(cls, entry: dict[str, Any]) -> _Input:
        import torch

        dtype = getattr(torch, entry["dtype"])
        if not isinstance(dtype, torch.dtype):
            raise TypeError(f"{entry['dtype']!r} is no dtype")
        bounds = [(int(low), None if high is None else int(high)) for low, high in entry["bounds"]]
        texts = [(i, d) for i, d in enumerate(entry.get("dims") or ()) if isinstance(d, str)]
        if len(entry["shape"]) != len(bounds) or any(i >= len(bounds) for i, _ in texts):
            raise ValueError("its shape, bounds and dims differ in length")
        values = entry.get("values")
        keyword, device = entry.get("keyword"), entry.get("device")
        return cls(
            name=str(entry["name"]),
            keyword=None if keyword is None else str(keyword),
            dtype=dtype,
            device=None if device is None else str(device),
            bounds=tuple(bounds),
            symbols=tuple((i, d) for i, d in texts if d.isidentifier()),
            derived=tuple((i, d) for i, d in texts if not d.isidentifier()),
            values=None if values is None else (int(values[0]), int(values[1])),
        )

    def __str__(self) -> str:
        """``float32[1..16, 8]``."""
        sizes = [
            str(low) if low == high else f"{low}..{'' if high is None else high}"
            for low, high in self.bounds
        ]
        return f"{dtype_text(self.dtype)}[{', '.join(sizes)}]"


class InputCheck:
    """Compares a call's arguments with the record.  Looks at no tensor's content and copies
    nothing, except in ``unusual_values``."""

    def __init__(self, package: str, record: Iterable[dict[str, Any]]) -> None:
        """
        Raises:
            PackageError: the record is malformed.
        """
        import torch

        self._package = package
        self._tensor = torch.Tensor
        # What passed last: most calls are like the one before, and nothing more is looked at.
        self._accepted: tuple[Any, ...] | None = None
        try:
            inputs = [_Input.from_record(entry) for entry in record]
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
            raise PackageError(
                f"{package}: its record of inputs is malformed: {error!r}"
            ) from error
        self._inputs = tuple(inputs)
        self._positional = tuple(i for i in inputs if i.keyword is None)
        self._keywords = {i.keyword: i for i in inputs if i.keyword is not None}

    def __call__(
        self, args: Sequence[Any], kwargs: dict[str, Any] | None = None, *, flat: bool = False
    ) -> None:
        """
        Args:
            flat: ``args`` are all inputs, those with keywords too.

        Raises:
            TrtscopeError: an input is missing, too many, or not what the code was compiled for;
                the message names it, what came, and what was expected.
        """
        kwargs = kwargs or {}
        signature = self._signature(args, kwargs, flat)
        if signature is not None and signature == self._accepted:
            return
        self._check(args, kwargs, flat)
        self._accepted = signature

    def _signature(
        self, args: Sequence[Any], kwargs: dict[str, Any], flat: bool
    ) -> tuple[Any, ...] | None:
        """All that is looked at; None where there are not tensors alone."""
        values = (*args, *kwargs.values())
        if not all(isinstance(v, self._tensor) for v in values):
            return None
        return (
            flat,
            len(args),
            tuple(kwargs),
            [(v.shape, v.dtype, v.device) for v in values],
        )

    def _check(self, args: Sequence[Any], kwargs: dict[str, Any], flat: bool) -> None:
        sizes: dict[str, tuple[int, _Input, int]] = {}
        derived: list[tuple[_Input, int, str, int]] = []
        for known, value in self._pairs(args, kwargs, flat):
            self._check_one(known, value)
            for i, symbol in known.symbols:
                size = value.shape[i]
                first = sizes.setdefault(symbol, (size, known, i))
                if first[0] != size:
                    raise self._refusal(
                        known,
                        f"has size {size} in dimension {i}; expected {first[0]}, since it is the "
                        f"same size as dimension {first[2]} of input {first[1].name!r}",
                    )
            derived += [(known, i, text, value.shape[i]) for i, text in known.derived]
        if derived:
            self._check_derived(derived, {name: size for name, (size, _, _) in sizes.items()})

    def unusual_values(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str | None:
        """The first input whose whole numbers (indices, mostly) are outside of what the record
        saw, as a sentence; None if there is none.  Reads the tensors.

        Raises:
            TrtscopeError: the inputs are not what the code was compiled for.
        """
        self(args, kwargs)
        for known, value in self._pairs(args, kwargs, False):
            if known.values is None or not value.numel():
                continue
            low, high = int(value.min()), int(value.max())
            if low < known.values[0] or high > known.values[1]:
                return str(
                    self._refusal(
                        known,
                        f"holds values from {low} to {high}; those it was saved with are from "
                        f"{known.values[0]} to {known.values[1]}",
                    )
                )
        return None

    def _pairs(
        self, args: Sequence[Any], kwargs: dict[str, Any], flat: bool
    ) -> list[tuple[_Input, Any]]:
        expected = self._inputs if flat else self._positional
        if any(isinstance(a, (tuple, list, dict)) for a in args):
            from torch.utils._pytree import tree_leaves

            args = tree_leaves(list(args))
        if len(args) != len(expected):
            names = ", ".join(i.name for i in expected)
            raise TrtscopeError(
                f"{self._package}: got {len(args)} inputs; expected {len(expected)}"
                + (f": {names}" if names else "")
            )
        pairs = list(zip(expected, args, strict=True))
        if flat or not (kwargs or self._keywords):
            return pairs
        if kwargs.keys() != self._keywords.keys():
            raise TrtscopeError(
                f"{self._package}: got keywords {_listed(kwargs)}; expected "
                f"{_listed(self._keywords)}"
            )
        return pairs + [(known, kwargs[keyword]) for keyword, known in self._keywords.items()]

    def _check_one(self, known: _Input, value: Any) -> None:
        if not isinstance(value, self._tensor):
            raise self._refusal(
                known, f"is of type {type(value).__name__}; expected a tensor, {known}"
            )
        shape = value.shape
        fits = value.dtype == known.dtype and len(shape) == len(known.bounds)
        if not fits or not all(
            (size >= low or (low == _VAGUE_LOWER_BOUND and low != high))
            and (high is None or size <= high)
            for size, (low, high) in zip(shape, known.bounds, strict=True)
        ):
            raise self._refusal(known, f"is {tensor_text(value)}; expected {known}")
        if known.device is not None and value.device.type != known.device:
            raise self._refusal(known, f"is on {value.device}; expected it on {known.device}")

    def _check_derived(
        self, derived: list[tuple[_Input, int, str, int]], sizes: dict[str, int]
    ) -> None:
        for known, i, text, size in derived:
            try:
                expected = evaluate(text, sizes)
            except (PackageError, ArithmeticError):
                continue  # over sizes that are no input's: nothing to compare with
            if size != expected:
                used = re.findall(r"[A-Za-z_]\w*", text)
                values = ", ".join(f"{s} = {sizes[s]}" for s in sizes if s in used)
                raise self._refusal(
                    known,
                    f"has size {size} in dimension {i}; expected {expected}, which is {text} with "
                    f"{values}",
                )

    def _refusal(self, known: _Input, what: str) -> TrtscopeError:
        return TrtscopeError(f"{self._package}: input {known.name!r} {what}")


def dtype_text(dtype: torch.dtype) -> str:
    """``float32``."""
    return str(dtype).removeprefix("torch.")


def tensor_text(tensor: torch.Tensor) -> str:
    """``float32[3, 8]``."""
    return f"{dtype_text(tensor.dtype)}[{', '.join(map(str, tensor.shape))}]"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(n) for n in names) or "none"
