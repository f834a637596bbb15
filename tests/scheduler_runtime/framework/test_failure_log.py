"""A plugin that fails for every pod: its traceback is in the log once a minute."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject
from scheduler_runtime.framework import DECISION, FailureLog, Framework, PluginError

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


def failing(kind: type[Plugin]) -> Framework:
    return testing.framework({"plugins": {"multiPoint": {"enabled": [{"name": kind.__name__}]}}}, kind)


FAILS, ANSWERS = failing(Fails), failing(Answers)


def failure_in(framework: Framework, pod: str) -> PluginError:
    cluster = testing.Cluster(testing.node("a"), testing.node("b"))
    with pytest.raises(PluginError) as failed:
        framework.schedule(testing.pod(pod), cluster)
    return failed.value


def tracebacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.exc_text or "" for record in caplog.records if record.levelno == logging.ERROR]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def failures(clock: Clock, caplog: pytest.LogCaptureFixture) -> FailureLog:
    caplog.set_level(logging.DEBUG)
    return FailureLog(logger, clock)


def test_the_same_failure_has_its_traceback_once_a_minute_with_its_number(
    failures: FailureLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(180):
        clock.now = float(number)
        failures.log("deciding failed", failure_in(FAILS, f"p-{number}"), pod=f"p-{number}")
    records = [record for record in caplog.records if record.exc_info]
    assert [vars(record).get("times") for record in records] == [None, 60, 60]
    assert {record.levelno for record in records} == {logging.ERROR}
    assert len(caplog.records) == 180


def test_texts_that_name_their_pods_do_not_fill_the_log(failures: FailureLog, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(100):
        failures.log("deciding failed", failure_in(FAILS, f"p-{number}"), pod=f"p-{number}")
    records = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [bool(record.exc_info) for record in records] == [True, False, False, False, False]
    assert {record.levelno for record in caplog.records} == {logging.ERROR, DECISION}


def test_another_text_has_its_line_once(failures: FailureLog, caplog: pytest.LogCaptureFixture) -> None:
    for pod in ("p", "q", "p", "q"):
        failures.log("deciding failed", failure_in(FAILS, pod), pod=pod)
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.ERROR, DECISION, DECISION]
    assert [text != "" for text in tracebacks(caplog)] == [True, False]


def test_another_object_of_the_plugin_has_failed_anew(failures: FailureLog, caplog: pytest.LogCaptureFixture) -> None:
    one, other = failing(Fails), failing(Fails)
    for framework in (one, other, one, other):
        failures.log("deciding failed", failure_in(framework, "p"))
    assert [text != "" for text in tracebacks(caplog)] == [True, True]
    assert len(caplog.records) == 4


def test_after_a_reset_everything_is_logged_anew(failures: FailureLog, caplog: pytest.LogCaptureFixture) -> None:
    one = failing(Fails)
    failures.log("deciding failed", failure_in(one, "p"))
    failures.reset()
    failures.log("deciding failed", failure_in(one, "p"))
    assert [text != "" for text in tracebacks(caplog)] == [True, True]


def test_another_failure_has_its_traceback_at_once(failures: FailureLog, caplog: pytest.LogCaptureFixture) -> None:
    for pod in ("p", "other", "q"):
        failures.log("deciding failed", failure_in(FAILS, pod))
    assert len([text for text in tracebacks(caplog) if text]) == 2


def test_the_traceback_begins_in_the_plugin(failures: FailureLog, caplog: pytest.LogCaptureFixture) -> None:
    failures.log("deciding failed", failure_in(FAILS, "p"))
    (text,) = tracebacks(caplog)
    assert text.count("Traceback") == 1
    assert text.count("File ") == 1
    assert text.endswith("KeyError: 'p'")


def test_a_wrong_answer_is_a_line(failures: FailureLog, caplog: pytest.LogCaptureFixture) -> None:
    failures.log("deciding failed", failure_in(ANSWERS, "p"))
    assert tracebacks(caplog) == [""]
    assert "plugin Answers failed in filter: it yielded 'p', not a Reject" in vars(caplog.records[0])["because"]
