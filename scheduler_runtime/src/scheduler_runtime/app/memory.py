"""Return freed memory to the OS: malloc settings, and a garbage collection after each reload.

With glibc's defaults each thread allocates from a region of its own, and a large block that was freed once makes all
smaller ones come from such a region from then on, between small ones that stay. A scheduler whose metrics are scraped,
whose cache is compared and whose document changes then grows for hours, by memory that nobody uses.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import Callable

from scheduler_runtime.reload.plan import Plan
from scheduler_runtime.reload.reloader import PreparedChange

LARGE_BYTES = 256 << 10
"""Blocks from this size on are mapped by themselves: more than a column of thirty thousand nodes, which come and go.

Texts of some hundred kilobytes leave holes between blocks that stay: with 1 MiB here a soak's heap grew from 21 to
28 MB in six minutes, of which it used 26.
"""
FREE_BYTES = 256 << 10
"""So much may be free at the end of the region: more than one iteration of the event loop allocates and frees."""
RELEASE_SECONDS = 30.0
"""So long after a reload nothing of the replaced frameworks is under way any more."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""As malloc.h has them."""


def set_up_malloc() -> None:
    """Have large blocks mapped by themselves, and all others come from one region, if the C library is glibc.

    To be called before the first thread starts.
    """
    if mallopt := _from_glibc("mallopt"):
        for name, value in ((_MMAP_THRESHOLD, LARGE_BYTES), (_TRIM_THRESHOLD, FREE_BYTES), (_ARENA_MAX, 1)):
            mallopt(name, value)


def release_memory() -> None:
    """Free objects that refer to each other in circles, and return the pages between blocks that stay.

    Nothing else runs meanwhile: about 10 ms in a process of 200 MB.
    """
    gc.collect()
    if malloc_trim := _from_glibc("malloc_trim"):
        malloc_trim(0)


def _from_glibc(name: str) -> Callable[..., object] | None:
    return getattr(ctypes.CDLL(None), name, None)


class MemoryRelease:
    """Releases the memory of replaced frameworks some time after each reload, also of one that was refused.

    Frameworks refer to themselves in circles, and the automatic collection comes to old objects once in hours.
    """

    async def prepare(self, running: Plan, plan: Plan) -> PreparedChange:
        """Return a change that schedules the release, whether the other parts succeed or not."""
        return PreparedChange(commit=self._schedule, discard=self._schedule)

    def _schedule(self) -> None:
        asyncio.get_running_loop().call_later(RELEASE_SECONDS, release_memory)
