"""Memory that is free again goes back, however blocks of different sizes and threads took turns."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

MEGABYTE = 1 << 20
SET_UP = "from scheduler_runtime.app import memory; memory.set_up_malloc()"
RESIDENT = f"""
import resource
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / {MEGABYTE}
"""
TAKES_TURNS = f"""{RESIDENT}
bytes(20 * {MEGABYTE})  # from now on glibc by itself takes less than that from between the blocks that stay
before, stay = resident(), []
for _ in range(20):
    large = [b"x" * ({MEGABYTE} // 2) for _ in range(20)]
    stay.append(b"y" * 4096)
    del large
print(resident() - before)
"""
SCATTERED = f"""{RESIDENT}
before = resident()
blocks = [b"x" * 8192 for _ in range(4000)]
stay = blocks[::10]
del blocks
TIDY
print(resident() - before)
"""
BY_THREADS = """
import ctypes, sys, threading
together = threading.Barrier(4)
def allocate():
    together.wait()
    blocks = [b"x" * 4096 for _ in range(100)]
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
with open(sys.argv[1]) as report:
    print(report.read().count("<heap nr="))
"""

pytestmark = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="needs glibc")


def test_large_blocks_are_given_back_though_small_ones_between_them_stay() -> None:
    without, with_it = (printed(setup + TAKES_TURNS) for setup in ("", SET_UP))
    assert with_it < 1 < without


def test_pages_between_blocks_that_stay_are_given_back_when_it_is_tidied() -> None:
    without, with_it = (printed(SET_UP + SCATTERED.replace("TIDY", call)) for call in ("", "memory.release_memory()"))
    assert with_it < 8 < 24 < without


def test_all_threads_allocate_from_one_region(tmp_path: Path) -> None:
    without, with_it = (printed(setup + BY_THREADS, str(tmp_path / "report")) for setup in ("", SET_UP))
    assert with_it == 1 < without


def printed(program: str, *arguments: str) -> float:
    """The number that a new process prints."""
    return float(subprocess.check_output([sys.executable, "-c", program, *arguments], text=True))
