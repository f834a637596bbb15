"""What holds for every test."""

import signal

import pytest

pytest.register_assert_rewrite("tests.support.stories", "tests.support.world")

# A run in the background of a shell ignores this signal, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
