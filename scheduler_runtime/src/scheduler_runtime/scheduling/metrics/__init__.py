"""What the scheduler counts, under upstream's names, and how Prometheus reads it.

Written by the event loop only and read by another thread: single numbers in lists, so that no lock is needed and
counting costs next to nothing. Text is made when somebody asks.
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
from scheduler_runtime.scheduling.metrics.request_metrics import Requests
from scheduler_runtime.scheduling.metrics.scheduler import Attempt, Metrics, event_name

__all__ = [
    "Attempt",
    "Counter",
    "Gauge",
    "Histogram",
    "Labels",
    "Metrics",
    "PlainCounter",
    "Requests",
    "Samples",
    "Series",
    "event_name",
    "exponential",
    "exposition",
]
