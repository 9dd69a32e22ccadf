"""Names of engines and layers that hold any bytes, in every file and text, each read by a parser
that is not ours.  Perfetto's is in tests/perfetto, NVTX's in tests/nvtx."""

from __future__ import annotations

import html.parser
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from executorch.devtools import Inspector
from prometheus_client.parser import text_string_to_metric_families

import trtscope
from trtscope import metrics
from trtscope._testing import null_engine
from trtscope._testing_browser import browse, in_browser
from trtscope.report import write_report

MAKE_TRACE = os.environ["TRTSCOPE_MAKE_TRACE"]
MAKE_ETDUMP = os.environ["TRTSCOPE_MAKE_ETDUMP"]

LONG = "n" * 10_240
MARKUP = "</script><b title='&amp;'>"
#: Of layers, as UTF-8: each byte that is no part of a character has become U+FFFD.
LAYERS = [
    'quote" back\\slash',
    "line\nfeed\ttab\x01\x7f",
    "\ufffd\ufffd(\ufffd\ufffd\ufffd",
    LONG,
    "\ufffd" * 10_240,
    "",
    "twice",
    "twice",
    "café 🚀",
    MARKUP,
]
ENGINES = 8
FILES_OF_AN_ENGINE = 8  # four traces, four of the explorer's


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """The folder of files of engines with such names, the counters as JSON, and the table."""
    folder: Path = tmp_path_factory.mktemp("names") / "traces"
    program = [MAKE_TRACE, "names_everywhere", str(folder)]
    done = subprocess.run(program, check=True, capture_output=True, timeout=120)
    out = done.stdout.decode()  # strict: valid UTF-8
    return folder, json.loads(out[out.index("{") :]), done.stderr.decode()


def test_trace_and_explorer_files(made: tuple[Path, dict[str, Any], str]) -> None:
    folder, _, _ = made
    assert not list(folder.parent.glob("up*"))  # no name leads out of the folder
    files = [f for f in folder.iterdir() if f.suffix in (".trace", ".json")]
    assert len(files) == ENGINES * FILES_OF_AN_ENGINE
    for file in files:
        events = json.loads(file.read_bytes().decode())
        if file.name.endswith("_engine_execution_profile.trace"):
            layers = [e["name"] for e in events if e.get("cat") == "torchtrt.layer"]
            assert layers[:3] == LAYERS[:3]
            assert layers[3] == "n" * 1024 + "..."
            assert layers[5:10] == LAYERS[5:]
        elif file.name.endswith(".engine.profile.json"):
            assert [layer["name"] for layer in events[1:]] == LAYERS


def test_counters_and_table(made: tuple[Path, dict[str, Any], str]) -> None:
    _, timing, table = made
    assert len({engine["id"] for engine in timing["engines"]}) == ENGINES  # also of one name
    for engine in timing["engines"]:
        assert [layer["name"] for layer in engine["layers"]] == LAYERS
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", table)  # no terminal obeys a name
    assert len([line for line in table.splitlines() if re.search(r"-123456789abc-\d", line)]) >= 8


class Elements(html.parser.HTMLParser):
    """The elements of a page, and the text of the last script that holds data."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.data = ""
        self._in_data = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._in_data = ("type", "application/json") in attrs

    def handle_endtag(self, tag: str) -> None:
        self._in_data = False

    def handle_data(self, data: str) -> None:
        if self._in_data:
            self.data += data


def test_the_report(made: tuple[Path, dict[str, Any], str], tmp_path: Path) -> None:
    page = write_report(made[0], tmp_path / "r.html")
    parser = Elements()
    parser.feed(page.read_text())
    assert parser.tags.count("script") == 2
    assert "b" not in parser.tags
    engines = json.loads(parser.data)["engines"]
    assert len(engines) == ENGINES
    for engine in engines:
        assert [layer["name"] for layer in engine["layers"]][5:] == LAYERS[5:]


@in_browser
def test_the_report_in_a_browser(made: tuple[Path, dict[str, Any], str], tmp_path: Path) -> None:
    dom = browse(
        write_report(made[0], tmp_path / "r.html"),
        """
        document.getElementById("layer-more").click();
        const cells = [...document.querySelectorAll("#layers td, #engines td")];
        document.documentElement.dataset.shown = cells.filter(
          (c) => c.textContent.startsWith("<\\/script><b title='&amp;'>")).length;
        document.documentElement.dataset.markup = document.querySelectorAll("td b").length;
        """,
    )
    # Eight layers; and one engine, in its row and in those of its ten layers.
    assert 'data-shown="19"' in dom
    assert 'data-markup="0"' in dom


def test_metrics(tmp_path: Path) -> None:
    names = [
        'quote" back\\slash',
        "line\nfeed\t\x01",
        LONG,
        "twice",
        "twice",
        "café 🚀",
        MARKUP,
        "{}",
    ]
    trtscope.reset_timing()
    engines = [null_engine(name) for name in names]
    server, thread = metrics.serve(0)
    try:
        with trtscope.profile(level="phases", dir=tmp_path):
            for engine, inputs in engines:
                engine(*inputs)
            import urllib.request

            address = f"http://127.0.0.1:{server.server_port}/metrics"
            with urllib.request.urlopen(address, timeout=30) as answer:
                text = answer.read().decode()
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
    families = text_string_to_metric_families(text)
    ids = {s.labels["engine"] for f in families for s in f.samples if "engine" in s.labels}
    assert ids == {engine.id for engine, _ in engines}
    assert len(ids) == len(names)


def test_etdump(tmp_path: Path) -> None:
    subprocess.run([MAKE_ETDUMP, str(tmp_path / "t.etdp")], check=True, timeout=60)
    inspector = Inspector(etdump_path=str(tmp_path / "t.etdp"))
    events = [event for block in inspector.event_blocks for event in block.events]
    layers = [e.name.removeprefix("torchtrt.layer/") for e in events if "layer/" in e.name]
    # Names are unique within a call, or the Inspector would merge two layers into one.
    assert layers == [*LAYERS[:7], "twice #2", *LAYERS[8:]]
    for event in events:
        for metadata in event.delegate_debug_metadatas:
            said = json.loads(metadata)
            assert said["engine"] == 'quote" back\\slash\n\ufffd</script>-123456789abc-0'
