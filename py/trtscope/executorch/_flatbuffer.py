"""Tables of a flatbuffer, read in place from a file that may be damaged.

A position or length that the file cannot have raises ``DamageError``, and what is read is bounded
by the file's size, whatever it says: no table of it is trusted.
"""

from __future__ import annotations

from mmap import mmap
from struct import Struct
from struct import error as struct_error

INT8, UINT8, INT32, UINT32 = Struct("<b"), Struct("<B"), Struct("<i"), Struct("<I")
UINT64 = Struct("<Q")
_UINT16 = Struct("<H")


class DamageError(ValueError):
    """The file is not what it says that it is; the message says where."""


class Flatbuffer:
    """Tables are named by their positions in ``octets``, their fields by the schema's numbers."""

    def __init__(self, octets: bytes | mmap) -> None:
        self._octets = memoryview(octets)
        # Writers share them, so that a file of a million tables has a few.
        self._vtables: dict[int, tuple[int, ...]] = {}
        self._texts: dict[bytes, str] = {}
        # Each element of a list of tables takes four octets of its own.
        self._elements_left = len(octets) // UINT32.size

    def root(self, at: int) -> int:
        """The table that the offset at ``at`` leads to."""
        return at + self._read(UINT32, at)

    def number(self, table: int, field: int, kind: Struct = INT32, default: int = 0) -> int:
        at = self._at(table, field)
        return self._read(kind, at) if at else default

    def numbers(self, table: int, field: int, kind: Struct = INT32) -> tuple[int, ...]:
        return tuple(number for (number,) in kind.iter_unpack(self._list(table, field, kind.size)))

    def octets(self, table: int, field: int) -> memoryview:
        """A list of octets, or a string as it is; empty where there is none."""
        return self._list(table, field, 1)

    def text(self, table: int, field: int) -> str:
        raw = bytes(self.octets(table, field))
        known = self._texts.get(raw)
        if known is None:
            try:
                known = self._texts[raw] = raw.decode()
            except UnicodeDecodeError as error:
                raise DamageError(f"the name {raw[:40]!r} is not UTF-8") from error
        return known

    def table(self, table: int, field: int) -> int | None:
        at = self._at(table, field)
        return self.root(at) if at else None

    def tables(self, table: int, field: int) -> list[int]:
        at = self._at(table, field)
        if not at:
            return []
        start = at + self._read(UINT32, at)
        count = self._read(UINT32, start)
        self._elements_left -= count
        if self._elements_left < 0:
            raise DamageError(f"a list at {start} has {count} elements, more than fit into it")
        first = start + UINT32.size
        places = range(first, first + count * UINT32.size, UINT32.size)
        return [self.root(place) for place in places]

    def _list(self, table: int, field: int, element_size: int) -> memoryview:
        at = self._at(table, field)
        if not at:
            return memoryview(b"")
        start = at + self._read(UINT32, at)
        size = self._read(UINT32, start) * element_size
        start += UINT32.size
        if start + size > len(self._octets):
            raise DamageError(f"{size} octets at {start} are beyond its {len(self._octets)}")
        return self._octets[start : start + size]

    def _at(self, table: int, field: int) -> int:
        """Where the field lies; 0 when it has its default."""
        vtable = table - self._read(INT32, table)
        offsets = self._vtables.get(vtable)
        if offsets is None:
            offsets = self._vtables[vtable] = self._offsets(vtable)
        offset = offsets[field] if field < len(offsets) else 0
        return table + offset if offset else 0

    def _offsets(self, vtable: int) -> tuple[int, ...]:
        if vtable < 0:
            raise DamageError(f"a table's fields are at {vtable}")
        end = vtable + self._read(_UINT16, vtable)
        return tuple(self._read(_UINT16, at) for at in range(vtable + 4, end - 1, 2))

    def _read(self, kind: Struct, at: int) -> int:
        try:
            value: int = kind.unpack_from(self._octets, at)[0]
        except struct_error as error:
            raise DamageError(f"octet {at} is beyond its {len(self._octets)}") from error
        return value
