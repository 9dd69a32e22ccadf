"""What is inside a ``.pte``, read from its tables without loading it.

The tables are a flatbuffer of ExecuTorch's schema ``program.fbs``; the fields read here are named
by their numbers in it.  They are followed only after ExecuTorch's own verifier accepted them
(``_library.check_program``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path

from flatbuffers import number_types
from flatbuffers.table import Table

from trtscope._errors import PackageError
from trtscope.executorch import _library

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
        return _Reader(path, mmap(file.fileno(), 0, access=ACCESS_READ)).program()


class _Reader:
    def __init__(self, path: Path, octets: mmap) -> None:
        self._path, self._octets = path, octets

    def program(self) -> ProgramFile:
        root = Table(self._octets, int.from_bytes(self._octets[:4], "little"))
        return ProgramFile(self._path, tuple(self._method(root, p) for p in _tables(root, _PLANS)))

    def _method(self, root: Table, plan: Table) -> Method:
        name = self._text(plan, _NAME, "a method's name")
        where = f"method {name!r}"
        operators = []
        for operator in _tables(plan, _OPERATORS):
            base, overload = (
                self._text(operator, i, f"{where}: an operator's name") for i in (0, 1)
            )
            operators.append(f"{base}.{overload}" if overload else base)
        delegates = tuple(self._delegate(root, d, where) for d in _tables(plan, _DELEGATES))
        return Method(name, self._inputs(plan, where), tuple(operators), delegates)

    def _inputs(self, plan: Table, where: str) -> tuple[InputTensor | None, ...]:
        values = list(_tables(plan, _VALUES))
        inputs: list[InputTensor | None] = []
        for index in _numbers(plan, _INPUTS, number_types.Int32Flags):
            if not 0 <= index < len(values):
                raise PackageError(
                    f"{self._path}: {where}: input {len(inputs)} is value {index} of {len(values)}"
                )
            value = values[index]
            kind = _number(value, _VALUE_KIND, number_types.Uint8Flags)
            tensor = _table(value, _VALUE_OF_KIND) if kind == _TENSOR else None
            inputs.append(self._tensor(tensor, f"{where}: input {len(inputs)}") if tensor else None)
        return tuple(inputs)

    def _tensor(self, tensor: Table, where: str) -> InputTensor:
        sizes = _numbers(tensor, _SIZES, number_types.Int32Flags)
        order = _numbers(tensor, _DIM_ORDER, number_types.Uint8Flags)
        if sorted(order) != list(range(len(sizes))):
            raise PackageError(
                f"{self._path}: {where}: its {len(sizes)} dimensions are in the order {order}"
            )
        return InputTensor(
            _DTYPES.get(_number(tensor, _SCALAR_TYPE, number_types.Int8Flags)),
            sizes,
            order,
            _number(tensor, _DYNAMISM, number_types.Int8Flags) == _STATIC,
        )

    def _delegate(self, root: Table, delegate: Table, where: str) -> Delegate:
        backend = self._text(delegate, _ID, f"{where}: a backend's name")
        specs = {
            self._text(spec, _KEY, f"{where}: an option's name"): bytes(_octets(spec, _VALUE))
            for spec in _tables(delegate, _SPECS)
        }
        reference = _table(delegate, _PROCESSED)
        if reference is None:
            raise PackageError(f"{self._path}: {where}: a delegate of {backend} has no data")
        index = _number(reference, _INDEX, number_types.Uint32Flags)
        in_segment = _number(reference, _LOCATION, number_types.Int8Flags) == _IN_SEGMENT
        entries = list(_tables(root, _SEGMENTS if in_segment else _INLINE_DATA))
        if index >= len(entries):
            raise PackageError(
                f"{self._path}: {where}: a delegate of {backend} names data {index} of "
                f"{len(entries)}"
            )
        data = self._segment(entries[index]) if in_segment else _octets(entries[index], 0)
        return Delegate(backend, data, specs)

    def _segment(self, segment: Table) -> memoryview:
        if self._octets[_HEADER_AT : _HEADER_AT + 4] != _HEADER:
            raise PackageError(f"{self._path}: names a segment and has no header to find it by")
        base = int.from_bytes(self._octets[_SEGMENTS_AT : _SEGMENTS_AT + 8], "little")
        start = base + _number(segment, _OFFSET, number_types.Uint64Flags)
        size = _number(segment, _SIZE, number_types.Uint64Flags)
        if start + size > len(self._octets):
            raise PackageError(
                f"{self._path}: a segment of {size} octets at {start} is beyond its "
                f"{len(self._octets)} octets"
            )
        return memoryview(self._octets)[start : start + size]

    def _text(self, table: Table, field: int, what: str) -> str:
        at = _at(table, field)
        raw = table.String(table.Pos + at) if at else b""
        try:
            return bytes(raw).decode()
        except UnicodeDecodeError as error:
            raise PackageError(f"{self._path}: {what} is {bytes(raw)!r}, not UTF-8") from error


def _at(table: Table, field: int) -> int:
    """Where the field lies in the table; 0 when it has its default."""
    return int(table.Offset(4 + 2 * field))


def _number(table: Table, field: int, kind: type) -> int:
    at = _at(table, field)
    return int(table.Get(kind, table.Pos + at)) if at else 0


def _numbers(table: Table, field: int, kind: type) -> tuple[int, ...]:
    at = _at(table, field)
    if not at:
        return ()
    start, width = table.Vector(at), kind.bytewidth  # type: ignore[attr-defined]
    return tuple(int(table.Get(kind, start + i * width)) for i in range(table.VectorLen(at)))


def _octets(table: Table, field: int) -> memoryview:
    at = _at(table, field)
    if not at:
        return memoryview(b"")
    start = table.Vector(at)
    return memoryview(table.Bytes)[start : start + table.VectorLen(at)]


def _table(table: Table, field: int) -> Table | None:
    at = _at(table, field)
    return Table(table.Bytes, table.Indirect(table.Pos + at)) if at else None


def _tables(table: Table, field: int) -> Iterator[Table]:
    if at := _at(table, field):
        start = table.Vector(at)
        for i in range(table.VectorLen(at)):
            yield Table(table.Bytes, table.Indirect(start + 4 * i))
