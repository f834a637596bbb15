"""Brake for fights, in which another manager and the operator overwrite each other's value again and again. Pure."""

from collections.abc import Hashable
from dataclasses import dataclass

REPAIRS = 6
"""How often in a row an object is changed back at once."""
QUICK_SECONDS = 10.0
"""Repairs in a row follow each other within this time: people and deployments are slower."""
REST_SECONDS = 60.0
"""How long a contested object is left as the other one wants it, before it is changed back again."""


@dataclass(slots=True)
class _Row:
    repairs: int
    last: float


class RepairBrake:
    """Tells for how long an object is not changed back. It reads no clock: ``now`` is an argument, in seconds."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, _Row] = {}

    def note(self, key: Hashable, now: float) -> bool:
        """Note that an object was changed back; return whether it is contested now, and was not before."""
        row = self._rows.setdefault(key, _Row(0, now))
        # Whoever is contested is changed back once in a while only, and stays so until the other one has stopped.
        longest = QUICK_SECONDS if row.repairs < REPAIRS else 2 * REST_SECONDS
        row.repairs = row.repairs + 1 if now - row.last <= longest else 1
        row.last = now
        return row.repairs == REPAIRS

    def rest(self, key: Hashable, now: float) -> float:
        """Return for how many seconds the object is left as it is; 0 if it may be changed back."""
        row = self._rows.get(key)
        if row is None or row.repairs < REPAIRS:
            return 0.0
        return max(row.last + REST_SECONDS - now, 0.0)

    def forget(self, key: Hashable) -> None:
        """Forget an object that is gone."""
        self._rows.pop(key, None)
