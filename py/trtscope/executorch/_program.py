"""What is inside a ``.pte``, read from its tables without loading it.

The tables are a flatbuffer of ExecuTorch's schema ``program.fbs``; the fields read here are named
by their numbers in it.  They are followed only after ExecuTorch's own verifier accepted them
(``_library.check_program``).
"""

from __future__ import annotations

from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path

from trtscope._errors import PackageError
from trtscope.executorch import _library
from trtscope.executorch._flatbuffer import INT8, UINT8, UINT32, UINT64, DamageError, Flatbuffer

_HEADER = b"eh00"
_HEADER_AT = 8
_SEGMENTS_AT = 24

# Fields of the schema's tables.
_PLANS, _INLINE_DATA, _SEGMENTS = 1, 3, 4  # Program
_NAME, _VALUES, _INPUTS, _OPERATORS, _DELEGATES = 0, 2, 3, 6, 7  # ExecutionPlan
_VALUE_KIND, _VALUE_OF_KIND = 0, 1  # EValue
_TENSOR = 5  # KernelTypes
_SCALAR_TYPE, _SIZES, _DIM_ORDER, _DYNAMISM = 0, 2, 3, 8  # Tensor
_STATIC = 0  # TensorShapeDynamism
_ID, _PROCESSED, _SPECS = 0, 1, 2  # BackendDelegate
_LOCATION, _INDEX = 0, 1  # BackendDelegateDataReference
_IN_SEGMENT = 1  # DataLocation
_KEY, _VALUE = 0, 1  # CompileSpec
_OFFSET, _SIZE = 0, 1  # DataSegment


# ExecuTorch's ScalarType, by number.
_DTYPES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32",
    7: "float64", 11: "bool", 15: "bfloat16",
}  # fmt: skip


@dataclass(frozen=True)
class InputTensor:
    """An input as planned: ``sizes`` are the largest ones where they are not ``static``;
    ``dim_order`` is that of the dimensions in memory, from outer to inner."""

    dtype: str | None  # None: of a type that no tensor of torch is compared with here
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    static: bool

    def __str__(self) -> str:
        return f"{self.dtype or 'tensor'}[{', '.join(map(str, self.sizes))}]"


@dataclass(frozen=True)
class Delegate:
    """One region of a method: ``blob`` is what its backend made of it, in the mapped file;
    ``specs`` are its options."""

    backend: str
    blob: memoryview
    specs: dict[str, bytes]


@dataclass(frozen=True)
class Method:
    name: str
    inputs: tuple[InputTensor | None, ...]  # None: a number, or another that is no tensor
    operators: tuple[str, ...]
    delegates: tuple[Delegate, ...]


@dataclass(frozen=True)
class ProgramFile:
    path: Path
    methods: tuple[Method, ...]


def read_program(path: Path) -> ProgramFile:
    """Reads the tables.

    Raises:
        PackageError: the file is no whole program, its tables are damaged, or a name in them is
            not UTF-8, which ExecuTorch's Python bindings end the process at.
    """
    _library.check_program(path)
    with path.open("rb") as file:
        octets = mmap(file.fileno(), 0, access=ACCESS_READ)
    try:
        return ProgramFile(path, _Reader(octets).methods())
    except DamageError as error:
        raise PackageError(f"{path}: {error}") from error


class _Reader:
    def __init__(self, octets: mmap) -> None:
        self._octets = memoryview(octets)
        self._file = Flatbuffer(octets)
        self._root = self._file.root(0)
        self._segments = self._file.tables(self._root, _SEGMENTS)
        self._inline = self._file.tables(self._root, _INLINE_DATA)

    def methods(self) -> tuple[Method, ...]:
        return tuple(self._method(plan) for plan in self._file.tables(self._root, _PLANS))

    def _method(self, plan: int) -> Method:
        file = self._file
        name = file.text(plan, _NAME)
        operators = []
        for operator in file.tables(plan, _OPERATORS):
            base, overload = file.text(operator, 0), file.text(operator, 1)
            operators.append(f"{base}.{overload}" if overload else base)
        try:
            delegates = tuple(self._delegate(d) for d in file.tables(plan, _DELEGATES))
            return Method(name, self._inputs(plan), tuple(operators), delegates)
        except DamageError as error:
            raise DamageError(f"method {name!r}: {error}") from error

    def _inputs(self, plan: int) -> tuple[InputTensor | None, ...]:
        file = self._file
        values = file.tables(plan, _VALUES)
        inputs: list[InputTensor | None] = []
        for index in file.numbers(plan, _INPUTS):
            if not 0 <= index < len(values):
                raise DamageError(f"input {len(inputs)} is value {index} of {len(values)}")
            is_tensor = file.number(values[index], _VALUE_KIND, UINT8) == _TENSOR
            tensor = file.table(values[index], _VALUE_OF_KIND) if is_tensor else None
            inputs.append(self._tensor(tensor, len(inputs)) if tensor is not None else None)
        return tuple(inputs)

    def _tensor(self, tensor: int, index: int) -> InputTensor:
        file = self._file
        sizes = file.numbers(tensor, _SIZES)
        order = file.numbers(tensor, _DIM_ORDER, UINT8)
        if sorted(order) != list(range(len(sizes))):
            raise DamageError(
                f"input {index}: its {len(sizes)} dimensions are in the order {order}"
            )
        return InputTensor(
            _DTYPES.get(file.number(tensor, _SCALAR_TYPE, INT8)),
            sizes,
            order,
            file.number(tensor, _DYNAMISM, INT8) == _STATIC,
        )

    def _delegate(self, delegate: int) -> Delegate:
        file = self._file
        backend = file.text(delegate, _ID)
        specs = {
            file.text(spec, _KEY): bytes(file.octets(spec, _VALUE))
            for spec in file.tables(delegate, _SPECS)
        }
        reference = file.table(delegate, _PROCESSED)
        if reference is None:
            raise DamageError(f"a delegate of {backend} has no data")
        index = file.number(reference, _INDEX, UINT32)
        in_segment = file.number(reference, _LOCATION, INT8) == _IN_SEGMENT
        entries = self._segments if in_segment else self._inline
        if index >= len(entries):
            raise DamageError(f"a delegate of {backend} names data {index} of {len(entries)}")
        data = self._segment(entries[index]) if in_segment else file.octets(entries[index], 0)
        return Delegate(backend, data, specs)

    def _segment(self, segment: int) -> memoryview:
        if self._octets[_HEADER_AT : _HEADER_AT + 4] != _HEADER:
            raise DamageError("it names a segment and has no header to find it by")
        base = int.from_bytes(self._octets[_SEGMENTS_AT : _SEGMENTS_AT + 8], "little")
        start = base + self._file.number(segment, _OFFSET, UINT64)
        size = self._file.number(segment, _SIZE, UINT64)
        if start + size > len(self._octets):
            raise DamageError(
                f"a segment of {size} octets at {start} is beyond its {len(self._octets)} octets"
            )
        return self._octets[start : start + size]
