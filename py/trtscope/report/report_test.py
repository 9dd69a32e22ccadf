"""The report: its data, its sentences, and the page in a browser."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import zlib
from array import array
from pathlib import Path

import numpy as np
import pytest

import trtscope
from trtscope._profile import names
from trtscope._recording import EngineRecording, Layer, Process, Recording, read_recording
from trtscope._testing import null_engine, spans
from trtscope._testing_browser import PAPER_WIDTH, browse, in_browser, printed
from trtscope.cli import FAILED, OK, main
from trtscope.report import write_report
from trtscope.report._data import report_data, timeline
from trtscope.report._findings import findings
from trtscope.report._page import page_of

NASTY = (
    "conv</script><script>document.title='owned'</script> \"q\" \\ \u0007 \ud800 " + "x" * 10_000
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two engines, 30 calls of each."""
    path: Path = tmp_path_factory.mktemp("traces")
    engines = [null_engine(name, layers=4) for name in ("encoder", "decoder")]
    with trtscope.profile(level="layers", dir=path):
        for _ in range(30):
            for engine, inputs in engines:
                engine(*inputs)
    return path


def made(phases: dict[str, list[int]], layers: dict[str, list[int]] | None = None) -> Recording:
    """A recording of one engine with these durations (ns) of phases, by column, and layers."""
    events = {phase["column"]: phase["event"] for phase in names()["phases"]}
    engine = EngineRecording("encoder-0123456789ab-0", "tensorrt", "torch")
    engine.phases = {events[column]: spans(times) for column, times in phases.items()}
    for position, (name, times) in enumerate((layers or {}).items()):
        engine.layers[position] = Layer(name, spans(times, track=2))
    return Recording(
        Path("made"), [Process("host", 1, "python", (0, 1), {}, {engine.id: engine})], []
    )


def test_sums_are_the_recording_s(folder: Path) -> None:
    data = report_data(read_recording(folder))
    assert [(e["name"], e["phases"]["total"]["count"]) for e in data["engines"]] == [
        ("decoder", 30),
        ("encoder", 30),
    ]
    for engine in data["engines"]:
        total = engine["phases"]["total"]
        assert total["min_ns"] <= total["p50_ns"] <= total["p99_ns"] <= total["max_ns"]
        assert sum(engine["histograms"]["total"]["counts"]) == 30
        assert [layer["count"] for layer in engine["layers"]] == [30] * 4
        assert all(layer["p50_ns"] == 1000 for layer in engine["layers"])
    assert data["processes"][0]["pid"] == os.getpid()
    assert data["timeline"]["shown"] == data["timeline"]["all"] > 2 * 30 * 4


def test_a_long_timeline_is_sampled_and_says_so() -> None:
    durations = [1000] * 5000
    durations[4321] = 9999
    found = timeline(made({"total": durations}), most=100)
    (lane,) = found["lanes"]
    calls = lane["slices"][4::6]
    assert (found["all"], found["every"]) == (5000, 50)
    assert found["shown"] == len(calls) == 101
    assert 4322 in calls  # the slowest is there in any case
    assert calls == sorted(calls)


def test_parts_lie_below_their_call() -> None:
    lanes = timeline(made({"total": [1000, 1000], "enqueue": [400, 1000]}))["lanes"]
    (lane,) = lanes
    assert lane["depth"] == 2
    assert lane["slices"][5::6] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("rule", "recording", "sentence"),
    [
        (
            "enqueue_bound",
            made({"total": [90_000] * 9, "enqueue": [80_000] * 9, "gpu": [20_000] * 9}),
            "80.0 µs of host time in the enqueue, 20.0 µs on the GPU",
        ),
        (
            "layers_unlike_span",
            made({"total": [9_000] * 9, "gpu": [2_000_000] * 9}, {"a": [500_000] * 9}),
            "sum up to 500.0 µs, its GPU span is 2.00 ms",
        ),
        (
            "input_copies",
            made({"total": [100_000] * 9, "inputs": [30_000] * 9}),
            "30 % of a call's host time binds inputs, 30.0 µs",
        ),
        (
            "staged_outputs",
            made({"total": [1000] * 9, "staging": [100] * 9, "synchronize": [300] * 9}),
            "40 % of the host time copies outputs",
        ),
        ("sampled", made({"total": [1000] * 9, "gpu": [9000] * 3}), "3 of 9 calls were measured"),
        (
            "opaque_layers",
            made({"total": [9] * 9}, {"{ForeignNode[a...b]}": [30] * 9, "conv": [70] * 9}),
            "30 % of the layer time is in 1 fused layers",
        ),
        (
            "slow_call",
            made({"total": [9_000_000] + [1000] * 9}),
            "The first call of the recording took 9.00 ms, 9000 times the median of 1.0 µs: ",
        ),
        (
            "slow_call",
            made({"total": [1000] * 9 + [9_000_000]}),
            "Call 10, not the first, took 9.00 ms, 9000 times the median",
        ),
    ],
)
def test_a_rule_speaks(rule: str, recording: Recording, sentence: str) -> None:
    said = {f["rule"]: f["text"] for f in findings(report_data(recording)["engines"])}
    assert sentence in said.get(rule, f"nothing; others: {said}")


def test_dropped_spans_and_cut_files_are_said() -> None:
    recording = made({"total": [1000] * 9})
    (engine,) = recording.processes[0].engines.values()
    engine.dropped, engine.cut = 12, [Path("x.partial")]
    said = {f["rule"]: f["text"] for f in findings(report_data(recording)["engines"])}
    assert "12 spans were dropped" in said["dropped"]
    assert "1 of its files have no end" in said["cut_short"]


def test_an_ordinary_engine_gives_no_warning() -> None:
    recording = made(
        {"total": [30_000] * 9, "enqueue": [20_000] * 9, "gpu": [90_000] * 9, "inputs": [900] * 9},
        {"a": [50_000] * 9, "b": [40_000] * 9},
    )
    assert findings(report_data(recording)["engines"]) == []


def test_what_is_small_or_happened_once_gives_no_warning() -> None:
    recording = made(
        {"total": [3_000] * 9, "inputs": [900] * 8 + [9_000], "enqueue": [2_000] * 9},
        {"a": [500] * 9},
    )
    assert findings(report_data(recording)["engines"]) == []


def test_the_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "r.html"
    assert main(["report", str(folder), "-o", str(page)]) == OK
    assert capsys.readouterr().out.strip() == str(page)
    text = page.read_text()
    assert not re.search(r"(src|href)\s*=", text)  # needs nothing else
    embedded = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert embedded is not None
    assert len(json.loads(embedded[1])["engines"]) == 2
    assert main(["report", str(tmp_path / "nowhere")]) == FAILED
    assert "nowhere: expected a folder of traces" in capsys.readouterr().err
    assert main(["report", str(folder), "-o", str(tmp_path)]) == FAILED
    assert "is a folder; name a file" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_said_and_the_others_reported(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    old = copy / "old-0123456789ab-0.host.1_engine_execution_profile.trace.partial"
    old.write_bytes(b"[\n")
    page = tmp_path / "r.html"
    assert main(["report", str(copy), "-o", str(page)]) == OK
    reason = "names no engine: cut at its start, or no trace of trtscope: left out"
    assert f"trtscope: warning: {old}: {reason}\n" in capsys.readouterr().err
    embedded = re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert embedded is not None
    data = json.loads(embedded[1])
    assert len(data["engines"]) == 2
    assert old.name not in data["files"]
    assert (data["findings"][0]["of"], data["findings"][0]["text"]) == (
        old.name,
        f"A file of the folder is not, or not all, in this report: {reason}.",
    )


def test_a_pipe_in_the_folder_is_not_waited_for(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    for name in ("z_engine_execution_profile.trace", "z.engine.graph.json", "z.etdp"):
        os.mkfifo(copy / name)
    assert main(["report", str(copy), "-o", str(tmp_path / "r.html")]) == OK
    assert "cannot be read (it is no file)" in capsys.readouterr().err


def test_an_etdump_that_cannot_be_read_is_said_on_the_page(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "model.etdp").write_bytes(b"no ETDump")
    text = write_report(copy, tmp_path / "r.html").read_text()
    assert '"file":"model.etdp","error":"its steps are not shown: ' in text


def test_a_record_that_was_named_must_be_one(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "model.etdp").write_bytes(b"no ETDump")
    with pytest.raises(
        trtscope.TrtscopeError, match=r"model\.etdp with record .*nowhere\.etrecord"
    ):
        write_report(copy, tmp_path / "r.html", etrecord=tmp_path / "nowhere.etrecord")


# --- in a browser ------------------------------------------------------------------------------


def page_file(recording: Recording, folder: Path) -> Path:
    path = folder / "r.html"
    path.write_text(page_of(recording), encoding="utf-8")
    return path


@in_browser
def test_the_page_draws(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "old_input_profile.trace").write_bytes(b"")
    dom = browse(write_report(copy, tmp_path / "r.html"))
    assert re.search(r'data-drawn-ms="\d+"', dom)
    assert "in this report: it is empty: left out.<span>old_input_profile.trace</span>" in dom
    assert len(re.findall(r"<figure>", dom)) == 2
    assert "8 of 8 layers" in dom
    assert re.search(r'aria-sort="descending"[^>]*>total<', dom)  # the engines that matter first
    assert re.search(r'id="range">0 ns to [\d.]+ (µs|ms|s)<', dom)


@in_browser
def test_search_sort_and_zoom(folder: Path, tmp_path: Path) -> None:
    dom = browse(
        write_report(folder, tmp_path / "r.html"),
        """
        const out = document.documentElement.dataset;
        const search = document.getElementById("layer-search");
        search.value = "LAYER_2"; search.dispatchEvent(new Event("input"));
        out.searched = document.getElementById("layer-count").textContent;
        search.value = ""; search.dispatchEvent(new Event("input"));
        const heading = () => document.querySelector("#layers th:nth-child(2)");
        const firsts = [];
        for (let i = 0; i < 2; ++i) {
          heading().click();
          firsts.push(document.querySelector("#layers tbody td:nth-child(2)").textContent);
        }
        out.sorted = firsts.join();
        const before = document.getElementById("range").textContent;
        document.querySelector("[data-zoom='0.5']").click();
        out.zoomed = String(document.getElementById("range").textContent !== before);
        """,
    )
    assert 'data-searched="2 of 8 layers"' in dom
    assert 'data-sorted="3,0"' in dom
    assert 'data-zoomed="true"' in dom


@in_browser
def test_names_from_traces_stay_text(tmp_path: Path) -> None:
    recording = made({"total": [1000] * 9}, {NASTY: [500] * 9})
    dom = browse(page_file(recording, tmp_path))
    assert "<title>trtscope report</title>" in dom
    assert "conv&lt;/script&gt;&lt;script&gt;" in dom


@in_browser
def test_a_million_spans_are_drawn(tmp_path: Path) -> None:
    """14 engines, a million spans; how long it takes to open is in docs/benchmarks.md."""
    generator = np.random.default_rng(0)
    recording = made({})
    engines = recording.processes[0].engines
    engines.clear()
    for number in range(14):
        engine = EngineRecording(f"engine{number}-0123456789ab-0", "null", "torch")
        for event in ("torchtrt.delegate", "torchtrt.enqueue_host"):
            engine.phases[event] = spans(generator.integers(900, 999, 24_000).tolist())
        for position in range(2):
            times = generator.integers(100, 400, 24_000).tolist()
            engine.layers[position] = Layer(f"layer {position}", spans(times, track=9 + number))
        engines[engine.id] = engine
    page = page_file(recording, tmp_path)
    assert page.stat().st_size < 4_000_000
    dom = browse(page)
    assert re.search(r"[\d,]+ of 1,344,000 spans: of one call in 34", dom)


# --- on paper ----------------------------------------------------------------------------------

#: Sets ``data-cut`` to what sticks out of its page or of its cell, and ``data-painted`` to how many
#: colours the timeline has.
MEASURE = """
const out = document.documentElement.dataset;
const wide = document.documentElement.clientWidth;
const shown = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility());
out.wide = wide;
out.cut = shown.filter((e) => e.getBoundingClientRect().right > wide + 1
    || (e.matches("td, th, li, p, figcaption, .scroll") && e.scrollWidth > e.clientWidth + 1))
  .map((e) => e.tagName + "." + e.className + ": " + e.textContent.slice(0, 40)).join("; ");
out.controls = shown.filter((e) => e.matches("button, input, select, .screen")).length;
const canvas = document.getElementById("timeline");
const pixels = new Uint32Array(
  canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
out.painted = new Set(pixels).size;
"""


def long_recording(engines: int = 14, layers: int = 40) -> Recording:
    """Names as long as real ones; more engines and layers than fit on one page."""
    recording = made({})
    found = recording.processes[0].engines
    found.clear()
    for number in range(engines):
        engine = EngineRecording(
            f"vision_tower.encoder.blocks.{number}.attention-0123456789ab-0", "tensorrt", "torch"
        )
        for event in ("torchtrt.delegate", "torchtrt.enqueue_host"):
            engine.phases[event] = spans([1000 * (number + 1)] * 20)
        for position in range(layers):
            name = f"/blocks.{number}/attention/qkv/MatMul + /blocks.{number}/Add_{position}"
            layer = spans([1000 + position] * 20, track=9 + number)
            layer.start_ns = array("q", (at + 2000 * position for at in layer.start_ns))
            engine.layers[position] = Layer(name, layer)
        found[engine.id] = engine
    return recording


@in_browser
def test_nothing_is_cut_off_on_paper(tmp_path: Path) -> None:
    recording = long_recording()
    dom = browse(page_file(recording, tmp_path), MEASURE, paper=True)
    assert f'data-wide="{PAPER_WIDTH}"' in dom
    assert 'data-cut=""' in dom
    assert 'data-controls="0"' in dom
    painted = re.search(r'data-painted="(\d+)"', dom)
    assert painted is not None
    assert int(painted[1]) > 3


@in_browser
def test_paper_says_what_was_chosen_on_the_screen(tmp_path: Path) -> None:
    recording = long_recording()
    engine = next(iter(recording.processes[0].engines))
    dom = browse(
        page_file(recording, tmp_path),
        """
        const search = document.getElementById("layer-search");
        const chosen = document.getElementById("layer-engine");
        chosen.value = chosen.options[1].value; chosen.dispatchEvent(new Event("change"));
        search.value = "Add_"; search.dispatchEvent(new Event("input"));
        document.querySelector("[data-zoom='0.5']").click();
        const text = (id) => document.getElementById(id).innerText;
        document.documentElement.dataset.count = text("layer-count");
        document.documentElement.dataset.filter = text("layer-filter");
        document.documentElement.dataset.range = text("range");
        """,
        paper=True,
    )
    assert 'data-count="30 slowest of 40 layers"' in dom
    assert f'data-filter=" of {engine} with “Add_” in the name"' in dom
    assert re.search(r'data-range="[\d.]+ ms to [\d.]+ ms"', dom)


def drawing(pdf: bytes) -> list[bytes]:
    """What draws the pages of a PDF."""
    contents = []
    for start in re.finditer(rb"stream\r?\n", pdf):
        with contextlib.suppress(zlib.error):  # not a compressed one
            contents.append(zlib.decompressobj().decompress(pdf[start.end() :]))
    return contents


@in_browser
@pytest.mark.parametrize(
    ("engines", "most_pages"),
    [(14, 5), (200, 11)],  # the second one's timeline would be taller than six pages
)
def test_the_page_prints(tmp_path: Path, engines: int, most_pages: int) -> None:
    pdf = printed(page_file(long_recording(engines), tmp_path))
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 2 <= pages <= most_pages
    # Tables and distributions have some hundred rectangles a page, the timeline some thousand.
    rectangles = [content.count(b" re\n") for content in drawing(pdf)]
    assert len([n for n in rectangles if n > 1000]) == 1
    assert rectangles[-1] < 1000  # and more comes after it


@in_browser
def test_what_has_no_room_is_counted(tmp_path: Path) -> None:
    dom = browse(page_file(long_recording(700, 1), tmp_path))
    assert len(re.findall(r"<figure>", dom)) == 24
    assert "The 24 engines with the most host time, of 700." in dom
    said = re.search(r"The first (\d+) of 701 rows have room here\.", dom)
    assert said is not None
    assert 300 < int(said[1]) < 700
    (height,) = re.findall(r'<canvas id="timeline"[^>]* height="(\d+)"', dom)
    assert int(height) <= 16000  # a browser leaves one that is much taller blank
