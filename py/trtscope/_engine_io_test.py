"""Memory of engines: outputs that share an input's, and what loading a plan takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import torch

import trtscope
from trtscope._state import EngineState

PLAN = {
    "inputs": [{"name": "cache", "shape": [4, 8]}, {"name": "x", "shape": [2, 8]}],
    "outputs": [{"name": "y", "like": 1}, {"name": "cache_out", "like": 0}],
}


def null_plan(size: int = 0) -> bytes:
    """A plan of at least this many octets."""
    text = b"null" + json.dumps(PLAN).encode()
    return text.ljust(size)


def test_an_aliased_output_is_the_input_itself() -> None:
    engine = trtscope.Engine.from_state(
        EngineState(
            name="decoder",
            plan=null_plan(),
            input_names=("cache", "x"),
            output_names=("y", "cache_out"),
            aliased_io=(("cache_out", "cache", "kv_cache_update"),),
        )
    )
    cache, x = torch.zeros(4, 8), torch.ones(2, 8)
    for _ in range(3):
        y, cache_out = engine(cache, x)
        assert cache_out.data_ptr() == cache.data_ptr()
        assert y.data_ptr() not in (x.data_ptr(), cache.data_ptr())
        assert y.shape == (2, 8)


# How far memory rises while an engine is made of the list of strings, and what stays, in sizes of
# the plan.  Torch copies the list for itself (4/3, for base64; a package's is its own already), and
# the null engine's JSON reader keeps the text of one token, which is all of the padding.
_LOAD = """
import gc, sys, torch
from trtscope import _libraries
from trtscope._engine_io_test import null_plan
from trtscope._state import EngineState

def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))

size = 128 << 20
_libraries.load_torch()
names = {"input_names": ("cache", "x"), "output_names": ("y", "cache_out")}
fields = EngineState(name="big", plan=null_plan(size), **names).to_list()
engine = torch._C.ScriptObject.__new__(torch._C.ScriptObject)
gc.collect()
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # VmHWM begins anew
before = status("VmRSS")
engine.__setstate__((fields, "__torch__.torch.classes.tensorrt.Engine"))
print((status("VmHWM") - before) / size, (status("VmRSS") - before) / size)
"""


def test_loading_keeps_little_more_than_the_plan() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOAD],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    peak, kept = map(float, done.stdout.split())
    assert kept <= 1.1
    assert peak <= 4 / 3 + 1 + 1.1
