"""A plugin that slows every decision down is named; time is a number that the test chooses."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject
from scheduler_runtime.framework import PluginError
from scheduler_runtime.framework.plugin_times import SlowPluginWatch


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def deciding(watch: SlowPluginWatch, clock: Clock, seconds: float, hook: str = "score", plugin: str = "Own") -> None:
    """One decision in which that hook takes so long."""

    def run() -> None:
        clock.now += seconds

    watch.watch(plugin, hook, run)()
    watch.end_decision()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition(" of every")[0] for record in caplog.records]


def test_a_slow_plugin_is_named_once_a_minute(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    watch = SlowPluginWatch(["Own"], clock)
    for _ in range(1000):
        deciding(watch, clock, 0.1)
    assert warnings(caplog)[0].startswith("plugin Own takes ")
    assert len(warnings(caplog)) == 2  # within 100 seconds


@pytest.mark.parametrize("quick", [0, 100])
def test_the_warning_has_the_mean_of_its_decisions(clock: Clock, caplog: pytest.LogCaptureFixture, quick: int) -> None:
    watch = SlowPluginWatch(["Own"], clock)
    for _ in range(quick):
        deciding(watch, clock, 0.0)
    deciding(watch, clock, 1.0)
    assert warnings(caplog) == [f"plugin Own takes {100 if quick else 1000} ms"]


@pytest.mark.parametrize(("seconds", "named"), [(0.009, False), (0.012, True)])
def test_it_is_the_average_that_counts(
    clock: Clock, caplog: pytest.LogCaptureFixture, seconds: float, *, named: bool
) -> None:
    watch = SlowPluginWatch(["Own"], clock)
    for _ in range(50):
        deciding(watch, clock, seconds)
    assert bool(warnings(caplog)) == named


def test_one_slow_decision_among_many_is_nothing(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    watch = SlowPluginWatch(["Own"], clock)
    deciding(watch, clock, 0.09)
    for _ in range(50):
        deciding(watch, clock, 0.001)
    assert warnings(caplog) == []


def test_every_hook_of_a_decision_counts(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    watch = SlowPluginWatch(["Own"], clock)

    def run() -> Iterator[int]:
        clock.now += 0.008
        yield 1

    for _ in range(50):
        assert list(watch.watch("Own", "filter", run)()) == [1]
        deciding(watch, clock, 0.008)
    assert warnings(caplog)


def test_what_runs_beside_decisions_does_not_count(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    watch = SlowPluginWatch(["Own"], clock)
    for _ in range(50):
        deciding(watch, clock, 1, hook="post_bind")
        deciding(watch, clock, 1, plugin="NodeResourcesFit")
    assert warnings(caplog) == []


class Slow(Plugin):
    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterable[Reject]:
        time.sleep(0.02)
        yield Reject(nodes.unschedulable, "cordoned")


class Fails(Slow):
    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterable[Reject]:
        yield from super().filter(pod, nodes, state)
        raise ZeroDivisionError


@pytest.mark.parametrize("plugin", [Slow, Fails])
def test_a_framework_names_the_plugin(plugin: type[Plugin], caplog: pytest.LogCaptureFixture) -> None:
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": plugin.__name__}]}}}
    decides = testing.framework(profile, plugin)
    for number in range(12):
        cluster = testing.Cluster(testing.node("a"), testing.node("b"))
        with contextlib.suppress(PluginError):
            decides.schedule(testing.pod(f"p-{number}"), cluster)
    (line,) = warnings(caplog)
    match = re.match(rf"plugin {plugin.__name__} takes (\d+) ms", line)
    assert match
    assert int(match[1]) >= 20
