"""Statistics of samples: what a report shows of them and how sure a comparison is.

Numbers are nanoseconds unless a name says otherwise.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trtscope._recording import Spans

Samples = npt.NDArray[np.int64]

#: Resamples of a bootstrap: its limits then differ from run to run by less than they are wide.
RESAMPLES = 2000
#: More samples than this make a bootstrap slow, and no better.
_MOST = 5_000
#: Numbers that are resampled at once: 8 MB.
_ROOM = 1_000_000


def samples(values: array[int]) -> Samples:
    return np.frombuffer(values, dtype=np.int64) if values else np.empty(0, np.int64)


def per_call(*spans: Spans) -> dict[int, int]:
    """Time of all these spans in each call: a phase may come several times in one."""
    call = np.concatenate([samples(s.call) for s in spans])
    duration = np.concatenate([samples(s.duration_ns) for s in spans])
    calls, where = np.unique(call, return_inverse=True)
    sums = np.bincount(where, weights=duration, minlength=calls.size)
    return dict(zip(calls.tolist(), sums.astype(np.int64).tolist(), strict=True))


def summary(values: Samples) -> dict[str, float]:
    """``count``, ``total_ns``, ``min_ns``, ``p50_ns``, ``p90_ns``, ``p99_ns``, ``max_ns``."""
    if values.size == 0:
        return {"count": 0}
    p50, p90, p99 = np.percentile(values, [50, 90, 99])
    return {
        "count": int(values.size),
        "total_ns": int(values.sum()),
        "min_ns": int(values.min()),
        "p50_ns": float(p50),
        "p90_ns": float(p90),
        "p99_ns": float(p99),
        "max_ns": int(values.max()),
    }


def histogram(values: Samples, bins: int = 48) -> dict[str, list[float]]:
    """Counts in bins of equal ratio between the smallest and the largest value: ``edges_ns`` has
    one more than ``counts``.  Empty for no values."""
    positive = values[values > 0]
    if positive.size == 0:
        return {"edges_ns": [], "counts": []}
    low, high = float(positive.min()), float(positive.max())
    edges = np.geomspace(low, max(high, low * 1.01), bins + 1)
    edges[-1] *= 1 + 1e-9  # the largest value lies inside
    counts, _ = np.histogram(positive, edges)
    return {"edges_ns": [round(float(e), 1) for e in edges], "counts": [int(c) for c in counts]}


@dataclass(frozen=True)
class Change:
    """The median of B over the median of A, and between what it lies in 95 % of resamples."""

    a_ns: float
    b_ns: float
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """``slower``, ``faster``, or ``noise`` when the interval holds 1."""
        return "slower" if self.low > 1 else "faster" if self.high < 1 else "noise"


def change(a: Samples, b: Samples, seed: int = 0) -> Change:
    """Compares two sets of calls by a bootstrap of their medians.

    Calls of one run are not independent (clocks, caches), so the samples are resampled in blocks of
    neighbours, whose length is the cube root of their number.
    """
    generator = np.random.default_rng(seed)
    a_ns, b_ns = float(np.median(a)), float(np.median(b))
    ratios = _medians(b, generator) / np.maximum(_medians(a, generator), 1.0)
    low, high = np.percentile(ratios, [2.5, 97.5])
    return Change(a_ns, b_ns, b_ns / max(a_ns, 1.0), float(low), float(high))


def _medians(values: Samples, generator: np.random.Generator) -> npt.NDArray[np.float64]:
    if values.size > _MOST:  # evenly, so that all of the run is there
        values = values[np.linspace(0, values.size - 1, _MOST).astype(np.int64)]
    size = values.size
    block = max(1, round(size ** (1 / 3)))
    blocks = -(-size // block)
    medians = np.empty(RESAMPLES)
    at_once = max(1, _ROOM // (blocks * block))
    for i in range(0, RESAMPLES, at_once):
        some = min(at_once, RESAMPLES - i)
        starts = generator.integers(0, size, (some, blocks, 1))
        chosen = (starts + np.arange(block)).reshape(some, -1)[:, :size] % size
        medians[i : i + some] = np.median(values[chosen], axis=1)
    return medians
