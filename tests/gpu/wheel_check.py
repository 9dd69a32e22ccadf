"""The installed wheel on a real GPU: the torch that is there gets its library, and plans run.

Run by run.sh (`run.sh wheel FILE.whl`) beside the machine's own torch; prints what it saw.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

import trtscope
from trtscope.cli.doctor import examine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path, help="what run.sh unpacked")
    arguments = parser.parse_args()
    assert "site-packages" in trtscope.__file__, trtscope.__file__
    report = examine()
    assert report["problems"] == [], report["problems"]
    found = [library["version"] for library in report["tensorrt"] if "error" not in library]
    assert found, report["tensorrt"]

    engines = arguments.store / "engines"
    data = np.load(engines / "mlp.npz")
    engine = trtscope.Engine.from_plan(engines / "mlp.plan")
    x = torch.from_numpy(data["x"]).cuda()
    with trtscope.profile(level="layers", sample_interval=1) as p:
        for _ in range(20):
            (y,) = engine(x)
        torch.cuda.synchronize()
    want = torch.from_numpy(data["y"])
    error = ((y.cpu().float() - want).abs().max() / want.abs().max()).item()
    assert error < 1e-3, f"relative error {error}, allowed 1e-3"
    (row,) = p.timing()
    assert row["calls"] == 20, row
    assert p.layers(), "no layer was measured"
    print(p.table())
    python = sys.version.split()[0]
    print(f"ok     wheel: Python {python}, torch {torch.__version__}, TensorRT {', '.join(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
