"""The report about plugins and extenders that fail, as a condition of the scheduler's pod."""

from __future__ import annotations

import pytest

from scheduler_runtime.config import Failure, failure_condition, read_failures

PLUGIN = Failure("batch", "plugin", "PriceCap", "failed in filter: KeyError: 'price'")
EXTENDER = Failure("batch", "extender", "http://a.b/c", "failed filter with extender: connection refused")
IGNORED = Failure("other", "ignored extender", "http://a.b/d", "code 503")


def test_what_fails_is_read_as_it_was_written() -> None:
    failures = (PLUGIN, EXTENDER, IGNORED)
    condition = failure_condition(failures)
    assert (condition["type"], condition["status"]) == ("berth.dev/Working", "False")
    assert read_failures([{"type": "Ready"}, condition]) == failures
    assert [failure.is_blocking for failure in failures] == [True, True, False]


@pytest.mark.parametrize(
    ("failures", "reason"),
    [
        ((), "Working"),
        ((PLUGIN,), "PluginsFailing"),
        ((EXTENDER, IGNORED), "ExtendersFailing"),
        ((EXTENDER, PLUGIN), "PluginsAndExtendersFailing"),
    ],
)
def test_the_reason_is_a_word(failures: tuple[Failure, ...], reason: str) -> None:
    assert failure_condition(failures)["reason"] == reason


def test_where_nothing_fails_the_condition_is_true() -> None:
    condition = failure_condition(())
    assert condition["status"] == "True"
    assert read_failures([condition]) == ()


def test_a_report_has_an_end_no_password_and_a_line_for_each() -> None:
    texts = ("x" * 100_000, "no\nanswer from\nhttp://me:secret@a.b/c")
    failures = [Failure("batch", "plugin", "A B", texts[number % 2]) for number in range(1000)]
    message = failure_condition(failures)["message"]
    assert len(message) < 4096
    assert "secret" not in message
    assert message.splitlines()[-1] == "and 992 more"
    assert message.splitlines()[1] == "batch: plugin A_B: no answer from http://***@a.b/c"


@pytest.mark.parametrize(
    "message", ["", "None", "batch plugin PriceCap: x", "batch: engine X: broken", "\0", "x" * 100_000, "a: plugin b:"]
)
def test_what_is_not_understood_is_nothing(message: str) -> None:
    assert read_failures([{"type": "berth.dev/Working", "status": "False", "message": message}]) == ()


def test_what_somebody_else_may_have_written_is_cut() -> None:
    lines = "\n".join(f"batch: plugin {'P' * 1000}: {'x' * 10_000}" for _ in range(1000))
    failures = read_failures([{"type": "berth.dev/Working", "status": "False", "message": lines}])
    assert len(str(failures)) < 10_000
