"""A long list, read while it comes: neither the API server nor we ever hold its text as a whole.

    {"kind": …, "metadata": …, "items": [ {…}, {…}, {…}, {…}, {…}, …  ]}
    └───────────── head ───────────────┘  └── part ──┘  └─ part ─┘

Of 30,000 pods the API server has this in 0.87 s of CPU, in pages of 2,000 in 1.07 s, as the first events of a watch in
3.1 s, because it encodes each of those twice; and it is never idle meanwhile, as it is between two pages.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TypeVar

import msgspec

from ..client import Client

PART_BYTES = 1 << 20
"""Some 600 pods, which are read in 5 ms."""
QUIET_SECONDS = 30.0
"""A list that stops for so long in the middle is asked for again."""
_OPENING = re.compile(rb'"items"\s*:\s*\[')

P = TypeVar("P")


async def parts(
    client: Client, path: str, params: Mapping[str, str], read: Callable[[bytes], P]
) -> AsyncGenerator[P, None]:
    """A list, in parts that ``read`` takes for lists of their own; the last one has the metadata in any case.

    To be closed by who does not read it to its end. Raises ApiError, NoAnswerError, and msgspec.MsgspecError also when
    the list ends before its end; ``read`` has to raise msgspec.DecodeError for what is no JSON.
    """
    async with client.stream(path, params=params, quiet_seconds=QUIET_SECONDS) as stream:
        head, rest = b"", b""
        while chunk := await stream.read(PART_BYTES):
            rest += chunk
            if not head:
                head, rest = _opened(rest)
            while head and len(rest) > PART_BYTES and (found := _first_part(head, rest, read)):
                part, rest = found
                yield part
        yield read(head + rest)


def _opened(text: bytes) -> tuple[bytes, bytes]:
    """The head of a list and what follows it; no head when it has not come yet."""
    opening = _OPENING.search(text)
    return (text[: opening.end()], text[opening.end() :]) if opening else (b"", text)


def _first_part(head: bytes, rest: bytes, read: Callable[[bytes], P]) -> tuple[P, bytes] | None:
    """The items that end within ``PART_BYTES``, read, and what follows them; None while no item is complete.

    They are cut apart where the next one seems to begin, as the first one did. Where that is within an item a bracket
    stays open, and what cannot be read is cut further ahead.
    """
    between = b"}," + rest[: rest.find(b":") + 1]
    end = PART_BYTES
    while (end := rest.rfind(between, 0, end)) >= 0:
        try:
            return read(head + rest[: end + 1] + b"]}"), rest[end + 2 :]
        except msgspec.DecodeError:
            continue
    return None
