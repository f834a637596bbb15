"""That the C library gives memory back.

As glibc has it, each thread allocates from a region of its own, and a large block that was given back once makes all
that are smaller come from such a region from then on, between smaller ones that stay. A scheduler that is asked for its
metrics, compares its cache and has its document changed then grows for hours, by memory that nobody uses.
"""

from __future__ import annotations

import ctypes

LARGE_BYTES = 1 << 20
"""More than a column of a hundred thousand nodes, which come and go in each decision."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""As malloc.h has them."""


def set_up() -> None:
    """Have blocks that are large given back at once, and the others come from one region, where glibc is in use.

    To be called before threads of ours.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for name, value in ((_MMAP_THRESHOLD, LARGE_BYTES), (_TRIM_THRESHOLD, LARGE_BYTES), (_ARENA_MAX, 1)):
            mallopt(name, value)
