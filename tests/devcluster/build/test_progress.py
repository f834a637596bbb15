"""Progress of a long step, on a terminal and in a log."""

import io

import pytest

from devcluster.build.progress import progress_on, remaining


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3, "a few seconds left"),
        (47, "about 50 s left"),
        (89, "about 90 s left"),
        (95, "about 2 min left"),
        (430, "about 7 min left"),
    ],
)
def test_remaining_time_is_no_more_exact_than_an_estimate(seconds: float, text: str) -> None:
    assert remaining(seconds) == text


def test_a_terminal_shows_one_line_per_step_and_rewrites_it() -> None:
    terminal = Terminal()
    show = progress_on(terminal)
    for remaining_seconds in (200.0, 100.0):
        show("Building kubectl", remaining_seconds)
    show("Building etcd", 50.0)
    show("Done", None)
    lines = [line.split("\r\x1b[K")[-1] for line in terminal.getvalue().split("\n")]
    assert lines == ["Building kubectl, about 2 min left", "Building etcd, about 50 s left", "Done", ""]


def test_a_log_gets_a_line_per_step_and_one_now_and_again() -> None:
    now, log = [0.0], io.StringIO()
    show = progress_on(log, clock=lambda: now[0])
    for second in range(41):
        now[0] = float(second)
        show("Building kubectl", 100.0 - second)
    show("Building etcd", 20.0)
    assert log.getvalue().splitlines() == [
        "Building kubectl, about 2 min left",
        "Building kubectl, about 70 s left",
        "Building etcd, about 20 s left",
    ]
