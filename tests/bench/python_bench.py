"""What a call from Python costs: execute_engine of an engine that does nothing, at each level,
beside an operator of torch that does as little.  Medians of interleaved rounds; compare within one
run only.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable

import torch

import trtscope
from trtscope._testing import null_engine

ROUNDS, CALLS = 15, 2000
LEVELS = ("off", "delegate", "phases", "layers")


def us_a_call(call: Callable[[], object]) -> float:
    begin = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - begin) / CALLS / 1000


def main() -> None:
    engine, (x,) = null_engine("nothing", layers=8)
    handle, operator = engine.script_object, torch.ops.tensorrt.execute_engine
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        trtscope.set_profile_path_prefix(folder)
        for _ in range(ROUNDS):
            times.setdefault("torch.empty_like", []).append(us_a_call(lambda: torch.empty_like(x)))
            for level in LEVELS:
                trtscope.set_profile_level(level)
                times.setdefault(level, []).append(us_a_call(lambda: operator([x], handle)))
        trtscope.set_profile_level("off")
    off = statistics.median(times["off"])
    print("| | us a call | quartiles | over off |\n|---|---|---|---|")
    for name, values in times.items():
        low, middle, high = statistics.quantiles(values, n=4)
        print(f"| {name} | {middle:.2f} | {low:.2f} to {high:.2f} | {middle / off:.2f} |")


if __name__ == "__main__":
    main()
