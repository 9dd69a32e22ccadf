"""The checker itself: each thing that it asserts, broken on purpose."""

import pytest
import timeline
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

BEGIN = pb.TrackEvent.TYPE_SLICE_BEGIN
END = pb.TrackEvent.TYPE_SLICE_END


class Trace:
    """A small trace in parts, for a test to break one of them."""

    def __init__(self):
        self.packets = []
        head = self.add(flags=1, first_packet_on_sequence=True)
        head.track_descriptor.uuid = 1
        head.track_descriptor.process.pid = 7
        clocks = self.add()
        clocks.clock_snapshot.primary_trace_clock = timeline.MONOTONIC
        clocks.clock_snapshot.clocks.add(clock_id=timeline.MONOTONIC, timestamp=1000)
        thread = self.add()
        thread.track_descriptor.uuid = 2
        thread.track_descriptor.parent_uuid = 1
        thread.track_descriptor.thread.tid = 8
        self.head = self.add(sequence=2, flags=1, first_packet_on_sequence=True)
        self.head.trace_packet_defaults.timestamp_clock_id = 64
        self.head.trace_packet_defaults.track_event_defaults.track_uuid = 2
        for clock in (timeline.MONOTONIC, 64):
            self.head.clock_snapshot.clocks.add(clock_id=clock, timestamp=1000)
        self.head.interned_data.event_names.add(iid=1, name="a")

    def add(self, sequence=1, flags=0, **fields):
        packet = pb.TracePacket(trusted_packet_sequence_id=sequence, **fields)
        if flags:
            packet.sequence_flags = flags
        self.packets.append(packet)
        return packet

    def event(self, later, kind):
        packet = self.add(sequence=2, flags=2, timestamp=later)
        packet.track_event.type = kind
        if kind == BEGIN:
            packet.track_event.name_iid = 1
        return packet

    def bytes(self):
        return pb.Trace(packet=self.packets).SerializeToString()

    def read(self, complete=True):
        return timeline.read(self.bytes(), complete)


def test_a_sound_trace():
    trace = Trace()
    for later, kind in ((5, BEGIN), (5, BEGIN), (0, END), (10, END)):
        trace.event(later, kind)
    outer, inner = trace.read().slices
    assert (outer.start, outer.end, outer.parent) == (1005, 1020, None)
    assert (inner.start, inner.end, inner.parent) == (1010, 1010, outer)


def test_a_cut_tail_is_no_error_unless_the_trace_is_complete():
    trace = Trace()
    trace.event(5, BEGIN)
    trace.event(5, END)
    data = trace.bytes()
    cut = timeline.read(data[:-3], complete=False)
    assert cut.cut_bytes > 0
    assert [s.end for s in cut.slices] == [None]
    with pytest.raises(timeline.TraceError, match="after the last whole packet"):
        timeline.read(data[:-3])


def test_slices_must_end_where_their_sequence_says():
    trace = Trace()
    trace.event(5, BEGIN)
    trace.event(10, END)  # 1015
    other = trace.add(sequence=3, flags=1, first_packet_on_sequence=True)
    other.CopyFrom(trace.head)
    other.trusted_packet_sequence_id = 3
    for later, kind in ((10, BEGIN), (10, END)):  # from 1010 to 1020: half in the first
        trace.event(later, kind).trusted_packet_sequence_id = 3
    with pytest.raises(timeline.TraceError, match="is shown until"):
        trace.read()


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda t: t.event(1, BEGIN), "slices without an end"),
        (lambda t: t.event(1, END), "an end without a begin"),
        (lambda t: t.head.ClearField("sequence_flags"), "does not begin with a cleared state"),
        (lambda t: t.add(sequence=2, flags=1), "cleared in the middle"),
        (lambda t: t.head.trace_packet_defaults.ClearField("track_event_defaults"), "on track 0"),
        (lambda t: t.packets.pop(1), "no clock snapshot"),
        (lambda t: t.packets.pop(2), "which is not described"),
        (lambda t: t.packets.pop(0), "does not begin with a cleared state"),
        (lambda t: t.add(sequence=0, timestamp=5), "without a sequence"),
        (lambda t: t.event(1, pb.TrackEvent.TYPE_COUNTER), "wrong kind of track"),
        (lambda t: t.add().track_descriptor.CopyFrom(t.packets[2].track_descriptor), "twice"),
        (lambda t: t.head.interned_data.event_names.add(iid=1, name="b"), "is 'a', too"),
        (lambda t: t.begin.terminating_flow_ids.append(9), "without a begin"),
        (lambda t: setattr(t.begin, "name_iid", 2), "event_names 2 is not known"),
        (lambda t: t.begin.flow_ids.append(9), "flows without an end"),
    ],
)
def test_what_is_broken_is_said(break_it, message):
    trace = Trace()
    trace.event(5, BEGIN)
    trace.event(5, END)
    trace.begin = trace.event(5, BEGIN).track_event
    trace.event(5, END)
    assert len(trace.read().slices) == 2
    break_it(trace)
    with pytest.raises(timeline.TraceError, match=message):
        trace.read()
