"""Troubles that concern every request but the Lease for a while: said once, over once, and nothing is lost."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest

from devcluster import Cluster
from tests.integration.scheduler.faults.scene import Scene, scene
from tests.integration.scheduler.faults.size import FULL
from tests.support.proxy import Act, but, hold, is_lease, never, refuse, reset, slowed

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900 if FULL else 120)]

PODS = 30
TROUBLES: dict[str, Act] = {
    "reset": reset,
    "kept back": hold,
    "429": refuse(429, "TooManyRequests", **{"Retry-After": "1"}),
    "503": refuse(503, "ServiceUnavailable"),
}
MORE: dict[str, Act] = {"500": refuse(500, "InternalError"), "10 s late": slowed(10), "never answered": never}
SECONDS = 30.0 if FULL else 2.0
OFTEN = 3 if FULL else 1
"""What lasts long may be over for one binding, and begin anew with another that was sent before."""


def subjects(lines: list[str]) -> set[str]:
    """What each of these lines is about: "watching /api/v1/pods"."""
    return {" ".join(re.sub(r"^\S+ (WARNING|INFO over after \S+ s:) ", "", line).split()[:2]) for line in lines}


async def live_through(name: str, act: Act, disturbed: Scene) -> None:
    """Disturb everything, also while pods are created; see them bound afterwards, and what was said."""
    there, process = disturbed.there, disturbed.process
    pods, lines = len(await there.pods()), len(process.log.splitlines())

    def new_lines(word: str) -> list[str]:
        return [line for line in process.log.splitlines()[lines:] if word in line]

    async with disturbed.proxy.disturbing(but(is_lease, act)):
        await there.create_pods(PODS, f"pod-{pods}")
        await asyncio.sleep(SECONDS)
    await there.all_bound(pods + PODS, 90)
    await there.until(lambda: subjects(new_lines("WARNING")) == subjects(new_lines(" over after ")), 90)
    text = [line.partition(" ")[2] for line in new_lines("WARNING")]
    assert {line: count for line, count in Counter(text).items() if count > OFTEN} == {}, name


async def test_troubles_that_last_are_logged_once_and_over_once(cluster: Cluster, tmp_path: Path) -> None:
    troubles = {**TROUBLES, **(MORE if FULL else {})}
    async with scene(cluster, tmp_path) as disturbed:
        for name, act in troubles.items():
            await live_through(name, act, disturbed)
        await disturbed.check(len(troubles) * PODS)
