"""Folders of traces: written by the null engine, cut, damaged, and read back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import trtscope
from trtscope._profile import names
from trtscope._recording import PARTIAL, Recording, read_recording
from trtscope._testing import null_engine

CALLS = 7


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    engine, inputs = null_engine("encoder", layers=3)
    with trtscope.profile(level="layers", dir=tmp_path / "traces") as profile:
        for _ in range(CALLS):
            engine(*inputs)
    assert profile.timing()[0]["calls"] == CALLS
    return tmp_path / "traces"


def test_everything_that_was_written_is_read(traces: Path) -> None:
    recording = read_recording(traces)
    ((process, engine),) = recording.engines()
    assert engine.name == "encoder"
    assert engine.id.startswith("encoder-")
    assert engine.implementation == "null"
    assert process.clock is not None
    assert (engine.dropped, engine.cut) == (0, [])
    for phase in ("torchtrt.delegate", "torchtrt.enqueue_host"):
        assert list(engine.phases[phase].call) == list(range(1, CALLS + 1))
    assert all(d > 0 for d in engine.phases["torchtrt.delegate"].duration_ns)
    assert sorted(engine.layers) == [0, 1, 2]
    assert all(len(layer.spans) == CALLS for layer in engine.layers.values())


def test_a_trace_that_was_cut_is_read_up_to_its_last_whole_event(traces: Path) -> None:
    file = next(traces.glob("*_engine_execution_profile.trace"))
    text = file.read_bytes()
    whole = len(read_recording(traces).processes[0].engines.popitem()[1].layers[2].spans)
    last = text.rindex(b'"layer":2')
    file.with_name(file.name + PARTIAL).write_bytes(text[:last])
    file.unlink()
    ((_, engine),) = read_recording(traces).engines()
    assert len(engine.layers[2].spans) == whole - 1
    assert [f.name for f in engine.cut] == [file.name + PARTIAL]


def whole_calls(recording: Recording) -> int:
    ((_, engine),) = recording.engines()
    return len(engine.phases["torchtrt.delegate"])


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text.replace(b'"ph":"X"', b'"ph";"X"', 1), r"line \d+ is no event"),
        (
            lambda text: text.replace(b'"dur":', b'"duration":', 1),
            r"line \d+: expected an event with 'dur'",
        ),
        (lambda text: re.sub(rb'"dur":[0-9.]+', b'"dur":NaN', text), "NaN to integer"),
        (lambda text: re.sub(rb'"dur":[0-9.]+', b'"dur":1e30', text), "int too big"),
        (lambda text: re.sub(rb'"tid":\d+', b'"tid":"x"', text), r"line \d+: expected an event as"),
        (lambda text: text[: len(text) // 2] + bytes(100) + b"\n" + text[-300:], "is no event"),
        (lambda text: text.replace(b'{"name":"torchtrt', b"[" * 9999 + b'"', 1), "is no event"),
    ],
)
def test_a_damaged_trace_is_read_up_to_there(traces: Path, damage: object, reason: str) -> None:
    file = next(traces.glob("*_engine_execution_profile.trace"))
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    recording = read_recording(traces)
    ((_, engine),) = recording.engines()
    (unread,) = recording.unread
    assert unread.file == file
    assert re.search(f"{reason}.*: read up to there$", unread.reason)
    assert len(engine.phases["torchtrt.enqueue_host"]) == CALLS  # of another file
    assert engine.cut == []  # which says something else
    for spans in (*engine.phases.values(), *(layer.spans for layer in engine.layers.values())):
        assert len({len(column) for column in vars(spans).values()}) == 1


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: b"", "it is empty"),
        (lambda text: b"[", "names no engine: cut at its start"),
        (lambda text: b"[\n", "names no engine: cut at its start"),
        # Within its header, as a process that was killed while it wrote that leaves it.
        (lambda text: text[:40], "names no engine: cut at its start"),
        (lambda text: text[: text.index(b"trtscope.engine")], "names no engine: cut at its start"),
        (lambda text: bytes(4096), "line 1 is no event"),  # as some file systems do without power
        (lambda text: b"\x00\xff\xfe", "line 1 is no event"),
        (lambda text: b"[\n{}\n]\n", "line 2: expected an event with 'name', got {}"),
        (lambda text: b"[\n[1]\n]\n", r"expected an event, got '\[1\]'"),
        (lambda text: re.sub(rb'"args":{"engine":', b'"args":[{"engine":', text), r"line \d+"),
    ],
)
@pytest.mark.parametrize("end", ["", PARTIAL])
def test_a_file_that_names_no_engine_costs_what_is_in_it(
    traces: Path, damage: object, reason: str, end: str
) -> None:
    file = next(traces.glob("*_engine_execution_profile.trace"))
    old = file.with_name(f"old-{file.name}{end}")
    old.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    recording = read_recording(traces)
    assert whole_calls(recording) == CALLS
    assert old not in recording.files
    (unread,) = recording.unread
    assert str(unread).startswith(f"{old}: ")
    assert re.search(f"{reason}.*: left out$", unread.reason)


def test_an_entry_that_cannot_be_read_is_named(traces: Path) -> None:
    entry = traces / "zz_input_profile.trace"
    entry.mkdir()
    recording = read_recording(traces)
    assert whole_calls(recording) == CALLS
    assert [str(u) for u in recording.unread] == [
        f"{entry}: cannot be read (Is a directory): left out"
    ]


@pytest.mark.parametrize(
    "graph",
    [b"", b'{"Layers": [', b"[]", b'{"Layers": 7}', b'{"Layers": null}', b"[" * 9999, None],
)
def test_a_damaged_graph_costs_the_details(traces: Path, graph: bytes | None) -> None:
    ((_, engine),) = read_recording(traces).engines()
    file = traces / f"{engine.id}.host.1.engine.graph.json"
    if graph is None:
        file.mkdir()
    else:
        file.write_bytes(graph)
    recording = read_recording(traces)
    assert whole_calls(recording) == CALLS
    (unread,) = recording.unread
    assert unread.file == file
    assert unread.reason.endswith(": its engine's layers have no details")


def test_a_folder_of_which_nothing_can_be_read_is_refused(traces: Path) -> None:
    for file in traces.glob("*.trace"):
        file.write_bytes(b"")
    with pytest.raises(trtscope.TrtscopeError) as error:
        read_recording(traces)
    first = min(f.name for f in traces.glob("*.trace"))
    assert str(error.value).startswith(
        f"{traces}: none of its traces (4) can be read: {first}: it is empty: left out; "
    )


def test_folders_without_traces_are_named(tmp_path: Path) -> None:
    with pytest.raises(trtscope.TrtscopeError, match="nowhere: expected a folder of traces"):
        read_recording(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("no trace")
    with pytest.raises(trtscope.TrtscopeError, match="no trace in it; expected files that end in"):
        read_recording(tmp_path)


def test_the_names_are_the_core_s() -> None:
    assert names()["phases"][0]["event"] == "torchtrt.delegate"


def test_a_second_session_and_an_engine_of_the_same_name_stay_apart(tmp_path: Path) -> None:
    first, inputs = null_engine("encoder", layers=1)
    second, _ = null_engine("encoder", layers=1)
    for session in range(2):
        with trtscope.profile(dir=tmp_path):
            for engine in (first, second):
                for _ in range(session + 2):
                    engine(*inputs)
    found = {
        e.id: len(e.phases["torchtrt.delegate"]) for _, e in read_recording(tmp_path).engines()
    }
    assert found == {first.id: 5, second.id: 5}
