"""Warnings in words: what to look at first, and what the numbers do not mean.

First the files that could not be read: the rest does not know of what is in them.  Then each rule
looks at one engine's data as the page has it (report/_data.py) and gives a sentence, or nothing.
The limits are judgement, and stand in the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trtscope._recording import Unread

Engine = dict[str, Any]

#: What is less is not worth a sentence.
_SMALL_NS = 5000

#: Layer names that stand for whole subgraphs, of which TensorRT says no more.
_OPAQUE = ("{ForeignNode[", "__myl_", "myelin")


def _total(engine: Engine, column: str) -> float:
    return float(engine["phases"].get(column, {}).get("total_ns", 0))


def _median(engine: Engine, column: str) -> float:
    return float(engine["phases"].get(column, {}).get("p50_ns", 0))


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if ns >= size:
            return f"{ns / size:.2f} {unit}"
    return f"{ns / 1000:.1f} µs"


def dropped(engine: Engine) -> str | None:
    if not engine["dropped"]:
        return None
    return (
        f"{engine['dropped']} spans were dropped because a ring was full: the sums here are too "
        "low. A lower level or a filter records less."
    )


def cut_short(engine: Engine) -> str | None:
    if not engine["cut"]:
        return None
    return (
        f"{len(engine['cut'])} of its files have no end: the process still runs, or was killed. "
        "What was written by then is here."
    )


def enqueue_bound(engine: Engine) -> str | None:
    enqueue, gpu = _median(engine, "enqueue"), _median(engine, "gpu")
    if gpu == 0 or enqueue < gpu:
        return None
    return (
        f"Launching takes longer than the GPU works: {_time(enqueue)} of host time in the enqueue, "
        f"{_time(gpu)} on the GPU (medians). CUDA graphs, larger batches or fewer layers help; a "
        "faster GPU does not."
    )


def layers_unlike_span(engine: Engine) -> str | None:
    found = engine["layer_sums"]
    if found is None or 0.8 <= found["layers_ns"] / max(found["whole_ns"], 1) <= 1.2:
        return None
    if abs(found["layers_ns"] - found["whole_ns"]) < _SMALL_NS:
        return None
    on_gpu = found["column"] == "gpu"
    if found["layers_ns"] < found["whole_ns"]:
        why = (
            "the rest lies between the layers: launch gaps, copies, work that is no layer"
            if on_gpu
            else "the rest is not in any layer"
        )
    else:
        why = "measured one by one, layers do not overlap as they do in an ordinary call"
    return (
        f"The layers of a call sum up to {_time(found['layers_ns'])}, its "
        f"{'GPU span' if on_gpu else 'enqueue'} is {_time(found['whole_ns'])} (medians of "
        f"{found['calls']} calls): {why}."
    )


def input_copies(engine: Engine) -> str | None:
    # Medians: one call that was put aside in its midst is no copy.
    inputs, total = _median(engine, "inputs"), _median(engine, "total")
    if inputs < max(0.25 * total, _SMALL_NS):
        return None
    return (
        f"{100 * inputs / total:.0f} % of a call's host time binds inputs, {_time(inputs)} "
        "(medians): copies (another device, "
        "dtype or layout than the engine's) are in it. Inputs that are resident and contiguous "
        "cost next to nothing."
    )


def staged_outputs(engine: Engine) -> str | None:
    staging, waiting, total = (_total(engine, c) for c in ("staging", "synchronize", "total"))
    if staging + waiting == 0 or staging + waiting < 0.1 * total:
        return None
    return (
        f"{100 * (staging + waiting) / total:.0f} % of the host time copies outputs to the host "
        "and waits for them: host-staged I/O. Device memory and a caller's stream avoid both."
    )


def sampled(engine: Engine) -> str | None:
    calls = engine["phases"].get("total", {}).get("count", 0)
    spans = engine["phases"].get("gpu", {}).get("count", 0)
    if not 0 < spans < calls:
        return None
    return f"{spans} of {calls} calls were measured on the GPU; sums of device time are of these."


def opaque_layers(engine: Engine) -> str | None:
    total = sum(layer.get("total_ns", 0) for layer in engine["layers"])
    opaque = [n for n in engine["layers"] if any(mark in n["name"] for mark in _OPAQUE)]
    part = sum(layer.get("total_ns", 0) for layer in opaque)
    if total == 0 or part < 0.2 * total:
        return None
    return (
        f"{100 * part / total:.0f} % of the layer time is in {len(opaque)} fused layers that "
        "TensorRT does not open. The inspector's details name what went in, if the engine was "
        "built with detailed profiling."
    )


def slow_call(engine: Engine) -> str | None:
    total = engine["phases"].get("total", {})
    if total.get("count", 0) < 5 or total["max_ns"] < 10 * total["p50_ns"]:
        return None
    took = (
        f"took {_time(total['max_ns'])}, {total['max_ns'] / max(total['p50_ns'], 1):.0f} times the "
        f"median of {_time(total['p50_ns'])}"
    )
    calls = engine["calls"]
    if calls["slowest"] == calls["first"]:
        return (
            f"The first call of the recording {took}: an engine's first call loads and allocates. "
            "Warm up before calls that matter."
        )
    return (
        f"Call {calls['slowest']}, not the first, {took}: the timeline shows what ran beside it. "
        "Another program on the machine, and clocks that change, look like this too."
    )


RULES: tuple[Callable[[Engine], str | None], ...] = (
    dropped,
    cut_short,
    enqueue_bound,
    layers_unlike_span,
    input_copies,
    staged_outputs,
    opaque_layers,
    slow_call,
    sampled,
)


def findings(engines: list[Engine], unread: Sequence[Unread] = ()) -> list[dict[str, str]]:
    """``of`` (an engine's id, or a file's name), ``rule`` and ``text`` of each, by rule: engines
    that share a sentence's kind lie together."""
    return [
        # What is said of two files differs in more than numbers: each reason is a rule.
        {"of": found.file.name, "rule": text, "text": text}
        for found in unread
        for text in (f"A file of the folder is not, or not all, in this report: {found.reason}.",)
    ] + [
        {"of": engine["id"], "rule": rule.__name__, "text": text}
        for rule in RULES
        for engine in engines
        if (text := rule(engine)) is not None
    ]
