"""Requests and limits of pods, as their page shows them."""

from __future__ import annotations

from scheduler_runtime import testing
from scheduler_runtime.serving.metrics_pages import resource_metrics


def test_a_limit_beyond_every_floating_point_number_does_not_take_the_page_from_others() -> None:
    huge = {"name": "c", "resources": {"limits": {"cpu": "1e999999", "memory": "9E"}}}
    pods = [testing.pod("huge", containers=[huge]), testing.pod("other", {"cpu": "2"})]
    page = resource_metrics(pods)
    assert 'pod="huge",node="",scheduler="default-scheduler",priority="0",resource="cpu",unit="cores"} 1e+297' in page
    assert 'pod="other"' in page
