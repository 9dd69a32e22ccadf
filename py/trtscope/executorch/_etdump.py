"""Reads ExecuTorch's trace (ETDump): what each run of a program logged, in its order.

ExecuTorch's own Inspector collects the runs of a trace by their sets of events, with another
process and a text of every event between.  This reads the file itself, once, so that it takes time
and memory in proportion to the file, keeps every run apart, and can say what is wrong with a file.

A trace is a flatbuffer of ExecuTorch's schema ``etdump_schema_flatcc.fbs``; the fields read here
are named by their numbers in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trtscope._errors import PackageError
from trtscope.executorch._flatbuffer import UINT64, DamageError, Flatbuffer

_MAGIC = b"ED00"
_SIZE = 4  # of the number before the trace where there is one

# Fields of the schema's tables.
_RUNS = 1  # ETDump
_RUN_NAME, _EVENTS = 0, 3  # RunData
_PROFILE_EVENT = 0  # Event
_NAME, _INSTRUCTION, _ID, _ID_TEXT, _METADATA, _START, _END = 0, 2, 3, 4, 5, 6, 7  # ProfileEvent

_NO_ID = -1


class Event(NamedTuple):
    """``identifier`` is what a delegate calls an event of its own; empty for one of ExecuTorch's.

    Times are on ExecuTorch's clock, which counts nanoseconds where it was not replaced.
    """

    name: str
    identifier: str
    instruction: int
    start_ns: int
    end_ns: int
    metadata: bytes


class Run(NamedTuple):
    """``name`` is ``Execute`` for a call of a method.  ExecuTorch does not say of which."""

    name: str
    events: list[Event]


def read_etdump(path: Path) -> Iterator[Run]:
    """The runs, oldest first, each read when it is asked for.

    Raises:
        PackageError: the file is no ETDump, is cut short or damaged; from the iterator, too.
    """
    octets = path.read_bytes()
    # With a size before it, and without.
    start = _SIZE if octets[8:12] == _MAGIC else 0
    if octets[start + 4 : start + 8] != _MAGIC:
        raise PackageError(
            f"{path} is no ETDump: it begins with {octets[:12]!r}, expected {_MAGIC!r} after 4 or "
            "8 octets"
        )
    size = int.from_bytes(octets[:_SIZE], "little") + _SIZE
    if start and len(octets) < size:
        raise PackageError(f"{path} is cut short: it has {len(octets)} octets of {size}")
    return _runs(path, Flatbuffer(octets), start)


def _runs(path: Path, file: Flatbuffer, start: int) -> Iterator[Run]:
    try:
        for run in file.tables(file.root(start), _RUNS):
            profiles = (file.table(e, _PROFILE_EVENT) for e in file.tables(run, _EVENTS))
            yield Run(file.text(run, _RUN_NAME), [_event(file, p) for p in profiles if p])
    except DamageError as error:
        raise PackageError(f"{path} is damaged or cut short: {error}") from error


def _event(file: Flatbuffer, event: int) -> Event:
    number = file.number(event, _ID, default=_NO_ID)
    return Event(
        file.text(event, _NAME),
        file.text(event, _ID_TEXT) if number == _NO_ID else str(number),
        file.number(event, _INSTRUCTION, default=-1),
        file.number(event, _START, UINT64),
        file.number(event, _END, UINT64),
        bytes(file.octets(event, _METADATA)),
    )
