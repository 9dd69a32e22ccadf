"""The demo's own claims: the embeddings are eager PyTorch's, the pairs find each other, and the
traces are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trtscope.cli import main
from trtscope.demo.run import SENTENCES


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path), "--iterations", "3"]) == 0
    out = capsys.readouterr().out
    assert "6 hidden engines" in out
    assert "embeddings against eager PyTorch" in out
    rows = [line for line in out.splitlines() if line.strip().startswith("0.")]
    for first in range(0, 6, 2):
        pair = SENTENCES[first : first + 2]
        assert any(all(s in row for s in pair) for row in rows), pair
    for layer in range(6):
        assert f"layers.{layer}-" in out
    traces = sorted((tmp_path / "traces").glob("*.trace"))
    assert len(traces) == 6 * 4
    for trace in traces:
        assert json.loads(trace.read_text(encoding="utf-8"))
    assert (tmp_path / "sentence_encoder.pt2").is_file()
