"""A plugin that fails for every pod: its traceback is in the log once a minute."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject
from scheduler_runtime.framework import Failures, PluginError

logger = logging.getLogger("test")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Fails(Plugin):
    """Fails for every pod, in the words that its name suggests."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        if pod.name == "other":
            raise RuntimeError("another line")
        raise KeyError(pod.name)


class Answers(Plugin):
    """Answers what is no answer."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Any:
        return [pod.name]


def failure_of(kind: type[Plugin], pod: str) -> PluginError:
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": kind.__name__}]}}}
    cluster = testing.Cluster(testing.node("a"), testing.node("b"))
    with pytest.raises(PluginError) as failed:
        testing.framework(profile, kind).schedule(testing.pod(pod), cluster)
    return failed.value


def tracebacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.exc_text or "" for record in caplog.records if record.levelno == logging.ERROR]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def failures(clock: Clock, caplog: pytest.LogCaptureFixture) -> Failures:
    caplog.set_level(logging.DEBUG)
    return Failures(logger, clock)


def test_the_same_failure_is_shown_once_a_minute_with_its_number(
    failures: Failures, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(180):
        clock.now = float(number)
        failures.say("deciding failed", failure_of(Fails, f"p-{number}"), pod=f"p-{number}")
    shown = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [vars(record).get("times") for record in shown] == [None, 60, 60]
    assert len(caplog.records) == 180


def test_another_failure_is_shown_at_once(failures: Failures, caplog: pytest.LogCaptureFixture) -> None:
    for pod in ("p", "other", "q"):
        failures.say("deciding failed", failure_of(Fails, pod))
    assert len(tracebacks(caplog)) == 2


def test_what_is_shown_begins_in_the_plugin(failures: Failures, caplog: pytest.LogCaptureFixture) -> None:
    failures.say("deciding failed", failure_of(Fails, "p"))
    (text,) = tracebacks(caplog)
    assert text.count("Traceback") == 1
    assert text.count("File ") == 1
    assert text.endswith("KeyError: 'p'")


def test_a_wrong_answer_is_a_line(failures: Failures, caplog: pytest.LogCaptureFixture) -> None:
    failures.say("deciding failed", failure_of(Answers, "p"))
    assert tracebacks(caplog) == [""]
    assert "plugin Answers failed in filter: it yielded 'p', not a Reject" in vars(caplog.records[0])["because"]
