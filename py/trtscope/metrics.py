"""Engines as Prometheus metrics, for fleets: ``trtscope.metrics.serve(9100)``, or
``EngineCollector`` in a registry of one's own.  Needs the package ``prometheus_client`` (extra
``metrics``), whose names and types these are.

Every scrape reads the counters as they are (docs/4-settings.md: they count while the level is not
``off``); nothing happens on an engine's path.  Times are in seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.registry import Collector

from trtscope._errors import TrtscopeError
from trtscope._profile import timing_json

if TYPE_CHECKING:
    from wsgiref.simple_server import WSGIServer

    from prometheus_client import Metric

_ENGINE = ("engine", "runtime", "implementation")
_QUANTILES = (("0.5", "p50_ns"), ("0.9", "p90_ns"), ("0.99", "p99_ns"))


class EngineCollector(Collector):
    """Every engine that has been called, at each scrape.

    - ``trtscope_engine_phase_seconds``: a summary (count, sum) for each phase; phase ``total`` is
      the host time of whole calls, ``gpu`` device time, of the calls in which it was measured
    - ``trtscope_engine_phase_quantile_seconds``: 0.5, 0.9, 0.99, since the counters began
    - ``trtscope_engine_errors_total``: calls that failed
    - ``trtscope_dropped_spans_total``: spans that no trace holds
    """

    def collect(self) -> Iterable[Metric]:
        timing = timing_json()
        errors = CounterMetricFamily(
            "trtscope_engine_errors", "Engine calls that failed.", labels=_ENGINE
        )
        phases = SummaryMetricFamily(
            "trtscope_engine_phase_seconds",
            "Time of an engine's phases; total: host time of whole calls.",
            labels=(*_ENGINE, "phase"),
        )
        quantiles = GaugeMetricFamily(
            "trtscope_engine_phase_quantile_seconds",
            "Quantiles of an engine's phases, within 2 %.",
            labels=(*_ENGINE, "phase", "quantile"),
        )
        for engine in timing["engines"]:
            names = [engine["id"], engine["runtime"], engine["implementation"]]
            errors.add_metric(names, engine["errors"])
            for column, times in engine["phases"].items():
                _add_phase(phases, quantiles, [*names, column], times)
        dropped = CounterMetricFamily(
            "trtscope_dropped_spans", "Spans that were dropped from traces."
        )
        dropped.add_metric([], timing["dropped_spans"])
        return [phases, quantiles, errors, dropped]

    def describe(self) -> Iterable[Metric]:
        """None beforehand: which engines there are is known when they have been called."""
        return []


def _add_phase(
    phases: SummaryMetricFamily,
    quantiles: GaugeMetricFamily,
    names: list[str],
    times: dict[str, Any],
) -> None:
    if not times["count"]:
        return
    phases.add_metric(names, times["count"], times["total_ns"] / 1e9)
    for quantile, key in _QUANTILES:
        quantiles.add_metric([*names, quantile], times[key] / 1e9)


def serve(port: int, address: str = "127.0.0.1") -> tuple[WSGIServer, threading.Thread]:
    """Serves the metrics on ``http://ADDRESS:PORT/metrics`` from a thread of its own, by default to
    this machine alone.  Returns the server, which ``shutdown()`` ends, and its thread.

    Raises:
        TrtscopeError: the port is taken, may not be had, or is none; or the address is not this
            machine's.
    """
    registry = CollectorRegistry()
    registry.register(EngineCollector())
    try:
        server, thread = start_http_server(port, address, registry)
    except (OSError, OverflowError) as error:
        raise TrtscopeError(f"metrics cannot be served at {address}:{port}: {error}") from error
    return server, thread
