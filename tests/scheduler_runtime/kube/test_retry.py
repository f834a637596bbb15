"""Pauses grow to a bound, differ by chance, and are those that were asked for, for a while."""

from __future__ import annotations

from scheduler_runtime.kube.retry import Backoff


def test_pauses_double_up_to_the_longest_and_are_lengthened_by_less_than_themselves() -> None:
    backoff = Backoff(1, 8)
    for least in (1, 2, 4, 8, 8):
        assert least <= backoff.next_delay() <= min(2 * least, 8)
    backoff.reset()
    assert backoff.next_delay() <= 2


def test_a_requested_pause_is_obeyed_ten_times_in_a_row_and_then_only_the_least() -> None:
    backoff = Backoff(10, 60)
    assert [backoff.next_delay(3) for _ in range(10)] == [3] * 10
    assert 10 <= backoff.next_delay(3) <= 20
    assert backoff.next_delay(90) == 90
    backoff.reset()
    assert backoff.next_delay(3) == 3
