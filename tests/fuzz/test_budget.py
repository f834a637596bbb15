"""The budget of inputs shows what an input takes, whatever the process took before."""

from __future__ import annotations

import pytest

from tests.fuzz.budget import Budget


def test_memory_that_was_taken_and_freed_before_does_not_hide_what_an_input_takes() -> None:
    large = b"x" * (200 << 20)
    del large
    budget = Budget(seconds=60, megabytes=50)

    def take_and_free() -> None:
        with budget.input("an input"):
            large = b"x" * (100 << 20)
            del large

    with pytest.raises(AssertionError, match="MB more after an input"):
        take_and_free()
