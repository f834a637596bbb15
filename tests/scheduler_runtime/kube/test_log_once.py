"""A trouble is said when it begins, when it becomes another, and when it is over."""

from __future__ import annotations

import logging

import pytest

from scheduler_runtime.kube.log_once import LogOnce


def test_a_failure_is_logged_once_whatever_its_cause_is_then(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    now = [0.0]
    trouble = LogOnce(logging.getLogger("test"), clock=lambda: now[0])
    trouble.recovered()
    for cause in ("refused", "reset", "refused"):
        trouble.failing("no API server", cause)
    trouble.failing("no credentials")
    now[0] = 2.5
    trouble.recovered()
    trouble.recovered()
    assert trouble.sentence == ""
    assert [record.getMessage() for record in caplog.records] == [
        "no API server: refused",
        "no credentials",
        "over after 2.5 s: no credentials",
    ]


def test_an_attempt_from_before_the_last_failure_does_not_prove_its_end(caplog: pytest.LogCaptureFixture) -> None:
    now = [1.0]
    trouble = LogOnce(logging.getLogger("test"), clock=lambda: now[0])
    trouble.failing("bindings fail")
    now[0] = 3.0
    trouble.failing("bindings fail")
    trouble.recovered(2.0)
    assert trouble.sentence == "bindings fail"
    trouble.recovered(3.5)
    assert trouble.sentence == ""


def test_what_began_before_it_went_well_again_begins_no_trouble(caplog: pytest.LogCaptureFixture) -> None:
    now = [1.0]
    trouble = LogOnce(logging.getLogger("test"), clock=lambda: now[0])
    trouble.failing("bindings fail", started_at=0.5)
    now[0] = 3.0
    trouble.recovered(2.0)
    trouble.failing("bindings fail", started_at=2.5)
    assert trouble.sentence == ""
    trouble.failing("bindings fail", started_at=3.5)
    assert trouble.sentence == "bindings fail"
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 2
