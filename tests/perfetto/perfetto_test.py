"""The process's Perfetto trace, of real programs, through Perfetto's own message classes."""

import json
import os
import random
import subprocess
import time
from collections import Counter

import pytest
import timeline
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

_PROGRAM = os.environ["TRTSCOPE_MAKE_TRACE"]
_SUFFIX = ".perfetto-trace"


def run(scenario, folder):
    """Runs a scenario; what it printed as a dict, with its counters under "timing"."""
    program = [_PROGRAM, scenario, str(folder)]
    done = subprocess.run(program, check=True, capture_output=True, text=True, timeout=120)
    text, _, timing = done.stdout.partition("{")
    said = {key: int(value) for key, value in (line.split() for line in text.splitlines())}
    return said | {"timing": json.loads("{" + timing)} if timing else said


def traces(folder):
    """In the order of their numbers, of which the first has none: HOST.PID[.N]."""

    def number(path):
        parts = path.name.removesuffix(_SUFFIX).split(".")
        return len(parts), int(parts[-1])

    return sorted(folder.glob("*" + _SUFFIX), key=number)


def one_trace(folder):
    (path,) = traces(folder)
    data = path.read_bytes()
    assert len(pb.Trace.FromString(data).packet) > 10  # whole, for the plain parser too
    assert not list(folder.glob("*.partial"))
    return timeline.read(data)


def dropped(said):
    return said["timing"]["dropped_spans"]


def counter(trace, name):
    (track,) = [uuid for uuid in trace.counters if trace.path(uuid).endswith(name)]
    return [value for _, value in trace.counters[track]]


def root_of(trace):
    (root,) = [uuid for uuid, t in trace.tracks.items() if t.HasField("process")]
    return root


def flows(trace):
    """How many there are; each leads from a call's enqueue to the same call's device time."""
    enqueues, spans = trace.named("torchtrt.enqueue_host"), trace.named("torchtrt.gpu")
    begins = {flow: s.parent.args["call"] for s in enqueues for flow in s.flows}
    assert begins == {flow: s.args["call"] for s in spans for flow in s.flow_ends}
    return len(begins)


def test_calls_phases_device_time_layers_and_flows(tmp_path):
    said = run("gpu", tmp_path)
    trace = one_trace(tmp_path)
    assert dropped(said) == 0
    assert Counter(s.name for s in trace.slices) == {
        "torchtrt.delegate": 800,
        "torchtrt.input_binding": 800,
        "torchtrt.output_binding": 800,
        "torchtrt.enqueue_host": 800,
        "torchtrt.gpu": 800,
        "conv": 200,
        "relu": 100,
    }
    begin, end = said["begin_ns"], said["end_ns"]
    assert all(begin <= s.start <= s.end <= end + 100_000 for s in trace.slices)

    calls = trace.named("torchtrt.delegate")
    assert len({s.track for s in calls}) == 2
    assert {(s.args["engine"].split("-")[0], s.args["call"]) for s in calls} == {
        (engine, call) for engine in ("first", "second") for call in range(1, 401)
    }
    assert [s.args["call"] for s in calls if "failed" in s.args] == [6, 6]
    assert all(s.categories == ["torchtrt"] and s.parent is None for s in calls)
    for phase in ("input_binding", "output_binding", "enqueue_host"):
        for s in trace.named("torchtrt." + phase):
            assert s.parent.name == "torchtrt.delegate"

    begins = {flow: s for s in trace.named("torchtrt.enqueue_host") for flow in s.flows}
    for s in trace.named("torchtrt.gpu"):
        (flow,) = s.flow_ends
        call = begins[flow].parent
        assert call.args["call"] == s.args["call"]
        assert call.args["engine"] in trace.path(s.track)
        assert s.end - s.start == 50_000
        assert call.start <= s.start
    for s in trace.named("conv") + trace.named("relu"):
        assert s.parent.name == "torchtrt.gpu"
        assert s.categories == ["torchtrt.layer", "estimated"]


def test_device_times_that_come_before_their_call_is_over(tmp_path):
    run("waits", tmp_path)
    trace = one_trace(tmp_path)  # every flow has both of its ends
    begins = {
        flow: s.parent.args["call"]
        for s in trace.named("torchtrt.enqueue_host")
        for flow in s.flows
    }
    ends = {flow: s.args["call"] for s in trace.named("torchtrt.gpu") for flow in s.flow_ends}
    assert begins == ends
    assert len(begins) == 50
    assert all(s.parent.name == "torchtrt.gpu" for s in trace.named("conv"))


def test_tracks_counters_and_clocks(tmp_path):
    run("gpu", tmp_path)
    trace = one_trace(tmp_path)
    names = {trace.path(uuid).replace(trace.path(root_of(trace)), "", 1) for uuid in trace.tracks}
    (first,) = [n for n in names if n.startswith("/engine first") and n.count("/") == 1]
    assert {f"{first}/{below}" for below in ("gpu", "workspace", "dropped spans")} <= names
    assert "/calls in flight" in names
    (root,) = [t for t in trace.tracks.values() if t.HasField("process")]
    threads = [t.thread for t in trace.tracks.values() if t.HasField("thread")]
    assert root.process.process_name == "make_trace"
    assert {t.pid for t in threads} == {root.process.pid}
    assert root.process.pid in {t.tid for t in threads}  # the main thread
    engine = next(t for t in trace.tracks.values() if t.name.startswith("engine first"))
    assert "plan 123456789abcdef0, implementation null, runtime torch" in engine.description

    assert counter(trace, f"{first}/workspace") == [1 << 20]
    assert counter(trace, f"{first}/dropped spans") == [0]
    in_flight = counter(trace, "calls in flight")
    assert in_flight[-1] == 0
    assert max(in_flight) <= 2

    clocks = trace.clocks[0]
    for ours, theirs in (
        (pb.BUILTIN_CLOCK_REALTIME, time.CLOCK_REALTIME),
        (pb.BUILTIN_CLOCK_BOOTTIME, time.CLOCK_BOOTTIME),
    ):
        offset = clocks[ours] - clocks[timeline.MONOTONIC]
        now = time.clock_gettime_ns(theirs) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        assert abs(offset - now) < 50_000_000


def test_a_whole_engine_on_a_device(tmp_path):
    subprocess.run([os.environ["TRTSCOPE_RUN_ENGINE"], str(tmp_path)], check=True, timeout=120)
    trace = one_trace(tmp_path)
    assert len(trace.named("torchtrt.delegate")) == 41
    assert len(trace.named("torchtrt.workspace")) == 1
    assert counter(trace, "/workspace") == [256 * 8]  # of each element
    enqueues = trace.named("torchtrt.enqueue_host")
    assert len(enqueues) == 40
    assert flows(trace) == 10
    layers = trace.named("conv") + trace.named("relu")
    assert len(layers) == 30
    assert all(
        trace.path(s.track).startswith(trace.path(root_of(trace)) + "/engine fake") for s in layers
    )


def test_what_overlaps_takes_lanes(tmp_path):
    run("overlap", tmp_path)
    trace = one_trace(tmp_path)  # which fails where slices of one track overlap
    assert len({s.track for s in trace.named("torchtrt.gpu")}) > 1
    layers = trace.named("too long") + trace.named("by far")
    assert len(layers) == 100
    assert all(s.parent is None and "/layers" in trace.path(s.track) for s in layers)


def test_a_call_in_a_call_is_nested(tmp_path):
    run("nested", tmp_path)
    trace = one_trace(tmp_path)
    inner = [s for s in trace.named("torchtrt.delegate") if s.args["engine"].startswith("inner")]
    assert len(inner) == 20
    for s in inner:
        assert s.parent.name == "torchtrt.enqueue_host"
        assert s.parent.parent.args["engine"].startswith("outer")


def test_names_of_any_bytes(tmp_path):
    run("names", tmp_path)
    trace = one_trace(tmp_path)
    layers = [s.name for s in trace.slices if "torchtrt.layer" in s.categories]
    assert layers[:10] == layers[10:20] == layers[20:]
    cut = "n" * 1024 + "..."
    assert layers[:4] == [
        'quote" back\\slash',
        "line\nfeed\ttab\x01\x7f",
        "�" * 2 + "(" + "�" * 3,
        cut,
    ]
    assert layers[4].strip("�") == "..."
    assert layers[5:10] == ["", "twice", "twice", "café 🚀", "</script><b title='&amp;'>"]
    for s in trace.slices:
        if "torchtrt.layer" in s.categories:
            assert s.parent.name == "torchtrt.enqueue_host"  # they were timed there


@pytest.mark.parametrize(("scenario", "spans_of_a_call"), [("phases", 5), ("delegate", 1)])
def test_a_span_takes_at_most_40_bytes(tmp_path, scenario, spans_of_a_call):
    said = run(scenario, tmp_path)
    trace = one_trace(tmp_path)
    assert len(trace.slices) + dropped(said) == 5000 * spans_of_a_call
    assert counter(trace, "dropped spans")[-1] == dropped(said)
    (path,) = traces(tmp_path)
    assert path.stat().st_size <= 40 * len(trace.slices)


def test_a_trace_that_grows_too_large_is_followed_by_one_that_stands_alone(tmp_path):
    said = run("rotation", tmp_path)
    files = traces(tmp_path)
    assert len(files) > 3
    calls = []
    for path in files:
        assert path.stat().st_size < 60_000 + 200_000  # it ends after the round that filled it
        # A flow may lead into the next one: not complete.
        trace = timeline.read(path.read_bytes(), complete=False)
        assert trace.cut_bytes == 0
        assert all(s.end is not None for s in trace.slices)
        calls += [s.args["call"] for s in trace.named("torchtrt.delegate")]
    assert len(calls) + sum(e["dropped_spans"] for e in said["timing"]["engines"]) >= 3001
    assert calls[1:] == sorted(calls[1:])


def test_each_session_has_a_file(tmp_path):
    run("sessions", tmp_path)
    files = traces(tmp_path)
    pid = files[0].name.split(".")[-2]
    assert [f.name.rsplit(pid, 1)[1] for f in files] == [_SUFFIX, ".1" + _SUFFIX, ".2" + _SUFFIX]
    for path in files:
        assert len(timeline.read(path.read_bytes()).named("torchtrt.delegate")) == 10


def test_a_forked_child_writes_its_own(tmp_path):
    said = run("fork", tmp_path)
    for process, calls in (("parent", 300), ("child", 30)):
        (path,) = tmp_path.glob(f"*.{said[process]}{_SUFFIX}")
        trace = timeline.read(path.read_bytes())
        assert len(trace.named("torchtrt.delegate")) == calls
        assert trace.tracks[root_of(trace)].process.pid == said[process]
    assert not list(tmp_path.glob("*.partial"))


def test_what_a_copy_cut_loads_up_to_its_last_whole_packet(tmp_path):
    run("gpu", tmp_path)
    (path,) = traces(tmp_path)
    data = path.read_bytes()
    chosen = random.Random(5)
    for _ in range(20):
        size = chosen.randrange(1000, len(data))
        assert timeline.read(data[:size], complete=False).cut_bytes < 4096
