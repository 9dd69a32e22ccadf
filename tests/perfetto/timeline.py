"""Reads a .perfetto-trace by Perfetto's own message classes and checks what must hold in each.

Importers guess where a trace is wrong; this one raises TraceError.  It orders events as Perfetto's
trace processor does: by time, and by their place in the file where times are equal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

MONOTONIC = pb.BUILTIN_CLOCK_MONOTONIC
_INCREMENTAL = 64
_CLEARED = pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
_NEEDS_STATE = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE


class TraceError(AssertionError):
    """What came, and what was expected."""


def expect(condition: object, text: str) -> None:
    if not condition:
        raise TraceError(text)


@dataclass(eq=False)
class Slice:
    track: int
    name: str
    start: int
    categories: list[str]
    args: dict[str, Any]
    flows: list[int]
    flow_ends: list[int]
    end: int | None = None
    parent: Slice | None = None
    said_end: int | None = None  # by its own sequence, in the order of the file


@dataclass
class _Sequence:
    """The state that one packet sequence builds up."""

    cleared: bool = False
    track: int = 0
    clock: int = 0  # timestamp_clock_id of its events
    now: int = 0  # of the incremental clock
    names: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    open: list[Slice] = field(default_factory=list)

    def text(self, table: str, iid: int) -> str:
        expect(iid in self.names[table], f"{table} {iid} is not known")
        return self.names[table][iid]


@dataclass
class Timeline:
    tracks: dict[int, pb.TrackDescriptor] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    counters: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    clocks: list[dict[int, int]] = field(default_factory=list)
    cut_bytes: int = 0  # of a last packet that is not whole

    def path(self, uuid: int) -> str:
        """A track's name below the names of what it is in."""
        track = self.tracks[uuid]
        name = track.thread.thread_name or track.process.process_name or track.name
        return f"{self.path(track.parent_uuid)}/{name}" if track.parent_uuid else name

    def named(self, name: str) -> list[Slice]:
        return [s for s in self.slices if s.name == name]


def split(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Each whole packet's bytes, and where it ends."""
    at = 0
    while at < len(data):
        expect(data[at] == 0x0A, f"byte {at}: 0x0a begins a packet, got {data[at]:#x}")
        size = shift = 0
        for i in range(at + 1, len(data)):
            size |= (data[i] & 0x7F) << shift
            shift += 7
            if data[i] < 0x80:
                break
        else:
            return
        end = i + 1 + size
        if end > len(data):
            return
        yield data[i + 1 : end], end
        at = end


def read(data: bytes, complete: bool = True) -> Timeline:
    """The trace, checked.  `complete`: nothing may be unfinished at its end."""
    timeline = Timeline()
    sequences: dict[int, _Sequence] = defaultdict(_Sequence)
    events: list[tuple[int, int, Slice | None]] = []  # time, track, what begins; None: one ends
    whole = 0
    for raw, end in split(data):
        whole = end
        packet = pb.TracePacket.FromString(raw)
        if len(packet.ListFields()) == 0:
            continue  # filling
        expect(packet.trusted_packet_sequence_id, f"a packet without a sequence: {packet}")
        _packet(packet, sequences[packet.trusted_packet_sequence_id], timeline, events)
    timeline.cut_bytes = len(data) - whole
    expect(timeline.clocks, "no clock snapshot")
    if complete:
        expect(timeline.cut_bytes == 0, f"{timeline.cut_bytes} bytes after the last whole packet")
        unended = [s.name for q in sequences.values() for s in q.open]
        expect(not unended, f"slices without an end: {unended}")
    _nest(events, timeline, complete)
    _check_flows(timeline, complete)
    return timeline


def _packet(
    packet: pb.TracePacket,
    sequence: _Sequence,
    timeline: Timeline,
    events: list[tuple[int, int, Slice | None]],
) -> None:
    if packet.sequence_flags & _CLEARED:
        expect(packet.first_packet_on_sequence, f"cleared in the middle: {packet}")
        sequence.cleared = True
    expect(sequence.cleared, f"the sequence does not begin with a cleared state: {packet}")
    if packet.HasField("trace_packet_defaults"):
        sequence.clock = packet.trace_packet_defaults.timestamp_clock_id
        sequence.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
    if packet.HasField("clock_snapshot"):
        _clocks(packet, sequence, timeline)
    if packet.HasField("track_descriptor"):
        _descriptor(packet.track_descriptor, timeline)
    for descriptor, entries in packet.interned_data.ListFields():
        for entry in entries:
            text = getattr(entry, "name", None) or getattr(entry, "str", b"")
            if isinstance(text, bytes):
                text = text.decode()
            text.encode()  # no lone surrogates: valid UTF-8
            known = sequence.names[descriptor.name].setdefault(entry.iid, text)
            expect(entry.iid and known == text, f"{descriptor.name} {entry.iid} is {known!r}, too")
    if packet.HasField("track_event"):
        expect(packet.sequence_flags & _NEEDS_STATE, f"an event without state: {packet}")
        _event(packet, sequence, timeline, events)


def _clocks(packet: pb.TracePacket, sequence: _Sequence, timeline: Timeline) -> None:
    times = {c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks}
    expect(MONOTONIC in times, f"a snapshot without CLOCK_MONOTONIC: {packet}")
    if _INCREMENTAL in times:
        sequence.now = times[_INCREMENTAL]
        expect(sequence.now == times[MONOTONIC], f"clocks differ: {packet}")
    else:
        expect(packet.clock_snapshot.primary_trace_clock == MONOTONIC, f"primary clock: {packet}")
        timeline.clocks.append(times)


def _descriptor(descriptor: pb.TrackDescriptor, timeline: Timeline) -> None:
    expect(descriptor.uuid not in timeline.tracks, f"described twice: {descriptor}")
    parent = descriptor.parent_uuid
    expect(not parent or parent in timeline.tracks, f"its parent is not described: {descriptor}")
    expect(bool(parent) != descriptor.HasField("process"), f"outside of the process: {descriptor}")
    timeline.tracks[descriptor.uuid] = descriptor
    timeline.path(descriptor.uuid).encode()


def _time(packet: pb.TracePacket, sequence: _Sequence) -> int:
    clock = packet.timestamp_clock_id or sequence.clock
    expect(packet.HasField("timestamp"), f"an event without a time: {packet}")
    if clock == MONOTONIC:
        return packet.timestamp
    expect(clock == _INCREMENTAL, f"clock {clock}: {packet}")
    sequence.now += packet.timestamp
    expect(sequence.now < 1 << 63, f"time ran over: {packet}")
    return sequence.now


def _event(
    packet: pb.TracePacket,
    sequence: _Sequence,
    timeline: Timeline,
    events: list[tuple[int, int, Slice | None]],
) -> None:
    event = packet.track_event
    time = _time(packet, sequence)
    track = event.track_uuid or sequence.track
    expect(track in timeline.tracks, f"an event on track {track}, which is not described: {event}")
    counts = timeline.tracks[track].HasField("counter")
    expect(counts == (event.type == pb.TrackEvent.TYPE_COUNTER), f"wrong kind of track: {event}")
    if counts:
        values = timeline.counters[track]
        expect(not values or values[-1][0] <= time, f"a counter goes back in time: {event}")
        values.append((time, event.counter_value))
    elif event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
        begun = Slice(
            track,
            sequence.text("event_names", event.name_iid),
            time,
            [sequence.text("event_categories", iid) for iid in event.category_iids],
            {
                sequence.text("debug_annotation_names", a.name_iid): _value(a, sequence)
                for a in event.debug_annotations
            },
            list(event.flow_ids),
            list(event.terminating_flow_ids),
        )
        sequence.open.append(begun)
        timeline.slices.append(begun)
        events.append((time, track, begun))
    else:
        expect(event.type == pb.TrackEvent.TYPE_SLICE_END, f"type of event: {event}")
        expect(sequence.open, f"an end without a begin: {packet}")
        sequence.open.pop().said_end = time
        events.append((time, track, None))


def _value(annotation: pb.DebugAnnotation, sequence: _Sequence) -> Any:
    kind = annotation.WhichOneof("value")
    if kind == "string_value_iid":
        return sequence.text("debug_annotation_string_values", annotation.string_value_iid)
    expect(kind, f"an annotation without a value: {annotation}")
    return getattr(annotation, str(kind))


def _nest(events: list[tuple[int, int, Slice | None]], timeline: Timeline, complete: bool) -> None:
    """Gives each slice the end and the parent that a viewer gives it, and compares."""
    stacks: dict[int, list[Slice]] = defaultdict(list)
    for time, track, begun in sorted(events, key=lambda event: event[0]):
        stack = stacks[track]
        if begun is not None:
            begun.parent = stack[-1] if stack else None
            stack.append(begun)
        else:
            expect(stack, f"{time}: an end on {timeline.path(track)}, where nothing is open")
            stack.pop().end = time
    # Where an end was cut off, the next one on that track is taken for it.
    torn = {s.track for s in timeline.slices if s.said_end is None and not complete}
    for s in timeline.slices:
        where = f"{s.name!r} at {s.start} on {timeline.path(s.track)}"
        same = s.end == s.said_end or s.track in torn
        expect(same, f"{where}: ends at {s.said_end}, but is shown until {s.end}")


def _check_flows(timeline: Timeline, complete: bool) -> None:
    begins = {flow: s for s in timeline.slices for flow in s.flows}
    ends = {flow: s for s in timeline.slices for flow in s.flow_ends}
    expect(len(begins) == sum(len(s.flows) for s in timeline.slices), "a flow begins twice")
    expect(len(ends) == sum(len(s.flow_ends) for s in timeline.slices), "a flow ends twice")
    lost = [s.name for flow, s in ends.items() if flow not in begins]
    expect(not lost, f"flows without a begin, to {lost}")
    open_flows = [s.name for flow, s in begins.items() if flow not in ends]
    expect(not complete or not open_flows, f"flows without an end, from {open_flows}")
