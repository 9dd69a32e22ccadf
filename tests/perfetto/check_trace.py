"""check_trace.py FILE...: what must hold in every .perfetto-trace, of traces that were recorded
elsewhere, such as on a machine with a GPU (tests/gpu); says what is in each."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from timeline import read


def main() -> int:
    files = [Path(f) for f in sys.argv[1:]]
    if not files:
        print(__doc__, file=sys.stderr)
        return 2
    for file in files:
        timeline = read(file.read_bytes())
        counts = Counter(c for s in timeline.slices for c in s.categories or ["-"])
        flows = sum(len(s.flows) for s in timeline.slices)
        said = ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))
        print(f"{file}: {len(timeline.slices)} slices ({said}), {flows} flows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
