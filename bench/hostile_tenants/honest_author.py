"""An honest author, who changes a profile now and then; measured is how long each change takes to be answered."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import time
from dataclasses import dataclass, field

from bench.cluster.client import Connection, Server
from bench.hostile_tenants.attacker import Object
from bench.hostile_tenants.author_attacks import PROFILES

PAUSE_SECONDS = 5.0
POLL_SECONDS = 0.1
LONGEST_SECONDS = 60.0
"""What has no answer by then has none."""


@dataclass(slots=True)
class HonestAuthor:
    """Changes of one profile, one after the other."""

    server: Server
    profile: str
    answers: list[float] = field(default_factory=list)
    """The seconds from each change until the profile's status says that it is in force; infinite if it never does."""

    async def run(self) -> None:
        """Change the profile until cancelled."""
        connection = await Connection.open(self.server)
        path = f"{PROFILES}/{self.profile}"
        try:
            for turn in itertools.count():
                change = {"spec": {"percentageOfNodesToScore": turn % 100}}
                began = time.monotonic()
                changed = json.loads(await connection.patch(path, json.dumps(change).encode()))
                self.answers.append(await self._answer(connection, path, changed["metadata"]["generation"], began))
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            await connection.close()

    async def _answer(self, connection: Connection, path: str, generation: int, began: float) -> float:
        while (seconds := time.monotonic() - began) < LONGEST_SECONDS:
            if is_in_force(await connection.get(path), generation):
                return seconds
            await asyncio.sleep(POLL_SECONDS)
        return math.inf


def is_in_force(profile: Object, generation: int) -> bool:
    """Whether the status of a profile says that this generation of its spec is in force."""
    conditions = profile.get("status", {}).get("conditions", [])
    return any(
        condition["type"] == "Ready"
        and condition["status"] == "True"
        and condition.get("observedGeneration", 0) >= generation
        for condition in conditions
    )
