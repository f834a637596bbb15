"""Memory that is free again goes back, however blocks of different sizes took turns."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

MEGABYTE = 1 << 20
TAKES_TURNS = f"""
import resource
from scheduler_runtime import heap
if {{}}:
    heap.set_up()
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / {MEGABYTE}
bytes(20 * {MEGABYTE})  # from now on glibc by itself takes less than that from between the blocks that stay
before, stay = resident(), []
for _ in range(20):
    large = [b"x" * (2 * {MEGABYTE}) for _ in range(5)]
    stay.append(b"y" * 4096)
    del large
print(resident() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="needs glibc")
def test_large_blocks_are_given_back_though_small_ones_between_them_stay() -> None:
    without, with_it = (grown(set_up=each) for each in (False, True))
    assert with_it < 1 < without


def grown(*, set_up: bool) -> float:
    """By how many megabytes a process grows that keeps nothing but a few small blocks."""
    return float(subprocess.check_output([sys.executable, "-c", TAKES_TURNS.format(set_up)], text=True))
