"""The holder of the lease in the log of a process that stands by."""

from __future__ import annotations

import pytest

from scheduler_runtime.kube.leader_election.leadership import describe_holder


@pytest.mark.parametrize(
    ("identity", "seconds", "text"),
    [
        ("a", 14.9, "a; standing by, for 15 s at most if it is not renewed"),
        ("thief", 0.0, "thief"),
        ("", 0.0, "nobody"),
    ],
    ids=["another-leads", "we-led-and-end", "it-is-free"],
)
def test_a_holder_is_described_with_how_long_others_wait(identity: str, seconds: float, text: str) -> None:
    assert describe_holder(identity, seconds) == text
