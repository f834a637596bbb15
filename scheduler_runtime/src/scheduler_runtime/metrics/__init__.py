"""Metrics: counters, gauges and histograms, Prometheus' text format, and what every process exports of itself.

Written by one thread and read by another: single numbers in lists, so that no lock is needed and counting costs next to
nothing. Text is made at each scrape. Which metrics there are is up to the programs: those of a scheduler are in
``scheduling.metrics``.
"""

from scheduler_runtime.metrics.exposition import (
    Counter,
    Gauge,
    Histogram,
    Labels,
    Metric,
    PlainCounter,
    Samples,
    Series,
    exponential,
    exposition,
    fixed_gauge,
)
from scheduler_runtime.metrics.process_metrics import RequestMetrics, process_metrics

__all__ = [
    "Counter",
    "Gauge",
    "Histogram",
    "Labels",
    "Metric",
    "PlainCounter",
    "RequestMetrics",
    "Samples",
    "Series",
    "exponential",
    "exposition",
    "fixed_gauge",
    "process_metrics",
]
