"""pte_check.py STORE OUT: .pte programs with TensorRT plans, by the native runner.

Run by run.sh (`run.sh pte`).  Needs numpy alone.  ETDumps and traces stay in OUT.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

# program, reference, inputs, what the program makes of the reference's outputs
CASES = [
    ("mlp_fp16", "mlp", ["x"], [("y", True)]),
    ("two_io", "two_io", ["a", "b"], [("s", True), ("d", False)]),
]


def check(store: Path, out: Path, program: str, reference: str, inputs: list[str],
          outputs: list[tuple[str, bool]], level: str) -> None:  # fmt: skip
    data = np.load(store / "engines" / f"{reference}.npz")
    folder = out / f"{program}-{level}"
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name in inputs:
        files.append(str(folder / f"{name}.npy"))
        np.save(files[-1], data[name])
    command = [
        str(store / "et" / "runner"),
        f"--model={store / 'et' / program}.pte",
        f"--inputs={','.join(files)}",
        f"--outputs={folder}",
        f"--etdump={folder / 'program.etdp'}",
        "--warmup=3",
        "--iterations=20",
        f"--profile-level={level}",
        "--profile-format=perfetto",
        f"--profile-path={folder}",
        f"--library-path={store / 'tensorrt86'}",
    ]
    environment = os.environ | {"LD_LIBRARY_PATH": str(store / "et")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    print(done.stdout, done.stderr, sep="")
    assert done.returncode == 0, f"the runner ended with {done.returncode}"
    for i, (name, summed) in enumerate(outputs):
        got = np.load(folder / f"output_{i}.npy")
        want = np.cumsum(data[name], 1) if summed else data[name]
        error = np.abs(got - want).max() / np.abs(want).max()
        print(f"{program} {level}: output {name}, relative error {error:.2g}")
        assert got.shape == want.shape, (got.shape, want.shape)
        assert error < 1e-2, error
    assert (folder / "program.etdp").stat().st_size > 0
    # Their inside is for //tests/perfetto:check_trace, where Perfetto's classes are.
    assert len(list(folder.glob("*.perfetto-trace"))) == (level != "off")


def main() -> int:
    store, out = Path(sys.argv[1]), Path(sys.argv[2])
    failed = 0
    for case in CASES:
        for level in ("off", "phases", "layers"):
            try:
                check(store, out, *case, level)
            except AssertionError as error:
                failed += 1
                print(f"FAILED {case[0]} {level}: {error}")
    print(f"{len(CASES) * 3 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
