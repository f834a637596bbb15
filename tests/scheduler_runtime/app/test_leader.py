"""What a process says of whoever leads instead of it."""

from __future__ import annotations

import pytest

from scheduler_runtime.app.leader import standing_by


@pytest.mark.parametrize(
    ("identity", "seconds", "said"),
    [
        ("a", 14.9, "a; standing by, for 15 s at most if it is not renewed"),
        ("thief", 0.0, "thief"),
        ("", 0.0, "nobody"),
    ],
    ids=["another-leads", "we-led-and-end", "it-is-free"],
)
def test_how_long_a_holder_is_waited_for_is_said_with_who_it_is(identity: str, seconds: float, said: str) -> None:
    assert standing_by(identity, seconds) == said
