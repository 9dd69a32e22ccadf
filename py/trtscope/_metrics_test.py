"""Metrics as a scraper sees them, read by Prometheus's own parser."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from prometheus_client.parser import text_string_to_metric_families

import trtscope
from trtscope import metrics
from trtscope._testing import null_engine


@pytest.fixture
def address() -> Iterator[str]:
    server, thread = metrics.serve(0)
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    server.server_close()
    thread.join(10)


def scrape(address: str) -> dict[tuple[str, str, str], float]:
    """Values by sample name, phase and quantile."""
    with urllib.request.urlopen(address, timeout=30) as answer:
        text = answer.read().decode()
    return {
        (s.name, s.labels.get("phase", ""), s.labels.get("quantile", "")): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
    }


def test_a_scrape_is_what_was_counted(address: str, tmp_path: Path) -> None:
    name = 'enc"o\\der\n'  # must survive the format's escapes
    engine, inputs = null_engine(name)
    trtscope.reset_timing()
    with trtscope.profile(level="phases", dir=tmp_path) as profile:
        for _ in range(5):
            engine(*inputs)
        with pytest.raises(RuntimeError):
            engine(torch.zeros(2, 9))
        seen = scrape(address)
    total = next(e for e in profile.raw()["engines"] if e["id"] == engine.id)["phases"]["total"]
    prefix = "trtscope_engine_phase"
    assert seen[f"{prefix}_seconds_count", "total", ""] == total["count"]
    assert seen[f"{prefix}_seconds_sum", "total", ""] == pytest.approx(total["total_ns"] / 1e9)
    assert seen[f"{prefix}_quantile_seconds", "total", "0.99"] == pytest.approx(
        total["p99_ns"] / 1e9
    )
    assert seen["trtscope_engine_errors_total", "", ""] == 1
    assert seen["trtscope_dropped_spans_total", "", ""] == 0
    assert (f"{prefix}_seconds_count", "gpu", "") not in seen  # nothing was measured there
    with urllib.request.urlopen(address, timeout=30) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        ids = {s.labels["engine"] for f in families for s in f.samples if "engine" in s.labels}
    assert ids == {engine.id}


def test_a_port_that_is_taken(address: str) -> None:
    port = int(address.split(":")[2].split("/")[0])
    with pytest.raises(trtscope.TrtscopeError, match=rf"at 127.0.0.1:{port}: .*in use"):
        metrics.serve(port)


@pytest.mark.parametrize(("port", "address"), [(70000, "127.0.0.1"), (0, "192.0.2.1")])
def test_what_is_no_address_of_this_machine(port: int, address: str) -> None:
    with pytest.raises(trtscope.TrtscopeError, match=f"cannot be served at {address}:{port}: "):
        metrics.serve(port, address)
