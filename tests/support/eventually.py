"""The only way to wait in a test."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(
    check: Callable[[], T | None], timeout: float, *, every: float = 0.2, explain: Callable[[], str] | None = None
) -> T:
    """Call ``check`` until it passes and return its answer.

    An AssertionError or a falsy answer means "not yet". After ``timeout`` seconds the last of
    them fails the test, with what ``explain`` says about the world at that moment. The pauses
    grow up to ``every`` seconds: much is true at once, and what takes long costs few looks.
    """
    end, pause = time.monotonic() + timeout, min(every, 0.02)
    while True:
        try:
            if answer := check():
                return answer
            trouble = f"still {answer!r}"
        except AssertionError as error:
            trouble = str(error)
        if time.monotonic() >= end:
            raise AssertionError(f"not within {timeout:g} s: {trouble}\n{explain() if explain else ''}")
        time.sleep(pause)
        pause = min(every, pause * 1.5)
