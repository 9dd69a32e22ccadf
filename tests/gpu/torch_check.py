"""The LibTorch half on a real GPU: execute_engine on every plan, streams, graphs, packages, cost.

Run by run.sh (`run.sh torch`) where torch has CUDA; needs no Bazel and no pytest. Prints one line a
check and a JSON object of what was measured, and fails when a check does.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

# plan, its reference, inputs and outputs in graph order, tolerance (relative to the largest value)
CASES = [
    ("sigmoid_affine", "sigmoid_affine", ["x"], ["y"], 1e-5),
    ("two_io", "two_io", ["a", "b"], ["s", "d"], 1e-5),
    ("mlp", "mlp", ["x"], ["y"], 1e-3),
    ("mlp_fp16", "mlp", ["x"], ["y"], 1e-2),
    ("conv_fp16", "conv", ["x"], ["y"], 1e-2),
    ("transformer_fp16", "transformer", ["x"], ["y"], 1e-2),
]


def make_engine(store: Path, plan: str, inputs: list[str], outputs: list[str]) -> Any:
    raw = (store / "engines" / f"{plan}.plan").read_bytes()
    return torch.classes.tensorrt.Engine(
        ["10", plan, "0%9%0%0%NVIDIA H200", raw, "%".join(inputs), "%".join(outputs), "0", "",
         "linux_x86_64", "0", "0", "0", ""]
    )  # fmt: skip


def execute(engine: Any, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    return torch.ops.tensorrt.execute_engine(inputs, engine)


def close(got: torch.Tensor, want: np.ndarray, tolerance: float) -> float:
    reference = torch.from_numpy(want).to(got.device)
    error = ((got.float() - reference).abs().max() / reference.abs().max()).item()
    assert error < tolerance, f"relative error {error}, allowed {tolerance}"
    return error


class Checks:
    def __init__(self, store: Path) -> None:
        self.store = store
        self.engines: dict[str, tuple[Any, list[torch.Tensor]]] = {}
        self.measured: dict[str, Any] = {}

    def load(self) -> None:
        for plan, reference, inputs, outputs, _ in CASES:
            data = np.load(self.store / "engines" / f"{reference}.npz")
            self.engines[plan] = (
                make_engine(self.store, plan, inputs, outputs),
                [torch.from_numpy(data[name]).cuda() for name in inputs],
            )

    def compare(self, plan: str, outputs: list[torch.Tensor]) -> float:
        _, reference, _, names, tolerance = next(c for c in CASES if c[0] == plan)
        data = np.load(self.store / "engines" / f"{reference}.npz")
        return max(close(o, data[n], tolerance) for o, n in zip(outputs, names, strict=True))

    def check_every_plan_matches_its_reference(self) -> None:
        self.load()
        self.measured["relative_errors"] = {
            plan: self.compare(plan, execute(engine, inputs))
            for plan, (engine, inputs) in self.engines.items()
        }

    def check_dynamic_batch(self) -> None:
        engine, (x,) = self.engines["mlp"]
        one = execute(engine, [x[:1].contiguous()])[0]
        many = execute(engine, [x.repeat(8, 1)])[0]
        assert one.shape == (1, 64)
        assert many.shape == (64, 64)
        torch.testing.assert_close(many[:1], one, rtol=1e-3, atol=1e-4)

    def check_errors_name_engine_and_tensor(self) -> None:
        engine, (x,) = self.engines["mlp"]
        for bad, expected in [
            (x.cpu(), "expected a tensor on cuda:0, got one on host"),
            (x.double(), "expected float32, got float64"),
            (x.repeat(9, 1), "expected a shape from [1, 256] to [64, 256]"),
        ]:
            message = ""
            try:
                execute(engine, [bad])
            except RuntimeError as error:
                message = str(error)
            assert expected in message, message or f"accepted: {expected}"
            assert "'x'" in message, message

    def check_strided_input(self) -> None:
        engine, (x,) = self.engines["mlp"]
        self.compare("mlp", execute(engine, [x.t().contiguous().t()]))

    def check_data_dependent_output(self) -> None:
        engine = make_engine(self.store, "nonzero_dds", ["x"], ["idx"])
        description = str(engine)
        shape = [
            int(n) for n in description.split("in x ")[1].split("[")[1].split("]")[0].split(",")
        ]
        shape = [4 if n < 0 else n for n in shape]
        x = torch.zeros(shape, device="cuda")
        x.view(-1)[::3] = 1
        got = execute(engine, [x])[0]
        want = torch.nonzero(x)
        assert sorted(map(tuple, got.long().reshape(-1).view(-1, 1).tolist())) == sorted(
            map(tuple, want.reshape(-1).view(-1, 1).tolist())
        ), (got.shape, want.shape)

    def check_callers_stream(self) -> None:
        engine, (x,) = self.engines["transformer_fp16"]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(20):
                outputs = execute(engine, [x])
        self.compare("transformer_fp16", execute(engine, [x]))  # on the default stream, in order
        side.synchronize()
        self.compare("transformer_fp16", outputs)

    def check_nothing_waits(self) -> None:
        """Behind a stream that is busy for 100 ms every call returns at once, at every level."""
        engine, (x,) = self.engines["mlp_fp16"]
        returned = {}
        for level in ("off", "phases", "layers"):
            torch.ops.tensorrt.set_profile_level(level)
            for _ in range(20):
                execute(engine, [x])
            torch.cuda.synchronize()
            torch.cuda._sleep(200_000_000)  # cycles: some 100 ms
            begin = time.perf_counter()
            for _ in range(5):
                execute(engine, [x])
            returned[level] = (time.perf_counter() - begin) * 1e3
            torch.cuda.synchronize()
            waited = (time.perf_counter() - begin) * 1e3
            assert returned[level] < 20 < waited, (level, returned[level], waited)
        torch.ops.tensorrt.set_profile_level("off")
        self.measured["ms_for_5_calls_behind_a_busy_stream"] = returned

    def check_layers_and_gpu_spans(self) -> None:
        torch.ops.tensorrt.set_profile_path_prefix(tempfile.mkdtemp())
        torch.ops.tensorrt.set_profile_sample_interval(1)
        summary = {}
        for plan, (engine, inputs) in self.engines.items():
            torch.ops.tensorrt.reset_engine_timing()
            torch.ops.tensorrt.set_profile_level("layers")
            for _ in range(200):
                execute(engine, inputs)
                torch.cuda.synchronize()
            execute(engine, inputs)
            torch.ops.tensorrt.set_profile_level("off")
            rows = json.loads(torch.ops.tensorrt.engine_timing())["engines"]
            (row,) = [r for r in rows if r["id"] == engine.engine_id()]
            gpu = row["phases"]["gpu"]
            assert gpu["count"] >= 200, gpu
            assert gpu["p50_ns"] > 0, gpu
            assert row["layers"], plan
            per_call = sum(layer["total_ns"] / layer["count"] for layer in row["layers"])
            summary[plan] = {
                "layers": len(row["layers"]),
                "profiled_calls": row["layers"][0]["count"],
                "layer_sum_us": round(per_call / 1e3, 1),
                "gpu_p50_us": round(gpu["p50_ns"] / 1e3, 1),
            }
        torch.ops.tensorrt.set_profile_sample_interval(0)
        print(torch.ops.tensorrt.dump_engine_timing())
        self.measured["layers"] = summary

    def check_graphs(self) -> None:
        engine, (x,) = self.engines["mlp_fp16"]
        torch.ops.tensorrt.set_cudagraphs_mode(1)
        try:
            for _ in range(20):
                outputs = execute(engine, [x])
                self.compare("mlp_fp16", outputs)
            small = execute(engine, [x[:2].contiguous()])[0]
            assert small.shape == (2, 64)
            for level in ("layers", "off"):  # each context replays graphs of its own
                torch.ops.tensorrt.set_profile_level(level)
                for _ in range(10):
                    self.compare("mlp_fp16", execute(engine, [x]))
                    torch.cuda.synchronize()
        finally:
            torch.ops.tensorrt.set_cudagraphs_mode(0)

    def check_package(self) -> None:
        """The engine hidden in an AOTInductor package on CUDA, profiled without a handle."""
        engine, (x,) = self.engines["mlp"]
        torch.library.register_fake(
            "tensorrt::execute_engine", lambda inputs, _: [inputs[0].new_empty(8, 64)]
        )

        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.engine = engine

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.ops.tensorrt.execute_engine([x * 1.0], self.engine)[0] + 1.0

        program = torch.export.export(Model(), (x,), strict=False)
        with tempfile.TemporaryDirectory() as folder:
            package = torch._inductor.aoti_compile_and_package(
                program, package_path=f"{folder}/model.pt2"
            )
            runner = torch._inductor.aoti_load_package(package)
            torch.ops.tensorrt.reset_engine_timing()
            torch.ops.tensorrt.set_profile_path_prefix(f"{folder}/traces")
            torch.ops.tensorrt.set_profile_level("phases")
            for _ in range(10):
                got = runner(x)
            torch.cuda.synchronize()
            torch.ops.tensorrt.set_profile_level("off")
            self.compare("mlp", [got - 1.0])
            traces = sorted(Path(folder, "traces").glob("*.trace"))
            assert len(traces) == 4, traces
            for trace in traces:
                json.loads(trace.read_text())
        rows = json.loads(torch.ops.tensorrt.engine_timing())["engines"]
        assert [r["calls"] for r in rows if r["name"] == "mlp"] == [10], rows

    def check_cost(self) -> None:
        """Host time of a call of the op at each level, interleaved, medians of 9 rounds."""
        costs: dict[str, dict[str, float]] = {}
        for plan in ("sigmoid_affine", "mlp_fp16", "conv_fp16"):
            engine, inputs = self.engines[plan]
            rounds: dict[str, list[float]] = {}
            for _ in range(9):
                for level in ("off", "delegate", "phases", "layers"):
                    torch.ops.tensorrt.set_profile_level(level)
                    for _ in range(50):
                        execute(engine, inputs)
                    torch.cuda.synchronize()
                    begin = time.perf_counter()
                    for _ in range(200):
                        execute(engine, inputs)
                    rounds.setdefault(level, []).append((time.perf_counter() - begin) / 200 * 1e6)
                    torch.cuda.synchronize()
            costs[plan] = {k: round(statistics.median(v), 2) for k, v in rounds.items()}
        torch.ops.tensorrt.set_profile_level("off")
        self.measured["us_per_call_from_python"] = costs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path, help="what run.sh unpacked")
    arguments = parser.parse_args()
    core = ctypes.CDLL(str(arguments.store / "lib" / "libtrtscope_core.so"), ctypes.RTLD_GLOBAL)
    core.trtscope_add_library_path(str(arguments.store / "tensorrt86").encode())
    torch.ops.load_library(str(arguments.store / "lib" / "libtrtscope_torch.so"))
    checks = Checks(arguments.store)
    passed = failed = 0
    names = [name for name in vars(Checks) if name.startswith("check_")]
    for name in names:
        check: Callable[[], None] = getattr(checks, name)
        try:
            check()
        except Exception as error:
            failed += 1
            print(f"FAILED {name}: {type(error).__name__}: {error}", flush=True)
        else:
            passed += 1
            print(f"ok     {name}", flush=True)
    print(json.dumps(checks.measured, indent=1))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
