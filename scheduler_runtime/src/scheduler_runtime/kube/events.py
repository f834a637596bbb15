"""Parts of every Event object: a name of its own, an instant in microseconds, a note of limited length."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from functools import lru_cache

NOTE_BYTES = 1024
"""The API server refuses events whose note is longer."""
NAME_LENGTH = 253
MESSAGE_BYTES = 32768
"""A condition's message: what the API server allows in those of its own types. It does not check those of pods, but
refuses a pod of more than 1.5 MB."""


def truncate_note(note: str, limit: int = NOTE_BYTES) -> str:
    """Shorten ``note`` to what an event can hold, as upstream does, and replace what cannot be sent at all."""
    note = replace_unencodable(note)
    encoded = note.encode()
    if len(encoded) <= limit:
        return note
    suffix = " ..."
    return encoded[: limit - len(suffix)].decode(errors="ignore") + suffix


def replace_unencodable(text: str) -> str:
    """Put a question mark in place of what is no character, such as half of one in the name of a file."""
    return text.encode(errors="replace").decode()


def event_object_name(regarding: str, nanoseconds: int) -> str:
    """Name an event after its object and its instant, as upstream does, unless that gets too long."""
    name = f"{regarding}.{nanoseconds:x}"
    return name if len(name) <= NAME_LENGTH else str(uuid.uuid4())


def micro_time(nanoseconds: int) -> str:
    """Format an instant as Kubernetes' MicroTime."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1000:06d}Z"


# Formatting a date costs more than the rest of an event, and a busy scheduler writes hundreds in one second.
@lru_cache(4)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
