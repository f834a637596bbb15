"""Log lines about interrupted watches."""

import logging

import pytest

from scheduler_operator.kopf_seam.watch_stream import InterruptedStreams

KINDS = ("schedulerprofiles", "configmaps", "leases")


def interrupt(interruptions: InterruptedStreams, because: str) -> None:
    for kind in KINDS * 3:
        interruptions.begin(kind, because)


def resume(interruptions: InterruptedStreams) -> None:
    for kind in KINDS:
        interruptions.end(kind)


def test_an_outage_is_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    times = iter((10.0, 14.25))
    interruptions = InterruptedStreams(lambda: next(times))
    interrupt(interruptions, "cut off")
    resume(interruptions)
    first, second = caplog.messages
    assert first == "watching schedulerprofiles is interrupted: cut off"
    assert second == "watching everything again after 4.2 s"


def test_every_cause_of_an_outage_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    interruptions = InterruptedStreams()
    for because in ("cut off", "refused", "cut off", "500", "refused"):
        interrupt(interruptions, because)
    assert [line.rpartition(": ")[2] for line in caplog.messages] == ["cut off", "refused", "500"]


def test_it_is_not_over_before_everything_flows(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    interruptions = InterruptedStreams()
    interrupt(interruptions, "cut off")
    for kind in KINDS[1:]:
        interruptions.end(kind)
    assert len(caplog.messages) == 1


def test_the_next_outage_is_reported_again(caplog: pytest.LogCaptureFixture) -> None:
    interruptions = InterruptedStreams()
    for _ in range(2):
        interrupt(interruptions, "cut off")
        resume(interruptions)
    assert caplog.messages == ["watching schedulerprofiles is interrupted: cut off"] * 2


def test_what_was_never_interrupted_ends_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    resume(InterruptedStreams())
    assert caplog.messages == []
