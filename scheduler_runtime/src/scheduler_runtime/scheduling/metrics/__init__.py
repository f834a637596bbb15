"""Metrics under upstream's names, in the text format of Prometheus.

Written by the event loop only and read by another thread: single numbers in lists, so that no lock is needed and
counting costs next to nothing. Text is made at each scrape.
"""

from scheduler_runtime.scheduling.metrics.exposition import (
    Counter,
    Gauge,
    Histogram,
    Labels,
    PlainCounter,
    Samples,
    Series,
    exponential,
    exposition,
)
from scheduler_runtime.scheduling.metrics.process_metrics import RequestMetrics
from scheduler_runtime.scheduling.metrics.scheduler import Attempt, Metrics, event_name

__all__ = [
    "Attempt",
    "Counter",
    "Gauge",
    "Histogram",
    "Labels",
    "Metrics",
    "PlainCounter",
    "RequestMetrics",
    "Samples",
    "Series",
    "event_name",
    "exponential",
    "exposition",
]
