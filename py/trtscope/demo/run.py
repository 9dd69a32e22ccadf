"""Runs the demo and prints what it shows."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import torch

import trtscope
from trtscope._errors import TrtscopeError
from trtscope._folders import make_folder
from trtscope._progress import step
from trtscope._save import load_pt2
from trtscope._standing import started_by_bazel
from trtscope.cli._text import octets, table
from trtscope.cli.profile import files_text, layer_table
from trtscope.demo.encoder import load_encoder, model_folder, tokenize

SENTENCES = [
    "A man is playing a guitar on the street.",
    "Someone performs music with a stringed instrument outdoors.",
    "The latency of the service doubled after the last release.",
    "Since we deployed the new version, requests take twice as long.",
    "Fresh bread smells wonderful in the morning.",
    "The bakery next door fills the street with the scent of warm loaves.",
    "Jupiter is the largest planet in the solar system.",
    "The goalkeeper saved a penalty in the final minute.",
]

#: Largest absolute difference to eager PyTorch that counts as the same embedding.
TOLERANCE = 1e-4
MAX_BATCH, MAX_LENGTH = 16, 128


@dataclass(frozen=True)
class Result:
    """What the demo found: errors against eager, and where it left its files."""

    max_abs_error: float
    min_cosine: float
    engines: int
    package: Path
    files: list[Path]


def default_folder() -> Path:
    """A new folder under the user's cache, named by the time."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "trtscope" / f"demo-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}"


def run_demo(out: Path | None = None, *, iterations: int = 20, xnnpack: bool = False) -> Result:
    """Compiles, packages, loads, profiles and checks; prints as it goes.

    Raises:
        TrtscopeError: something is missing, or the embeddings differ from eager PyTorch's.
    """
    out = (out or default_folder()).resolve()
    make_folder(out)
    start = time.monotonic()
    folder = model_folder()
    encoder = load_encoder(folder)
    inputs = tokenize(folder, SENTENCES)
    with torch.inference_mode():
        expected = encoder(*inputs)

    package = _make_package(encoder, inputs, out / "sentence_encoder.pt2", xnnpack)
    with step("Loading the package", progress=True):
        runner = load_pt2(package)
    engines = len(runner.package.engines)
    print(f"{package}: {octets(package.stat().st_size)}, {engines} hidden engines")

    with torch.inference_mode():
        got = runner(*inputs)  # also warms up
        error = (got - expected).abs().max().item()
        cosine = torch.nn.functional.cosine_similarity(got, expected).min().item()
        print(
            f"embeddings against eager PyTorch: max abs error {error:.2e}, "
            f"cosine at least {cosine:.7f}"
        )
        if not error <= TOLERANCE:
            raise TrtscopeError(
                f"the embeddings differ from eager PyTorch's by {error:.2e}, more than {TOLERANCE}"
            )
        print("\n" + _similarities(got))
        with (
            step(f"Profiling {iterations} calls", progress=True),
            trtscope.profile(level="layers", dir=out / "traces") as profile,
        ):
            for _ in range(iterations):
                runner(*inputs)

    print("\n" + profile.table().rstrip("\n"))
    layers = sorted(profile.layers(), key=lambda row: -row["total_ms"])
    total = sum(row["total_ms"] for row in layers) or 1.0
    print(f"\nSlowest 8 of {len(layers)} layers:\n{layer_table(layers[:8], total)}")
    print("\n" + files_text(profile.files()))
    # Whoever came by `bazel run` has no command of that name.
    command = "tools/bazel run //py:cli --" if started_by_bazel() else "trtscope"
    print(f"\nProfile it again: {command} profile {package}")
    print(f"Done in {time.monotonic() - start:.0f} s.")
    sys.stdout.flush()
    return Result(error, cosine, engines, package, profile.files())


def _make_package(
    encoder: torch.nn.Module, inputs: tuple[torch.Tensor, ...], path: Path, xnnpack: bool
) -> Path:
    from trtscope.builders import HostBuilder

    batch = torch.export.Dim("batch", min=1, max=MAX_BATCH)
    length = torch.export.Dim("length", min=2, max=MAX_LENGTH)
    dims = {0: batch, 1: length}
    with step("Exporting the sentence encoder", progress=True):
        program = torch.export.export(encoder, inputs, dynamic_shapes=(dims, dims))
    compiled = trtscope.compile(
        program,
        engine=HostBuilder(xnnpack=xnnpack),
        engine_modules=["layers.*"],
        progress=True,
    )
    return trtscope.save(compiled, path, progress=True)


def _similarities(vectors: torch.Tensor) -> str:
    """Each sentence with the one most like it."""
    scores = vectors @ vectors.T
    scores.fill_diagonal_(-1.0)
    rows = []
    for i, sentence in enumerate(SENTENCES):
        best = int(scores[i].argmax())
        rows.append((float(scores[i, best]), sentence, SENTENCES[best]))
    return table(("cosine", "sentence", "most like it"), rows)
